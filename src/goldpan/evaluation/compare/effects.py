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
class Degradation:
    """How far test sets score below or above validation sets."""

    difference: float
    """Test minus validation; below 0 is worse on test."""
    p: float
    eta_squared: float
    eta_magnitude: Magnitude


def degradation(validation: Sequence[float], test: Sequence[float]) -> Degradation:
    """Compare at least two scores each of validation sets or folds, and of test sets.

    By Mann-Whitney's U, exact for few values without ties.
    """
    before, after = (np.asarray(scores, dtype=np.float64) for scores in (validation, test))
    if min(before.size, after.size) < 2 or not np.isfinite([*before, *after]).all():
        raise StatisticsError(
            f"{before.size} scores of validation and {after.size} of test cannot be compared",
            "Give at least two finite scores of each",
        )
    result = scipy_stats().mannwhitneyu(after, before)
    eta = eta_squared(float(result.statistic), after.size, before.size)
    difference = float(after.mean() - before.mean())
    return Degradation(difference, float(result.pvalue), eta, eta_magnitude(eta))
