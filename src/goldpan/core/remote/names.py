"""What lies in the folder of a mirror."""

from __future__ import annotations

STATE = "mirror.json"
FILES = "workspace"
"""The folder of the mirrored files, beside the state."""
