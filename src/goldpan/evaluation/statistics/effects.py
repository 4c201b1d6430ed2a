"""Effect sizes, confidence intervals, and how scores change from training to test (ECSER, S8)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from goldpan.evaluation.statistics.scores import Floats, StatisticsError, scipy_stats


@dataclass(frozen=True, slots=True)
class ConfidenceInterval:
    """A range, and how surely it covers."""

    low: float
    high: float
    confidence: float


def mean_interval(values: Floats, alpha: float, comparisons: int = 1) -> ConfidenceInterval:
    """Return the t interval of a mean, Bonferroni-corrected for the number of comparisons.

    SELU's Table III is corrected twice: it comes out with the square of the number of models.
    """
    level = alpha / comparisons
    half = float(values.std(ddof=1)) / math.sqrt(values.size)
    half *= float(scipy_stats().t.ppf(1 - level / 2, values.size - 1))
    mean = float(values.mean())
    return ConfidenceInterval(mean - half, mean + half, 1 - level)


def median_interval(values: Floats, alpha: float, comparisons: int = 1) -> ConfidenceInterval:
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
    return ConfidenceInterval(float(ordered[at]), float(ordered[-1 - at]), float(1 - 2 * tails[at]))


Magnitude = Literal["none", "small", "medium", "large", "undefined"]
_MAD_TO_SD = 1.4826
"""The median absolute deviation of normal data, times this, is their standard deviation."""


def pooled_sd(first: Floats, second: Floats) -> float:
    """Return the pooled standard deviation of two samples (SELU, Equation 5)."""
    return _pooled(float(first.std(ddof=1)), first.size, float(second.std(ddof=1)), second.size)


def pooled_mad(first: Floats, second: Floats) -> float:
    """Return the pooled median absolute deviation, scaled to a standard deviation."""
    return _pooled(_mad(first), first.size, _mad(second), second.size)


def cohen_d(first: Floats, second: Floats) -> float | None:
    """Return the difference of means in pooled standard deviations.

    It takes the samples as independent, as both papers do. None where neither sample varies
    and the means differ.
    """
    return _ratio(float(first.mean() - second.mean()), pooled_sd(first, second))


def akinshin_gamma(first: Floats, second: Floats) -> float | None:
    """Return the difference of medians in pooled median absolute deviations.

    The counterpart of `cohen_d` for data that are not normal, as Autorank has it.
    """
    return _ratio(float(np.median(first) - np.median(second)), pooled_mad(first, second))


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


def _pooled(first: float, size: int, second: float, other: int) -> float:
    return math.sqrt(((size - 1) * first**2 + (other - 1) * second**2) / (size + other - 2))


def _mad(values: Floats) -> float:
    return float(np.median(np.abs(values - np.median(values)))) * _MAD_TO_SD


def _ratio(difference: float, spread: float) -> float | None:
    if spread > 0:
        return difference / spread
    return 0.0 if difference == 0 else None


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
