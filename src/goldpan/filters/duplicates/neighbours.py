"""Finds near duplicates: texts whose signatures agree in a band, and then truly are alike.

A band puts texts into buckets. Comparing all pairs of a bucket would be quadratic where a
template is filled in 20,000 times, so each bucket is sorted by the bands that follow, which puts
the most alike side by side, and a text is compared with those near it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from goldpan.core.engine import Engine
from goldpan.core.resources import named
from goldpan.filters.duplicates.kept import Ids
from goldpan.filters.duplicates.settings import DuplicateSettings
from goldpan.filters.duplicates.shingles import Portions, Shingles
from goldpan.filters.duplicates.shuffle import Bucketed
from goldpan.filters.duplicates.unions import join


@dataclass(frozen=True, slots=True, eq=False)
class NearPairs:
    """Pairs of texts by their numbers, with their true similarity."""

    left: Ids
    right: Ids
    similarity: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Search:
    """How one band is searched."""

    portions: Portions
    groups: Path
    """The file of a number for each text: pairs of the same number are not compared."""
    threshold: float
    window: int
    joins: bool
    """Whether texts that are found alike are of one group from then on, in their bucket."""


def search_band(
    parts: Sequence[Bucketed],
    groups: Ids,
    portions: Portions,
    settings: DuplicateSettings,
    engine: Engine,
    *,
    joins: bool,
) -> Iterator[NearPairs]:
    """Yield the pairs of a band that reach the threshold.

    What is found in a bucket depends on its members and their `groups` alone, so that neither
    partitions nor machines make a difference.
    """
    if not parts:
        return
    path = parts[0].path.with_name(f"groups-{parts[0].band}.npy")
    with named(path):
        np.save(path, groups)
    search = Search(portions, path, settings.threshold, settings.window, joins)
    yield from engine.map(partial(near_pairs, search), parts)
    path.unlink()


def near_pairs(search: Search, part: Bucketed) -> NearPairs:
    """Return the pairs of a part that reach the threshold."""
    members = part.read()
    number = members["number"].astype(np.int64)
    bucket, size = members["bucket"], members["size"]
    local = _local(bucket, np.load(search.groups, mmap_mode="r")[number])
    lefts, rights, likeness = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0)]
    at = np.arange(len(members))
    with Shingles(search.portions) as shingles:
        for distance in range(1, search.window + 1):
            at = at[at < len(members) - distance]
            at = at[bucket[at] == bucket[at + distance]]
            if not len(at):
                break
            left, right = at, at + distance
            # Sets of such different sizes cannot be similar enough.
            alike = np.minimum(size[left], size[right]) >= search.threshold * np.maximum(
                size[left], size[right]
            )
            crosses = alike & (local[left] != local[right])
            left, right = left[crosses], right[crosses]
            similarity = shingles.similarities(members["slot"][left], members["slot"][right])
            near = similarity >= search.threshold
            left, right = left[near], right[near]
            lefts.append(number[left])
            rights.append(number[right])
            likeness.append(similarity[near])
            if search.joins:
                local = join(local, left, right)
    return NearPairs(np.concatenate(lefts), np.concatenate(rights), np.concatenate(likeness))


def _local(bucket: NDArray[np.int32], groups: Ids) -> Ids:
    """Return the first place of each member's group in its bucket."""
    _, codes = np.unique(groups, return_inverse=True)
    keys = bucket.astype(np.int64) * (len(groups) + 1) + codes
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return np.asarray(first[inverse], np.int64)
