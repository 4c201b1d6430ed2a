"""What can go wrong where scores are compared."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from goldpan.errors import GoldpanError


class StatisticsError(GoldpanError):
    """Scores cannot be compared as they are."""


def scipy_stats() -> Any:
    """Return `scipy.stats`, which an extra installs; raise `StatisticsError` where it is missing.

    It is loaded late because mining must not pay for it, and by name because it has no types.
    """
    try:
        return import_module("scipy.stats")
    except ImportError:
        raise StatisticsError(
            "Statistics need scipy, which is not installed", 'Run pip install "goldpan[statistics]"'
        ) from None
