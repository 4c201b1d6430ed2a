"""Effect sizes and confidence intervals, whatever the significance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from goldpan.evaluation.statistics.scores import Floats, scipy_stats


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
    """Return what an effect size in standard deviations is called (ECSER, S8)."""
    return _named(d, (0.2, 0.5, 0.8))


def eta_magnitude(eta: float | None) -> Magnitude:
    """Return what an eta squared is called (ECSER, Table 14)."""
    return _named(eta, (0.01, 0.06, 0.14))


def _named(effect: float | None, limits: tuple[float, float, float]) -> Magnitude:
    if effect is None:
        return "undefined"
    names: tuple[Magnitude, ...] = ("none", "small", "medium", "large")
    return names[sum(abs(effect) >= limit for limit in limits)]


def _pooled(first: float, many: int, second: float, more: int) -> float:
    return math.sqrt(((many - 1) * first**2 + (more - 1) * second**2) / (many + more - 2))


def _mad(values: Floats) -> float:
    return float(np.median(np.abs(values - np.median(values)))) * _MAD_TO_SD


def _ratio(difference: float, spread: float) -> float | None:
    if spread > 0:
        return difference / spread
    return 0.0 if difference == 0 else None
