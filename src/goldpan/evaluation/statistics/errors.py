"""What can go wrong where scores are compared."""

from __future__ import annotations

import math
from typing import Any

from goldpan.core.errors import GoldpanError
from goldpan.core.extras import load


class StatisticsError(GoldpanError):
    """Scores cannot be compared as they are."""


def scipy_stats() -> Any:
    """Return `scipy.stats`; raises `StatisticsError` where its extra is not installed."""
    return load("scipy.stats", "A comparison", StatisticsError)


def check_settings(alpha: float, rope: float = 0.0, samples: int = 1) -> None:
    """Raise `StatisticsError` for settings of a comparison that are out of range."""
    if not 0 < alpha < 1 or not 0 <= rope < math.inf or samples < 1:
        raise StatisticsError(
            f"alpha {alpha}, rope {rope} and samples {samples} cannot be used",
            "Give an alpha between 0 and 1, a rope of at least 0 and at least one sample",
        )
