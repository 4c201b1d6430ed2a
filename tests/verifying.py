"""Whether this machine can isolate foreign code, for tests that run some."""

from __future__ import annotations

import pytest

from goldpan.execution.command import IsolationError
from goldpan.execution.isolation import find_isolation


def is_isolated() -> bool:
    """Tell whether bubblewrap works here."""
    try:
        find_isolation("bubblewrap")
    except IsolationError:
        return False
    return True


needs_isolation = pytest.mark.skipif(
    not is_isolated(), reason="needs bubblewrap, a package of most Linux distributions"
)
    not is_isolated(), reason="needs bubblewrap (a package of most Linux distributions)"
)
