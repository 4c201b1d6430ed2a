"""The servers that tests share; one that does not start is a failure, and its log is told.

The first test of Label Studio installs it, about 1 GB, and prepares its database.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.installing import installed_meanwhile
from tests.llama import address
from tests.studio import goldpan, installed, lab, prepared, studio

__all__ = ["address", "goldpan", "installed", "lab", "prepared", "studio"]


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Iterator[None]:
    """Let workers run other tests while environments are installed."""
    if session.config.getoption("dist", "no") == "no":
        return (yield)  # there are no workers, or this is one
    with installed_meanwhile(session.config.cache):
        return (yield)
