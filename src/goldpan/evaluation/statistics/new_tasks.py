"""Would a difference hold on new tasks? Data sets are the units, and few say little.

A random-effects analysis: the difference on a data set is that of all tasks, plus what is peculiar
to this data set, plus the chance of its test rows. A t test over data sets takes in both; its
variance is at least that of the rows alone (Knapp and Hartung 2003, modified so that scores that
happen to agree do not pass as certainty).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from goldpan.evaluation.statistics.errors import scipy_stats
from goldpan.evaluation.statistics.paired import holm
from goldpan.evaluation.statistics.scores import Floats

FEWEST_SOURCES = 3
"""Two differences have one degree of freedom: nothing realistic would ever be decided."""
FEWEST_WITHOUT_ROWS = 6
"""Sign flips of five scores cannot fall below p = 0.0625."""
MOST_SOURCES = 10_000
POWER_QUANTILE = 0.8416
"""Normal quantile of a power of 80 %."""
_ENUMERATED = 14
_ROUNDS = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class TasksTest:
    """Pairs of models tested on new tasks."""

    difference: Floats
    """The mean over data sets."""
    p: Floats
    """Two-sided, corrected for all pairs (Holm)."""
    error: Floats
    half_width: Floats
    """Of the interval that holds for all pairs at once (Bonferroni)."""
    needed: tuple[int | None, ...]
    """Data sets at which the difference seen would be found with a power of 80 %; None beyond
    `MOST_SOURCES`."""


def compare_over_sources(
    differences: Floats, within: Floats | None, *, alpha: float, seed: int = 0
) -> TasksTest:
    """Test pairs by their differences on each data set, data sets x pairs.

    `within` holds the variance of each difference that comes from test rows and seeds. Without
    it, p is that of a sign-flip test of data sets where that is larger.
    """
    stats = scipy_stats()
    count, pairs = differences.shape
    mean = differences.mean(axis=0)
    variance = differences.var(axis=0, ddof=1) / count
    if within is not None:
        variance = np.maximum(variance, within.sum(axis=0) / count**2)
    error = np.sqrt(variance)
    size = np.divide(np.abs(mean), error, out=np.zeros_like(mean), where=error > 0)
    p = np.where(error > 0, 2 * stats.t.sf(size, count - 1), (mean == 0).astype(np.float64))
    if within is None:
        p = np.maximum(p, _flipped(differences, seed))
    limit = float(stats.t.isf(alpha / (2 * pairs), count - 1))
    return TasksTest(
        difference=mean,
        p=np.array(holm(p.tolist())),
        error=error,
        half_width=limit * error,
        needed=tuple(
            sources_needed(abs(float(mean[at])), float(error[at]) * math.sqrt(count), alpha / pairs)
            for at in range(pairs)
        ),
    )


def sources_needed(difference: float, spread: float, alpha: float) -> int | None:
    """Return how many data sets a t test needs to find a difference of this spread (80 %)."""
    if difference <= 0:
        return None
    t = scipy_stats().t
    low, high = FEWEST_SOURCES, MOST_SOURCES

    def enough(count: int) -> bool:
        reach = float(t.isf(alpha / 2, count - 1)) + POWER_QUANTILE
        return reach * spread <= difference * math.sqrt(count)

    if not enough(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low


def _flipped(differences: Floats, seed: int) -> Floats:
    """Return the two-sided p of flipping the signs of whole data sets, exact for few of them."""
    count = len(differences)
    if count <= _ENUMERATED:
        numbers = np.arange(2**count)[:, None] >> np.arange(count)
        signs, extra = (numbers & 1) * 2.0 - 1.0, 0
    else:
        signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=(_ROUNDS, count))
        extra = 1
    actual = np.abs(differences.sum(axis=0))
    extreme = (np.abs(signs @ differences) >= actual - 1e-12).sum(axis=0)
    p: Floats = (extreme + extra) / (len(signs) + extra)
    return p
