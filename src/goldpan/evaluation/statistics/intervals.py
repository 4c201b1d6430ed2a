"""Confidence intervals of a model's mean or median over tasks."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from goldpan.evaluation.statistics.errors import scipy_stats
from goldpan.evaluation.statistics.scores import Floats


@dataclass(frozen=True, slots=True)
class Interval:
    """A range, and how surely it covers."""

    low: float
    high: float
    confidence: float


def mean_interval(values: Floats, alpha: float, comparisons: int = 1) -> Interval:
    """Return the t interval of a mean, Bonferroni-corrected for the number of comparisons.

    SELU's Table III is corrected twice: it comes out with the square of the number of models.
    """
    level = alpha / comparisons
    half = float(values.std(ddof=1)) / math.sqrt(values.size)
    half *= float(scipy_stats().t.ppf(1 - level / 2, values.size - 1))
    mean = float(values.mean())
    return Interval(mean - half, mean + half, 1 - level)


def median_interval(values: Floats, alpha: float, comparisons: int = 1) -> Interval:
    """Return the distribution-free interval of a median, from order statistics.

    Where there are too few values for the confidence, it spans all of them and says what
    confidence that is.
    """
    ordered = np.sort(values)
    count = ordered.size
    # P(at most k of n values below the median): half the confidence that leaving out k costs.
    tails = scipy_stats().binom.cdf(np.arange((count + 1) // 2), count, 0.5)
    left_out = int(np.sum(2 * tails <= alpha / comparisons)) - 1
    at = max(0, left_out)
    return Interval(float(ordered[at]), float(ordered[-1 - at]), float(1 - 2 * tails[at]))
