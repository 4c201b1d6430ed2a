"""Pairs of near duplicates, and the clusters that they make.

A partition holds some values of every band, so that a bucket lies in one of them. Texts that are
alone in their bucket, which most are, go no further.

A band puts texts into buckets. Comparing all pairs of a bucket would be quadratic where a
template is filled in 20,000 times, so each bucket is sorted by the bands that follow, which puts
the most alike side by side, and a text is compared with those near it.

Clusters are chains of links: two members of one need not be near duplicates of each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldpan.core.parallel.engine import Engine
from goldpan.core.resources import named
from goldpan.core.storage.workspace import replacing_file
from goldpan.filters.duplicates.settings import DuplicateSettings
from goldpan.filters.duplicates.sketches import ENTRY, NO_TEXT, SLICES, Ids, SketchFile
from goldpan.filters.duplicates.texts import Numbering, Portions, Shingles


def join(parents: Ids, left: Ids, right: Ids) -> Ids:
    """Unite the clusters of each pair; each text's parent is then its cluster's first text."""
    above: dict[int, int] = {}
    for this, other in zip(parents[left].tolist(), parents[right].tolist(), strict=True):
        left_root, right_root = _root(above, this), _root(above, other)
        if left_root != right_root:
            above[max(left_root, right_root)] = min(left_root, right_root)
    parents = parents.copy()
    joined = list(above)
    parents[joined] = [_root(above, text) for text in joined]
    return parents[parents]


def _root(above: dict[int, int], text: int) -> int:
    while (higher := above.get(text, text)) != text:
        above[text] = text = above.get(higher, higher)
    return text


MEMBER = np.dtype([("bucket", "<i4"), ("size", "<i4"), ("number", "<i8"), ("slot", "<i8")])
"""A text in a bucket; members of a bucket lie side by side, the most alike next to each other."""
_TEXTS = 20_000
"""Texts that are worth one more partition, up to 16 partitions."""
_MANY_TEXTS = 200_000
"""Texts from which on there are more than 16."""


def _members_file(numbers: Path, partition: int) -> Path:
    """Return the file of a partition, its members band after band, beside that of numbers."""
    return numbers.with_name(f"{partition}.members.npy")


@dataclass(frozen=True, slots=True)
class Bucketed:
    """Members of one band in a file of members."""

    path: Path
    band: int
    start: int
    end: int

    def __str__(self) -> str:
        return f"band {self.band} of {self.path.name}"

    def read(self) -> NDArray[Any]:
        """Return the members."""
        return np.array(np.load(self.path, mmap_mode="r")[self.start : self.end])


def bring_together(
    portions: Portions, numbering: Numbering, bands: int, folder: Path, engine: Engine
) -> list[list[Bucketed]]:
    """Return for each band the members of buckets of two and more, a part each partition."""
    texts = len(numbering.slot)
    if not texts:
        return []
    partitions = min(SLICES, max(1 + min(15, texts // _TEXTS), texts // _MANY_TEXTS))
    numbers = folder / "numbers.npy"
    with named(numbers):
        np.save(numbers, numbering.of_slots(portions.slots))
    gather = partial(_gather, portions, numbers, partitions, bands)
    parts: list[list[Bucketed]] = [[] for _ in range(bands)]
    for number, counts in enumerate(engine.map(gather, range(partitions))):
        ends = np.cumsum(counts).tolist()
        for band, (count, end) in enumerate(zip(counts, ends, strict=True)):
            if count:
                parts[band].append(Bucketed(_members_file(numbers, number), band, end - count, end))
    return parts


def _gather(
    portions: Portions, numbers_file: Path, partitions: int, bands: int, partition: int
) -> list[int]:
    """Write the members of a partition, and return how many each band has.

    `numbers_file` has the number of each slot's text.
    """
    bounds = [SLICES * part // partitions for part in (partition, partition + 1)]
    numbers = np.load(numbers_file, mmap_mode="r")
    parts: list[list[NDArray[Any]]] = [[] for _ in range(bands)]
    for file, start, end in _opened(portions):
        own, sizes = numbers[start:end], file.column("sizes")
        slices = file.column("bounds")
        for band, (first, last) in enumerate(slices[:, bounds].tolist()):
            entries = file.entries(band, first, last)
            number = own[entries["row"]]
            entries, number = entries[number != NO_TEXT], number[number != NO_TEXT]
            part = np.empty(len(entries), [*ENTRY.descr, *MEMBER.descr[1:]])
            for name in ENTRY.names or ():
                part[name] = entries[name]
            part["number"], part["slot"] = number, start + entries["row"].astype(np.int64)
            part["size"] = sizes[entries["row"]]
            parts[band].append(part)
    counts = []
    members = [np.empty(0, MEMBER)]
    for entries_of_band in parts:
        members.append(_members(entries_of_band))
        entries_of_band.clear()
        counts.append(len(members[-1]))
    with replacing_file(_members_file(numbers_file, partition)) as path, path.open("wb") as target:
        np.save(target, np.concatenate(members))
    return counts


def _members(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return the members of buckets of two and more in a band, sorted."""
    if not parts:
        return np.empty(0, MEMBER)
    entries = np.concatenate(parts)
    entries = entries[np.argsort(entries["key"])]
    change = np.flatnonzero(np.diff(entries["key"])) + 1
    starts = np.concatenate([[0], change]) if len(entries) else change
    sizes = np.diff(np.append(starts, len(entries)))
    shared = np.repeat(sizes, sizes) > 1
    bucket = np.repeat(np.arange(len(sizes)), sizes)[shared]
    entries = entries[shared]
    order = np.lexsort((entries["number"], entries["third"], entries["second"], bucket))
    members = np.empty(len(order), MEMBER)
    members["bucket"] = bucket[order]
    for name in ("size", "number", "slot"):
        members[name] = entries[name][order]
    return members


def _opened(portions: Portions) -> Iterator[tuple[SketchFile, int, int]]:
    bounds = portions.offsets.tolist()
    for path, start, end in zip(portions.paths, bounds, bounds[1:], strict=False):
        if end > start:
            with SketchFile(path) as file:
                yield file, start, end


@dataclass(frozen=True, slots=True, eq=False)
class NearPairs:
    """Pairs of texts by their numbers, with their true similarity."""

    left: Ids
    right: Ids
    similarity: NDArray[np.float64]


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

    Texts of one number in `groups` are not compared; where it `joins`, similar texts are one group
    from then on, in their bucket. The result for a bucket depends on its members and their groups
    alone, so that neither partitions nor machines make a difference.
    """
    if not parts:
        return
    path = parts[0].path.with_name(f"groups-{parts[0].band}.npy")
    with named(path):
        np.save(path, groups)
    yield from engine.map(partial(_near_pairs, portions, path, settings, joins), parts)
    path.unlink()


def _near_pairs(
    portions: Portions, groups: Path, settings: DuplicateSettings, joins: bool, part: Bucketed
) -> NearPairs:
    """Return the pairs of a part that reach the threshold."""
    members = part.read()
    number = members["number"].astype(np.int64)
    bucket, size = members["bucket"], members["size"]
    local = _local(bucket, np.load(groups, mmap_mode="r")[number])
    lefts, rights, likeness = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0)]
    at = np.arange(len(members))
    with Shingles(portions) as shingles:
        for distance in range(1, settings.window + 1):
            at = at[at < len(members) - distance]
            at = at[bucket[at] == bucket[at + distance]]
            if not len(at):
                break
            left, right = at, at + distance
            # Sets of such different sizes cannot be similar enough.
            smaller = np.minimum(size[left], size[right])
            alike = smaller >= settings.threshold * np.maximum(size[left], size[right])
            crosses = alike & (local[left] != local[right])
            left, right = left[crosses], right[crosses]
            similarity = shingles.similarities(members["slot"][left], members["slot"][right])
            near = similarity >= settings.threshold
            left, right = left[near], right[near]
            lefts.append(number[left])
            rights.append(number[right])
            likeness.append(similarity[near])
            if joins:
                local = join(local, left, right)
    return NearPairs(np.concatenate(lefts), np.concatenate(rights), np.concatenate(likeness))


def _local(bucket: NDArray[np.int32], groups: Ids) -> Ids:
    """Return the first place of each member's group in its bucket."""
    _, codes = np.unique(groups, return_inverse=True)
    keys = bucket.astype(np.int64) * (len(groups) + 1) + codes
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return np.asarray(first[inverse], np.int64)


class Best:
    """The most similar text to each so far; among equals the one that comes first, -1 for none."""

    def __init__(self, count: int) -> None:
        self.text = np.full(count, -1)
        self.similarity = np.zeros(count)

    def offer(self, pairs: NearPairs) -> None:
        """Take the pairs into account, in both directions."""
        texts = np.concatenate([pairs.left, pairs.right])
        others = np.concatenate([pairs.right, pairs.left])
        both = np.concatenate([pairs.similarity, pairs.similarity])
        order = np.lexsort((others, -both, texts))
        first = order[np.flatnonzero(np.diff(texts[order], prepend=-1))]
        text, other, value = texts[first], others[first], both[first]
        similarity, nearest = self.similarity[text], self.text[text]
        better = (value > similarity) | ((value == similarity) & (other < nearest))
        self.text[text[better]] = other[better]
        self.similarity[text[better]] = value[better]


_PAIRS = 20_000
"""Pairs that one process compares at once."""


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """For each text: its cluster's first text, and the most similar of those it was compared with.

    A text that stands alone is its own `root` and has no `nearest` (-1).
    """

    root: Ids
    similarity: NDArray[np.float64]  # to the root
    nearest: Ids
    nearest_similarity: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    """Pairs of slots."""

    left: Ids
    right: Ids

    def __str__(self) -> str:
        return f"{len(self.left):,} pairs of texts"


def link(
    portions: Portions,
    numbering: Numbering,
    settings: DuplicateSettings,
    folder: Path,
    engine: Engine,
) -> Links:
    """Link all texts; the first of a cluster is its root. Files go to `folder`.

    Texts that one band joined are not compared in those that follow.
    """
    count = len(numbering.slot)
    parents = np.arange(count)
    best = Best(count)
    for parts in bring_together(portions, numbering, settings.bands, folder, engine):
        for pairs in search_band(parts, parents, portions, settings, engine, joins=True):
            best.offer(pairs)
            parents = join(parents, pairs.left, pairs.right)

    to_root = np.ones(count)
    members = np.flatnonzero(parents != np.arange(count))
    cuts = [members[start : start + _PAIRS] for start in range(0, len(members), _PAIRS)]
    slot = numbering.slot
    ends = [_Pairs(slot[texts], slot[parents[texts]]) for texts in cuts]
    for texts, values in zip(cuts, engine.map(partial(_compare, portions), ends), strict=True):
        to_root[texts] = values
    near = members[to_root[members] >= settings.threshold]
    best.offer(NearPairs(near, parents[near], to_root[near]))
    return Links(parents, to_root, best.text, best.similarity)


def _compare(portions: Portions, pairs: _Pairs) -> NDArray[np.float64]:
    with Shingles(portions) as shingles:
        return shingles.similarities(pairs.left, pairs.right)
