"""Finds near duplicates: texts whose signatures agree in a band, and then truly are alike.

A band puts texts into buckets. Comparing all pairs of a bucket would be quadratic where a
template is filled in 20,000 times, so each bucket is sorted by the bands that follow, which puts
the most alike side by side, and a text is compared with those near it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goldpan.filters.duplicates.settings import DuplicateSettings
from goldpan.filters.duplicates.shingles import Ids, ShingleFile
from goldpan.filters.duplicates.sketch import Hashes

Choice = Callable[[Ids, Ids], NDArray[np.bool_]]


@dataclass(frozen=True, slots=True, eq=False)
class NearPairs:
    """Pairs of texts by their positions, with their true similarity."""

    left: Ids
    right: Ids
    similarity: NDArray[np.float64]


def near_pairs(
    shingles: ShingleFile, bands: Hashes, texts: Ids, settings: DuplicateSettings, worth: Choice
) -> Iterator[NearPairs]:
    """Yield the pairs among `texts` that reach the threshold, many at a time.

    `worth` says of pairs of positions in `texts` which are still wanted; it is asked anew before
    each step. The result depends on the sketches and the order of `texts` alone.
    """
    sizes = shingles.sizes[texts]
    for left, right in _neighbours(bands, texts, settings.window):
        # Sets of such different sizes cannot be similar enough.
        alike = np.minimum(sizes[left], sizes[right]) >= settings.threshold * np.maximum(
            sizes[left], sizes[right]
        )
        wanted = alike & worth(left, right)
        left, right = left[wanted], right[wanted]
        similarity = shingles.similarities(texts[left], texts[right])
        near = similarity >= settings.threshold
        if near.any():
            yield NearPairs(left[near], right[near], similarity[near])


def _neighbours(bands: Hashes, texts: Ids, window: int) -> Iterator[tuple[Ids, Ids]]:
    """Yield pairs of positions whose texts share a bucket: all of them in one of `window` + 1."""
    count = bands.shape[1]
    for band in range(count):
        first, second, third = (bands[texts, (band + next_) % count] for next_ in range(3))
        order = np.lexsort((third, second, first))
        bucket = first[order]
        at = np.arange(len(order))
        for distance in range(1, window + 1):
            at = at[at < len(order) - distance]
            at = at[bucket[at] == bucket[at + distance]]
            if not len(at):
                break
            yield order[at], order[at + distance]
