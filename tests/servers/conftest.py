"""The servers that tests share; one that does not start is a failure, and its log is told."""

from __future__ import annotations

from tests.llama import address
from tests.studio import installed, prepared, studio

__all__ = ["address", "installed", "prepared", "studio"]
