"""What all tests share: how examples are drawn, and the browser."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

from tests.browser import browser, chromium

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
