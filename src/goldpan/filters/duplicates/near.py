"""Near duplicates: pairs of alike texts, the clusters that they make, and those two splits share.

A band puts texts into buckets. Comparing all pairs of a bucket would be quadratic where a
template is filled in 20,000 times, so each bucket is sorted by the bands that follow, which puts
the most alike side by side, and a text is compared with those near it.

Memory follows the number of texts, about 2.4 KB each: a million takes 2.4 GB.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from goldpan.filters.duplicates.settings import (
    NO_TEXT,
    DuplicateSettings,
    Hashes,
    Ids,
    Sketches,
    joined,
    sketch_all,
)

_AT_ONCE = 2**21
"""Shingles that are compared at once, as far as one pair allows."""
_HALF = np.uint64(32)


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """The distinct texts by number, with what they are compared by."""

    sets: NDArray[np.uint32]
    starts: Ids
    """Where the set of each begins in `sets`."""
    sizes: Ids
    bands: Hashes

    @classmethod
    def numbered(
        cls, parts: Sequence[Sketches], order: Ids | None, settings: DuplicateSettings
    ) -> tuple[Self, Ids]:
        """Return texts, numbered as they first occur in `order`, and the number of each row.

        A row without a text has the number `NO_TEXT`.
        """
        every = joined(parts, settings)
        order = np.arange(len(every.names)) if order is None else order
        rows = order[every.names[order] != b""]
        _, first, inverse = np.unique(every.names[rows], return_index=True, return_inverse=True)
        _, places = np.unique(every.digests, return_index=True)
        by_age = np.argsort(first)
        numbers = np.full(len(order), NO_TEXT)
        numbers[rows] = np.argsort(by_age)[inverse]
        chosen = places[by_age]
        starts = np.cumsum(every.sizes) - every.sizes
        return cls(every.sets, starts[chosen], every.sizes[chosen], every.bands[chosen]), numbers

    def __len__(self) -> int:
        return len(self.sizes)

    def similarities(self, left: Ids, right: Ids) -> NDArray[np.float64]:
        """Return the Jaccard similarity of the sets of each pair."""
        common = np.empty(len(left), np.int64)
        total = self.sizes[left] + self.sizes[right]
        steps = np.cumsum(total) // _AT_ONCE
        bounds = (np.flatnonzero(np.diff(steps)) + 1).tolist()
        for start, end in zip([0, *bounds], [*bounds, len(left)], strict=True):
            common[start:end] = self._common(left[start:end], right[start:end])
        return np.asarray(common / np.maximum(total - common, 1))

    def _common(self, left: Ids, right: Ids) -> Ids:
        """Count the shingles that the two sets of each pair share."""
        keys = np.concatenate([self._keys(left), self._keys(right)])
        keys.sort()
        twice = keys[1:][keys[1:] == keys[:-1]] >> _HALF
        return np.bincount(twice.astype(np.int64), minlength=len(left))

    def _keys(self, numbers: Ids) -> Hashes:
        """Return the sets of some texts one after the other, with the place of each above it."""
        sizes = self.sizes[numbers]
        ends = np.cumsum(sizes)
        shift = np.repeat(self.starts[numbers] - (ends - sizes), sizes)
        place = np.repeat(np.arange(len(numbers), dtype=np.uint64), sizes)
        hashes = self.sets[np.arange(len(shift)) + shift].astype(np.uint64)
        return np.asarray((place << _HALF) | hashes)


@dataclass(frozen=True, slots=True, eq=False)
class NearPairs:
    """Pairs of texts by their numbers, with their true similarity."""

    left: Ids
    right: Ids
    similarity: NDArray[np.float64]


def near_pairs(
    texts: Texts, band: int, groups: Ids, settings: DuplicateSettings, *, joins: bool
) -> NearPairs:
    """Return the pairs of texts that meet in a band and reach the threshold.

    Texts of one number in `groups` are not compared; where it `joins`, similar texts are one group
    from then on, in their bucket.
    """
    number, bucket = _buckets(texts, band)
    size = texts.sizes[number]
    local = _local(bucket, groups[number])
    lefts, rights, likeness = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0)]
    at = np.arange(len(number))
    for distance in range(1, settings.window + 1):
        at = at[at < len(number) - distance]
        at = at[bucket[at] == bucket[at + distance]]
        if not len(at):
            break
        left, right = at, at + distance
        # Sets of such different sizes cannot be similar enough.
        smaller = np.minimum(size[left], size[right])
        alike = smaller >= settings.threshold * np.maximum(size[left], size[right])
        crosses = alike & (local[left] != local[right])
        left, right = left[crosses], right[crosses]
        similarity = texts.similarities(number[left], number[right])
        near = similarity >= settings.threshold
        left, right = left[near], right[near]
        lefts.append(number[left])
        rights.append(number[right])
        likeness.append(similarity[near])
        if joins:
            local = join(local, left, right)
    return NearPairs(np.concatenate(lefts), np.concatenate(rights), np.concatenate(likeness))


def _buckets(texts: Texts, band: int) -> tuple[Ids, Ids]:
    """Return the texts in buckets of two and more, the most alike side by side, and the buckets."""
    number = np.flatnonzero(texts.sizes)
    count = texts.bands.shape[1]
    _, bucket, sizes = np.unique(texts.bands[number, band], return_inverse=True, return_counts=True)
    shared = sizes[bucket] > 1
    number, bucket = number[shared], bucket[shared]
    second, third = (texts.bands[number, (band + further) % count] >> _HALF for further in (1, 2))
    order = np.lexsort((number, third, second, bucket))
    return number[order], bucket[order]


def _local(bucket: Ids, groups: Ids) -> Ids:
    """Return the first place of each member's group in its bucket."""
    _, codes = np.unique(groups, return_inverse=True)
    keys = bucket * (len(groups) + 1) + codes
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return np.asarray(first[inverse], np.int64)


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


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Rows by the clusters of their texts; of a row that stands alone, only `root` counts."""

    root: Ids
    """The first row of each row's cluster, itself where it stands alone."""
    same: NDArray[np.bool_]
    """Whether the text is that of the root."""
    similarity: NDArray[np.float64]
    """To the root."""
    nearest: Ids
    """The row with the most similar text, of those it was compared with."""
    nearest_similarity: NDArray[np.float64]


def group(parts: Sequence[Sketches], order: Ids, settings: DuplicateSettings) -> Groups:
    """Group the rows of all parts by their texts; the first of a group in `order` is its root.

    Texts that one band joined are not compared in those that follow.
    """
    texts, numbers = Texts.numbered(parts, order, settings)
    parents, best = np.arange(len(texts)), Best(len(texts))
    for band in range(settings.bands):
        pairs = near_pairs(texts, band, parents, settings, joins=True)
        best.offer(pairs)
        parents = join(parents, pairs.left, pairs.right)
    to_root = np.ones(len(texts))
    members = np.flatnonzero(parents != np.arange(len(texts)))
    to_root[members] = texts.similarities(members, parents[members])
    near = members[to_root[members] >= settings.threshold]
    best.offer(NearPairs(near, parents[near], to_root[near]))

    rows = order[numbers[order] != NO_TEXT]
    by_text = rows[np.argsort(numbers[rows], kind="stable")]
    starts = np.searchsorted(numbers[by_text], np.arange(len(texts)))
    twice = np.diff(np.append(starts, len(by_text))) > 1
    first, second = by_text[starts], by_text[starts + twice]
    own = numbers[rows]
    root, nearest = np.arange(len(order)), np.arange(len(order))
    same = np.ones(len(order), np.bool_)
    similarity, likeness = np.ones(len(order)), np.ones(len(order))
    root[rows], same[rows] = first[parents[own]], parents[own] == own
    similarity[rows] = to_root[own]
    # A text that stands in several rows has its own like as its nearest.
    other = np.where(first[own] == rows, second[own], first[own])
    nearest[rows] = np.where(twice[own], other, first[best.text[own]])
    likeness[rows] = np.where(twice[own], 1.0, best.similarity[own])
    return Groups(root, same, similarity, nearest, likeness)


@dataclass(frozen=True, slots=True)
class Leak:
    """The position of a query and of the most similar text in the corpus."""

    query: int
    match: int
    relation: Literal["exact", "near"]
    similarity: float


def find_leaks_of_batches(
    corpus: Iterable[Sequence[str]], queries: Iterable[Sequence[str]], settings: DuplicateSettings
) -> list[Leak]:
    """Return a leak for each text of `queries` that has a duplicate in `corpus`, in order.

    Both come in batches and are not kept; `corpus` is read to its end before `queries` are.
    Numbers count through all batches. Among equally similar texts the first is named.
    """
    parts = [sketch_all(texts, settings) for texts in (corpus, queries)]
    texts, numbers = Texts.numbered(parts, None, settings)
    of_corpus = len(parts[0].names)
    known, first = np.unique(numbers[:of_corpus], return_index=True)
    first = first[known != NO_TEXT]
    # A query is compared with the corpus, whose texts come first, and not with other queries.
    sides, best = (np.arange(len(texts)) >= len(first)).astype(np.int64), Best(len(texts))
    for band in range(settings.bands):
        best.offer(near_pairs(texts, band, sides, settings, joins=False))
    leaks: list[Leak] = []
    for at, text in enumerate(numbers[of_corpus:].tolist()):
        if NO_TEXT < text < len(first):
            leaks.append(Leak(at, int(first[text]), "exact", 1.0))
        elif text != NO_TEXT and best.text[text] >= 0:
            value = float(best.similarity[text])
            leaks.append(Leak(at, int(first[best.text[text]]), "near", value))
    return leaks
