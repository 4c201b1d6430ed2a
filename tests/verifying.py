"""What isolates foreign code on this machine, for tests that run some.

A program `bwrap` that fails, in a folder before others on `PATH`, hides bubblewrap: then tests of
whatever can run without isolation run so.
"""

from __future__ import annotations

from typing import Final

import pytest

from goldpan.execution.command import IsolationError
from goldpan.execution.isolation import IsolationName, find_isolation


def _is_isolated() -> bool:
    try:
        find_isolation("bubblewrap")
    except IsolationError:
        return False
    return True


ISOLATIONS: Final[tuple[IsolationName, ...]] = (
    ("bubblewrap", "none") if _is_isolated() else ("none",)
)
"""What can run foreign code here without an image, the best first."""
runs_foreign_code = pytest.mark.isolation
"""Chosen once more where bubblewrap was installed after a run without it."""
needs_isolation = pytest.mark.skipif(
    ISOLATIONS == ("none",), reason="needs bubblewrap, a package of most Linux distributions"
)
in_each_isolation = pytest.mark.parametrize(
    "isolation", [pytest.param("bubblewrap", marks=needs_isolation), "none"]
)
