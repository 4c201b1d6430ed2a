"""Pairs of near duplicates, the clusters that they make, and those that two splits share.

A band puts texts into buckets. Comparing all pairs of a bucket would be quadratic where a
template is filled in 20,000 times, so each bucket is sorted by the bands that follow, which puts
the most alike side by side, and a text is compared with those near it.

Clusters are chains of links: two members of one need not be near duplicates of each other. "Update
to version 1.2" and "Update to version 1.3" over the same check list are two tasks, and so are
"Tracking issue for `foo`" and "Tracking issue for `bar`", however alike their texts: siblings. They
stay in one cluster, so that no split parts them, but none is a copy of another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from goldpan.filters.duplicates.settings import (
    NO_TEXT,
    DuplicateSettings,
    Hashes,
    Ids,
    Sketches,
    fold,
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
    def numbered(cls, sketched: Sketches, order: Ids) -> tuple[Self, Ids]:
        """Return texts, numbered as they first occur, and the number of each in `order`.

        `order` has a place in the sketches for each, or `NO_TEXT`, which is its number, too.
        """
        rows = np.flatnonzero(order != NO_TEXT)
        places, first, inverse = np.unique(order[rows], return_index=True, return_inverse=True)
        by_age = np.argsort(first)
        rank = np.empty(len(first), np.int64)
        rank[by_age] = np.arange(len(first))
        numbers = np.full(len(order), NO_TEXT)
        numbers[rows] = rank[inverse]
        chosen = places[by_age]
        starts = np.cumsum(sketched.sizes) - sketched.sizes
        texts = cls(sketched.sets, starts[chosen], sketched.sizes[chosen], sketched.bands[chosen])
        return texts, numbers

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
class Links:
    """For each text: its cluster's first text, and the most similar of those it was compared with.

    A text that stands alone is its own `root` and has no `nearest` (-1).
    """

    root: Ids
    similarity: NDArray[np.float64]  # to the root
    nearest: Ids
    nearest_similarity: NDArray[np.float64]


def link(texts: Texts, settings: DuplicateSettings) -> Links:
    """Link all texts; the first of a cluster is its root.

    Texts that one band joined are not compared in those that follow.
    """
    parents = np.arange(len(texts))
    best = Best(len(texts))
    for band in range(settings.bands):
        pairs = near_pairs(texts, band, parents, settings, joins=True)
        best.offer(pairs)
        parents = join(parents, pairs.left, pairs.right)
    to_root = np.ones(len(texts))
    members = np.flatnonzero(parents != np.arange(len(texts)))
    to_root[members] = texts.similarities(members, parents[members])
    near = members[to_root[members] >= settings.threshold]
    best.offer(NearPairs(near, parents[near], to_root[near]))
    return Links(parents, to_root, best.text, best.similarity)


SIBLING = "sibling"
"""The relation of a text that shares no more than a template with those before it."""
Name = tuple[str, int]
_TOKEN = re.compile(r"\w+(?:[.:/+-]+\w+)*")
_NAME = re.compile(r"[0-9_./]|::")
_PLATFORMS = re.compile(
    "windows|linux|macos|osx|mac|ubuntu|debian|fedora|alpine|android|ios|wasm|bsd|freebsd|netbsd|"
    "openbsd|solaris|illumos|arm|mips|riscv|sparc|powerpc|intel|amd|nvidia|cuda|cpu|gpu|msvc|gcc|"
    "clang|chrome|firefox|safari|edge"
)
_SHORTEST = 3
_WINDOW = 32
"""The number of earlier texts that a text is compared with, beside the most likely ones."""


@dataclass(frozen=True, slots=True)
class ComparedIssue:
    """An issue as it is compared: the words of its title, and its text, folded."""

    title: frozenset[str]
    body: str

    @classmethod
    def of(cls, title: str, body: str) -> ComparedIssue:
        """Read an issue."""
        return cls(frozenset(_TOKEN.findall(fold(title))), fold(body))


def are_told_apart(task: ComparedIssue, other: ComparedIssue) -> bool:
    """Return whether the titles of two near duplicates name different things.

    They do where only numbers, identifiers or platforms differ, or where each has a word that
    stands in its own text and not in the other's.
    """
    mine, theirs = task.title - other.title, other.title - task.title
    shared = len(task.title & other.title)
    alike = 2 * shared >= min(len(task.title), len(other.title)) > 0
    if alike and any(map(_is_name, mine)) and any(map(_is_name, theirs)):
        return True
    return _stands_alone(mine, task, other) and _stands_alone(theirs, other, task)


def mark_siblings(duplicates: pa.Table, tasks: Mapping[Name, ComparedIssue]) -> pa.Table:
    """Return `DUPLICATES` with the relation `sibling` where a near duplicate is another task.

    `tasks` has every near one and its representative, in the order in which they came.
    """
    near = duplicates.filter(pc.equal(duplicates["relation"], "near"))
    columns = ("repo", "number", "cluster", "representative_repo", "representative_number")
    nearest = {
        (row["repo"], row["number"]): (row["nearest_repo"], row["nearest_number"])
        for row in near.select(["repo", "number", "nearest_repo", "nearest_number"]).to_pylist()
    }
    clusters: dict[Name, set[Name]] = {}
    for row in near.select(columns).to_pylist():
        first = (row["representative_repo"], row["representative_number"])
        clusters.setdefault(first, set()).add((row["repo"], row["number"]))
    order = {name: position for position, name in enumerate(tasks)}
    siblings: set[Name] = set()
    for first, members in clusters.items():
        siblings |= _siblings(first, sorted(members, key=order.__getitem__), tasks, nearest)
    names = zip(duplicates["repo"].to_pylist(), duplicates["number"].to_pylist(), strict=True)
    related = zip(names, duplicates["relation"].to_pylist(), strict=True)
    relations = [SIBLING if name in siblings else relation for name, relation in related]
    position = duplicates.schema.get_field_index("relation")
    return duplicates.set_column(position, "relation", pa.array(relations, pa.string()))


def _siblings(
    first: Name,
    members: Iterable[Name],
    tasks: Mapping[Name, ComparedIssue],
    nearest: Mapping[Name, Name],
) -> set[Name]:
    """Return the members of a cluster that are other tasks than all siblings before them."""
    seen, group = {first}, [first]
    by_title = {tasks[first].title: first}
    for name in members:
        task = tasks[name]
        likely = [first, *group[-_WINDOW:]]
        if task.title in by_title:
            likely.append(by_title[task.title])
        if nearest[name] in seen:
            likely.append(nearest[name])
        seen.add(name)
        if all(are_told_apart(task, tasks[likeness]) for likeness in dict.fromkeys(likely)):
            group.append(name)
            by_title.setdefault(task.title, name)
    return set(group[1:])


def _is_name(word: str) -> bool:
    return _PLATFORMS.fullmatch(word) is not None or _NAME.search(word) is not None


def _stands_alone(words: Iterable[str], mine: ComparedIssue, other: ComparedIssue) -> bool:
    return any(
        len(word) >= _SHORTEST and word in mine.body and word not in other.body for word in words
    )


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
    sketched = joined(parts, settings)
    texts, numbers = Texts.numbered(sketched, sketched.which)
    count, of_corpus = len(texts), len(parts[0].which)
    first = _first_places(numbers[:of_corpus], count)
    query_texts = numbers[of_corpus:]
    missing = np.zeros(count, np.bool_)
    missing[query_texts[query_texts != NO_TEXT]] = True
    missing &= first < 0
    # A query is compared with the corpus, and not with other queries.
    groups, best = missing.astype(np.int64), Best(count)
    for band in range(settings.bands):
        best.offer(near_pairs(texts, band, groups, settings, joins=False))
    return _leaks(query_texts, first, best)


def _first_places(texts: Ids, count: int) -> Ids:
    first = np.full(count, -1)
    rows = np.flatnonzero(texts != NO_TEXT)[::-1]
    first[texts[rows]] = rows
    return first


def _leaks(texts: Ids, first: Ids, best: Best) -> list[Leak]:
    leaks: list[Leak] = []
    for at, text in enumerate(texts.tolist()):
        if text == NO_TEXT:
            continue
        if first[text] >= 0:
            leaks.append(Leak(at, int(first[text]), "exact", 1.0))
        elif best.text[text] >= 0:
            value = float(best.similarity[text])
            leaks.append(Leak(at, int(first[best.text[text]]), "near", value))
    return leaks
