"""Shares of a whole, with how sure they are, and agreement beyond chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
import numpy.typing as npt

from goldpan.core.imports import load

_NINETY_FIVE = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Estimate:
    """A measure with its 95% interval; all None where it is not defined."""

    value: float | None
    low: float | None
    high: float | None

    def shown(self, undefined: str = "-") -> str:
        """Return the value with its interval, to three decimals."""
        if self.value is None:
            return undefined
        if self.low is None or self.high is None:
            return f"{self.value:.3f}"
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"

    def short(self) -> str:
        """Return a share with its interval in the least signs; empty where it is not defined."""
        if self.value is None or self.low is None or self.high is None:
            return ""
        return f"{self.value:.0%} [{self.low:.0%}, {self.high:.0%}]"

    def percent(self) -> str:
        """Return a share with its interval, in words."""
        if self.value is None or self.low is None or self.high is None:
            return "unknown"
        return f"{self.value:.0%} (95% interval {self.low:.0%} to {self.high:.0%})"


def wilson(successes: float, trials: int) -> Estimate:
    """Return a share with its 95% interval after Wilson."""
    if not trials:
        return Estimate(None, None, None)
    share, square = successes / trials, _NINETY_FIVE**2
    center = (share + square / (2 * trials)) / (1 + square / trials)
    spread = sqrt(share * (1 - share) / trials + square / (4 * trials**2))
    half = _NINETY_FIVE * spread / (1 + square / trials)
    return Estimate(share, max(0.0, center - half), min(1.0, center + half))


@dataclass(frozen=True, slots=True)
class Stratum:
    """Items of one kind, of which a sample was read."""

    size: int
    read: int
    successes: int


_DRAWS = 4_000


def stratified(strata: Sequence[Stratum]) -> Estimate:
    """Return the share of successes in all strata together, with its 95% interval.

    Each stratum counts by its size. The interval is that of the successes among what was not read,
    given those among what was (Jeffreys' prior), so that a stratum that was read whole adds no
    doubt. All is undefined where nothing was read.
    """
    total = sum(each.size for each in strata)
    if not sum(each.read for each in strata):
        return Estimate(None, None, None)
    rng = np.random.default_rng(0)
    drawn, expected = np.zeros(_DRAWS), 0.0
    for each in strata:
        shares = rng.beta(each.successes + 0.5, each.read - each.successes + 0.5, _DRAWS)
        drawn += each.successes + rng.binomial(each.size - each.read, shares)
        expected += each.size * (each.successes / each.read if each.read else 0.5)
    low, high = np.quantile(drawn / total, (0.025, 0.975))
    share = expected / total
    return Estimate(share, min(share, float(low)), max(share, float(high)))


def allocate(sizes: Mapping[str, int], doubts: Mapping[str, float], most: int) -> dict[str, int]:
    """Return how many of each stratum to read, `most` together, so that the share is known best.

    `doubts` are the standard deviations that are expected within strata (Neyman's allocation in
    whole numbers, by Wright). Each stratum gets one at least while there are enough.
    """
    chosen = dict.fromkeys(sizes, 0)
    for _ in range(min(most, sum(sizes.values()))):
        room = [name for name in sizes if chosen[name] < sizes[name]]
        best = max(
            room,
            key=lambda name: (
                chosen[name] == 0,
                sizes[name] * doubts[name] / sqrt(max(1, chosen[name] * (chosen[name] + 1))),
            ),
        )
        chosen[best] += 1
    return chosen


def cohen_kappa(
    first: npt.ArrayLike, other: npt.ArrayLike, weights: npt.ArrayLike | None = None
) -> float | None:
    """Return Cohen's kappa of two raters' choices for the same items, by scikit-learn.

    `weights` say how many items there are of each. None where it is not defined: without items,
    and where both chose one category alone.
    """
    counted = slice(None) if weights is None else np.asarray(weights) > 0
    if len(np.union1d(np.asarray(first)[counted], np.asarray(other)[counted])) < 2:
        return None
    metrics = load("sklearn.metrics", "Cohen's kappa")
    return float(metrics.cohen_kappa_score(first, other, sample_weight=weights))
