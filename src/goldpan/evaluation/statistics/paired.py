"""Tests of two models over the same tasks, and the correction for doing many of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from goldpan.evaluation.statistics.errors import scipy_stats
from goldpan.evaluation.statistics.scores import Floats


def paired_t(first: Floats, second: Floats) -> float:
    """Return the two-sided p of the paired t test; for normal differences, outliers hurt."""
    difference = first - second
    if np.ptp(difference) == 0:
        return 1.0 if difference[0] == 0 else 0.0
    return float(scipy_stats().ttest_rel(first, second).pvalue)


def wilcoxon(first: Floats, second: Floats) -> float:
    """Return the two-sided p of Wilcoxon's signed-rank test; ties of both models are left out.

    Autorank's is one-sided in the direction that the data show, which halves p.
    """
    if not (first - second).any():
        return 1.0
    return float(scipy_stats().wilcoxon(first, second).pvalue)


def sign_test(first: Floats, second: Floats) -> float:
    """Return the two-sided p of the sign test: wins against losses, ties left out."""
    wins, losses = int((first > second).sum()), int((first < second).sum())
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
