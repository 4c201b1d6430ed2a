"""Tests of two models over the same tasks, and the correction for doing many of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from goldpan.evaluation.statistics.errors import scipy_stats
from goldpan.evaluation.statistics.scores import Floats, rounded

_EXACT = 50
"""Up to so many differences Wilcoxon's p comes from all their signs, ties included."""


def paired_t(first: Floats, second: Floats) -> float:
    """Return the two-sided p of the paired t test; for normal differences, outliers hurt."""
    difference = rounded(first - second)
    if np.ptp(difference) == 0:
        return 1.0 if difference[0] == 0 else 0.0
    return float(scipy_stats().ttest_rel(first, second).pvalue)


def wilcoxon(first: Floats, second: Floats) -> float:
    """Return the two-sided p of Wilcoxon's signed-rank test; ties of both models are left out.

    Differences that are equal as decimals share their rank. p is exact for up to 50 of them,
    else of the normal approximation with the correction for ties. Autorank's is one-sided in the
    direction that the data show, which halves p.
    """
    difference = rounded(first - second)
    moved = difference[difference != 0]
    if not moved.size:
        return 1.0
    if moved.size > _EXACT:
        return float(scipy_stats().wilcoxon(moved, correction=False, method="approx").pvalue)
    # Ranks that are shared are halves, so twice the rank is whole.
    doubled = np.rint(2 * scipy_stats().rankdata(np.abs(moved))).astype(np.intp)
    ways = np.ones(1)
    for rank in doubled:
        longer = np.zeros(len(ways) + rank)
        longer[: len(ways)] += ways / 2
        longer[rank:] += ways / 2
        ways = longer
    whole, reached = int(doubled.sum()), int(doubled[moved > 0].sum())
    return min(1.0, 2 * float(ways[: min(reached, whole - reached) + 1].sum()))


def mcnemar(first: Floats, second: Floats) -> float:
    """Return the exact two-sided p of McNemar's test; both hold 1 for each row that is right."""
    return sign_test(first, second)


def sign_test(first: Floats, second: Floats) -> float:
    """Return the two-sided p of the sign test: wins against losses, ties left out."""
    difference = rounded(first - second)
    wins, losses = int((difference > 0).sum()), int((difference < 0).sum())
    if wins + losses == 0:
        return 1.0
    return float(scipy_stats().binomtest(wins, wins + losses).pvalue)


def holm(values: Sequence[float]) -> list[float]:
    """Return p values corrected for being several (Holm 1979), in the order given."""
    order = sorted(range(len(values)), key=lambda at: values[at])
    corrected = [0.0] * len(values)
    highest = 0.0
    for index, at in enumerate(order):
        highest = max(highest, min(1.0, (len(values) - index) * values[at]))
        corrected[at] = highest
    return corrected
