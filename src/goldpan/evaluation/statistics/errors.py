"""What can go wrong where scores are compared."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

from goldpan.core.errors import GoldpanError


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


def check_settings(alpha: float, rope: float = 0.0, samples: int = 1) -> None:
    """Raise `StatisticsError` for settings of a comparison that are out of range."""
    if not 0 < alpha < 1 or not 0 <= rope < math.inf or samples < 1:
        raise StatisticsError(
            f"alpha {alpha}, rope {rope} and samples {samples} cannot be used",
            "Give an alpha between 0 and 1, a rope of at least 0 and at least one sample",
        )
