"""What all tests share: how examples are drawn, the browser, and a folder for what is dear."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.browser import browser, chromium
from tests.shared_folder import shared_folder

__all__ = ["browser", "chromium"]

# A loaded machine is no failure, so no example has a deadline.
settings.register_profile(
    "ci",
    derandomize=True,
    database=None,
    print_blob=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "nightly",
    settings.get_profile("ci"),
    derandomize=False,
    max_examples=2_000,
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.hookimpl(wrapper=True)
def pytest_cmdline_main() -> Iterator[None]:
    """Share a folder among the processes of a run."""
    with shared_folder():
        return (yield)
