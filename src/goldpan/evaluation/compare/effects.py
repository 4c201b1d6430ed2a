"""Effect sizes, and how scores change from training to test (ECSER, S8)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from goldpan.evaluation.compare.scores import Floats, StatisticsError, scipy_stats

Magnitude = Literal["none", "small", "medium", "large", "undefined"]


def cohen_d(first: Floats, second: Floats) -> float | None:
    """Return the difference of means in pooled standard deviations (SELU, Equation 5).

    It takes the samples as independent, as both papers do. None where neither sample varies
    and the means differ.
    """
    freedom = first.size + second.size - 2
    squares = (first.size - 1) * first.var(ddof=1) + (second.size - 1) * second.var(ddof=1)
    difference, spread = float(first.mean() - second.mean()), math.sqrt(squares / freedom)
    if spread > 0:
        return difference / spread
    return 0.0 if difference == 0 else None


def eta_squared(u: float, first: int, second: int) -> float:
    """Return the effect size of a Mann-Whitney U of samples of these sizes (ECSER, Table 14).

    It is z^2 / N with the z of the normal approximation, without continuity or tie correction.
    """
    z = (u - first * second / 2) / math.sqrt(first * second * (first + second + 1) / 12)
    return z * z / (first + second)


def magnitude(d: float | None) -> Magnitude:
    """Return the name of an effect size in standard deviations (ECSER, S8)."""
    return _named(d, (0.2, 0.5, 0.8))


def eta_magnitude(eta: float | None) -> Magnitude:
    """Return the name of an eta squared (ECSER, Table 14)."""
    return _named(eta, (0.01, 0.06, 0.14))


def _named(effect: float | None, limits: tuple[float, float, float]) -> Magnitude:
    if effect is None:
        return "undefined"
    names: tuple[Magnitude, ...] = ("none", "small", "medium", "large")
    return names[sum(abs(effect) >= limit for limit in limits)]


@dataclass(frozen=True, slots=True)
class Overfitting:
    """Test minus training, averaged over test sets (Equation 1); below 0 is worse on test."""

    mean: float
    sd: float | None
    """Over test sets; None with one."""
    test_sets: int


@dataclass(frozen=True, slots=True)
class Degradation:
    """Test minus validation; below 0 is worse on test."""

    difference: float
    test: Literal["difference", "welch t", "mann-whitney u"]
    """`difference` where one of them is a single score, so nothing can be tested."""
    p: float | None
    eta_squared: float | None
    eta_magnitude: Magnitude | None
    cohen_d: float | None
    d_magnitude: Magnitude | None


def overfitting(training: float, test: Sequence[float]) -> Overfitting:
    """Return how much better or worse test sets are than the training set."""
    scores = _finite(test)
    return Overfitting(
        mean=float((scores - _finite([training])[0]).mean()),
        sd=float(scores.std(ddof=1)) if scores.size > 1 else None,
        test_sets=scores.size,
    )


def degradation(
    validation: Sequence[float], test: Sequence[float], *, alpha: float = 0.05, ranks: bool = False
) -> Degradation:
    """Compare scores of validation sets or folds with those of test sets.

    With several of both: Welch's t test where both pass as normal, else, or where `ranks`
    demands it, Mann-Whitney's U, exact for few values without ties. Effect sizes come whatever
    p says.
    """
    before, after = _finite(validation), _finite(test)
    difference = float(after.mean() - before.mean())
    if min(before.size, after.size) < 2:
        return Degradation(difference, "difference", None, None, None, None, None)
    stats = scipy_stats()
    result = stats.mannwhitneyu(after, before)
    eta = eta_squared(float(result.statistic), after.size, before.size)
    d = cohen_d(after, before)
    normal = not ranks and all(_normal(values, alpha / 2) for values in (before, after))
    p = float(stats.ttest_ind(after, before, equal_var=False).pvalue if normal else result.pvalue)
    return Degradation(
        difference=difference,
        test="welch t" if normal else "mann-whitney u",
        p=p,
        eta_squared=eta,
        eta_magnitude=eta_magnitude(eta),
        cohen_d=d,
        d_magnitude=magnitude(d),
    )


def _normal(values: Floats, alpha: float) -> bool:
    if values.size < 3 or np.ptp(values) == 0:
        return False
    return float(scipy_stats().shapiro(values).pvalue) >= alpha


def _finite(scores: Sequence[float]) -> Floats:
    values = np.asarray(scores, dtype=np.float64)
    if not values.size or not np.isfinite(values).all():
        raise StatisticsError(
            f"Of {values.size} scores, {int((~np.isfinite(values)).sum())} are not numbers",
            "Give the score of each data set or fold, at least one",
        )
    return values
