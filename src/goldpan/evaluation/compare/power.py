"""How much more data would show a difference that was seen: units, seeds or both.

Each is the least with which the same difference, were it the true one, would be found in 80 % of
studies. Units are rows, documents, projects or tasks; seeds are trainings of each model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goldpan.evaluation.compare.scores import Floats, scipy_stats

POWER_QUANTILE = 0.8416
"""Normal quantile of a power of 80 %."""
MOST_TIMES = 1_000
MOST_SEEDS = 1_000
"""Beyond these, no number is called reasonable."""

Shown = Callable[[Floats, Floats], NDArray[np.bool_]]
"""Whether so many units and so many seeds would show each pair's difference."""


@dataclass(frozen=True, slots=True)
class Needed:
    """What would show a difference; None where more of it alone would not, or is not needed."""

    units: int | None = None
    seeds: int | None = None


def least_needed(
    shown: Shown, units: int, seeds: NDArray[np.intp], fewest: int, most: int
) -> list[Needed]:
    """Return what each pair lacks: more units, else more seeds, else more of both.

    Where either would do, the one that grows less is named. `seeds` is what each pair has; with
    one, the variance of trainings is not seen, and more units are all that can be asked for.
    """
    has_units, has_seeds = np.full(len(seeds), float(units)), seeds.astype(np.float64)
    start, end = np.full(len(seeds), max(fewest, units + 1)), np.full(len(seeds), most)
    by_units = _least(lambda count: shown(count, has_seeds), start, end)
    by_seeds = _least(
        lambda count: shown(has_units, count), seeds + 1, np.where(seeds > 1, MOST_SEEDS, 0)
    )
    together = _least(lambda count: shown(count, has_seeds * count / units), start, end)
    needed = []
    for at, own in enumerate(seeds.tolist()):
        more, trained, both = by_units[at], by_seeds[at], together[at]
        if trained and (not more or trained / own < more / units):
            needed.append(Needed(seeds=trained))
        elif more or not both:
            needed.append(Needed(units=more))
        else:
            needed.append(Needed(both, -(-own * both // units)))
    return needed


def _least(
    shown: Callable[[Floats], NDArray[np.bool_]], low: NDArray[np.intp], high: NDArray[np.intp]
) -> list[int | None]:
    """Return the least count from low to high that is enough for each pair, None where none is."""
    possible = (low <= high) & shown(np.maximum(low, high).astype(np.float64))
    low, high = np.minimum(low, high), high
    # All pairs are halved together, as one quantile for all costs little more than for one.
    while (low < high).any():
        middle = (low + high) // 2
        enough = shown(middle.astype(np.float64)) | ~possible
        low, high = np.where(enough, low, middle + 1), np.where(enough, middle, high)
    return [count if can else None for count, can in zip(low.tolist(), possible, strict=True)]


def reach(tail: float | Floats, freedom: Floats) -> Floats:
    """Return how many standard errors a true difference needs, for a one-sided tail of t."""
    stats = scipy_stats()
    finite = np.isfinite(freedom)
    limit = np.where(
        finite, stats.t.isf(tail, np.where(finite, freedom, 1.0)), stats.norm.isf(tail)
    )
    return np.asarray(limit + POWER_QUANTILE)
