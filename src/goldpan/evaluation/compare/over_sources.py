"""Tests whether a difference would hold on new tasks.

Data sets are the units. The difference on one is that of all tasks, plus what is
peculiar to this data set, plus the chance of its test rows. A t test over data sets takes in all
three; its variance is at least that of the rows alone (Knapp and Hartung 2003, modified so that
scores that happen to agree do not pass as certainty).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from goldpan.evaluation.compare.resampling import PairsTest
from goldpan.evaluation.compare.scores import Floats, rounded, scipy_stats

FEWEST_SOURCES = 3
"""Two differences have one degree of freedom: nothing realistic would ever be decided."""
_ENUMERATED = 14
_ROUNDS = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class Common:
    """The variance of each difference that is the same on all data sets, and how well it is known.

    It is what other trainings would change, where one training answered several data sets.
    """

    variance: Floats
    freedom: float | Floats

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
) -> PairsTest:
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
    if common is not None:
        variance, freedom = common.added(variance, freedom)
    error = np.sqrt(variance)
    size = np.divide(np.abs(mean), error, out=np.zeros_like(mean), where=error > 0)
    p = np.where(error > 0, 2 * stats.t.sf(size, freedom), (mean == 0).astype(np.float64))
    if within is None:
        p = np.maximum(p, _flipped(differences, seed))
    limit = stats.t.isf(alpha / (2 * pairs), freedom)
    return PairsTest(mean, holm(p), limit * error)


def holm(values: Sequence[float] | Floats) -> Floats:
    """Return p values corrected for being several (Holm 1979), in the order given."""
    p = np.asarray(values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    corrected = np.empty_like(p)
    scaled = np.minimum(1.0, np.arange(len(p), 0, -1) * p[order])
    corrected[order] = np.maximum.accumulate(scaled)
    return corrected


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
