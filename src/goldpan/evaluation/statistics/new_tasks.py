"""Tests if a difference would hold on new tasks: data sets are the units, and few say little.

A random-effects analysis: the difference on a data set is that of all tasks, plus what is peculiar
to this data set, plus the chance of its test rows. A t test over data sets takes in both; its
variance is at least that of the rows alone (Knapp and Hartung 2003, modified so that scores that
happen to agree do not pass as certainty).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goldpan.evaluation.statistics.frequentist import holm
from goldpan.evaluation.statistics.scores import Floats, rounded, scipy_stats

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
    """Half the width of the interval that holds for all pairs at once (Bonferroni)."""
    needed: tuple[int | None, ...]
    """Data sets at which the difference seen would be found with a power of 80 %; None beyond
    `MOST_SOURCES`."""


@dataclass(frozen=True, slots=True, eq=False)
class Common:
    """The variance of each difference that is the same on all data sets, and how well it is known.

    It is what other trainings would change, where one training answered several data sets.
    """

    variance: Floats
    freedom: float

    def added(self, variance: Floats, freedom: Floats) -> tuple[Floats, Floats]:
        """Return a variance with this one, and its degrees of freedom (Satterthwaite 1946)."""
        # From few seeds it is too small more often than too large, as on new rows.
        mine = self.variance * (1 + 2 / self.freedom)
        whole = variance + mine
        rough = variance**2 / freedom + mine**2 / self.freedom
        joint = np.divide(whole**2, rough, out=np.full_like(whole, np.inf), where=rough > 0)
        return whole, np.minimum(joint, freedom)


def compare_over_sources(
    differences: Floats,
    within: Floats | None,
    *,
    alpha: float,
    seed: int = 0,
    common: Common | None = None,
) -> TasksTest:
    """Test pairs by their differences on each data set, data sets x pairs.

    `within` holds the variance of each difference that comes from test rows and seeds. Without
    it, p is that of a sign-flip test of data sets where that is larger. `common` is what moves the
    differences on all data sets alike, so that no number of them lessens it.
    """
    stats = scipy_stats()
    count, pairs = differences.shape
    differences = rounded(differences)
    mean = rounded(differences.mean(axis=0))
    variance = differences.var(axis=0, ddof=1) / count
    if within is not None:
        variance = np.maximum(variance, within.sum(axis=0) / count**2)
    freedom = np.full(pairs, float(count - 1))
    own = np.sqrt(variance)
    if common is not None:
        variance, freedom = common.added(variance, freedom)
    error = np.sqrt(variance)
    size = np.divide(np.abs(mean), error, out=np.zeros_like(mean), where=error > 0)
    p = np.where(error > 0, 2 * stats.t.sf(size, freedom), (mean == 0).astype(np.float64))
    if within is None:
        p = np.maximum(p, _flipped(differences, seed))
    limit = stats.t.isf(alpha / (2 * pairs), freedom)
    return TasksTest(
        difference=mean,
        p=np.array(holm(p.tolist())),
        error=error,
        half_width=limit * error,
        needed=(None,) * pairs
        if common is not None
        else sources_needed(np.abs(mean), own * math.sqrt(count), alpha / pairs),
    )


def sources_needed(differences: Floats, spreads: Floats, alpha: float) -> tuple[int | None, ...]:
    """Return how many data sets a t test needs to find differences of these spreads (80 %)."""
    t = scipy_stats().t

    def enough(counts: NDArray[np.intp]) -> NDArray[np.bool_]:
        reach = t.isf(alpha / 2, counts - 1) + POWER_QUANTILE
        shown: NDArray[np.bool_] = reach * spreads <= differences * np.sqrt(counts)
        return shown

    low = np.full(len(differences), FEWEST_SOURCES)
    high = np.full(len(differences), MOST_SOURCES)
    possible = (differences > 0) & enough(high)
    # All pairs are halved together, as one quantile for all costs little more than for one.
    while (low < high).any():
        middle = (low + high) // 2
        shown = enough(middle) | ~possible
        low, high = np.where(shown, low, middle + 1), np.where(shown, middle, high)
    return tuple(int(count) if shown else None for count, shown in zip(low, possible, strict=True))


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
