"""Near duplicates that two splits share, and the siblings of a repository.

"Update to version 1.2" and "Update to version 1.3" over the same check list are two tasks, and so
are "Tracking issue for `foo`" and "Tracking issue for `bar`", however alike their texts. They stay
in one cluster, so that no split parts them, but none is a copy of another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from goldpan.filters.duplicates.near import Best, Texts, near_pairs
from goldpan.filters.duplicates.settings import DuplicateSettings, fold
from goldpan.filters.duplicates.sketches import NO_TEXT, Ids, joined, sketch_all

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
