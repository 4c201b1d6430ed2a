"""The texts that lie in many files: their names, their order and their true similarity."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from goldpan.core.errors import UsageError
from goldpan.filters.duplicates.sketches import HASH_BITS, NO_TEXT, Hashes, Ids, SketchFile

_AT_ONCE = 2**21
"""Shingles that are compared at once, as far as one pair allows."""
_LEAST = 64
"""The least size that a pair counts as, so that 16 bits tell all pairs of one step apart."""
_WIDTH = 8
_OPEN = 100
"""Files that are open at once."""


@dataclass(frozen=True, slots=True)
class Portions:
    """The files of all texts. A slot is a row of one of them, counted through them all."""

    paths: tuple[Path, ...]
    offsets: Ids
    """The first slot of each file, and the number of slots."""

    @classmethod
    def of(cls, paths: Sequence[Path], counts: Sequence[int]) -> Self:
        """Take files with their numbers of rows."""
        return cls(tuple(paths), np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]))

    @property
    def slots(self) -> int:
        """The number of slots."""
        return int(self.offsets[-1])


class Shingles:
    """Reads the sets of slots; a context manager that closes the files."""

    def __init__(self, portions: Portions) -> None:
        self._portions = portions
        self._open: OrderedDict[int, tuple[SketchFile, Ids, Ids]] = OrderedDict()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        with ExitStack() as stack:
            for file, _, _ in self._open.values():
                stack.enter_context(file)
        self._open.clear()

    def similarities(self, left: Ids, right: Ids) -> NDArray[np.float64]:
        """Return the Jaccard similarity of each pair of sets, given by their slots."""
        if not len(left):
            return np.empty(0)
        slots, places = np.unique(np.concatenate([left, right]), return_inverse=True)
        sizes = self._sizes(slots)
        first, second = places[: len(left)], places[len(left) :]
        common = np.empty(len(left), np.int64)
        total = sizes[first] + sizes[second]
        steps = np.cumsum(np.maximum(total, _LEAST)) // _AT_ONCE
        bounds = np.flatnonzero(np.diff(steps)) + 1
        for start, end in zip([0, *bounds], [*bounds, len(left)], strict=True):
            common[start:end] = self._common(slots, sizes, first[start:end], second[start:end])
        return np.asarray(common / np.maximum(total - common, 1))

    def _common(self, slots: Ids, sizes: Ids, left: Ids, right: Ids) -> Ids:
        """Count the shingles that the two sets of each pair share."""
        sets = self._sets(slots, np.unique(np.concatenate([left, right])))
        positions = np.arange(len(left), dtype=np.uint64) << HASH_BITS
        keys = np.concatenate(
            [_flat(sets, side) | np.repeat(positions, sizes[side]) for side in (left, right)]
        )
        keys.sort()
        twice = keys[1:][keys[1:] == keys[:-1]] >> HASH_BITS
        return np.bincount(twice.astype(np.int64), minlength=len(left))

    def _sizes(self, slots: Ids) -> Ids:
        sizes = np.empty(len(slots), np.int64)
        for number, start, end in self._files(slots):
            _, _, file_sizes = self._file(number)
            sizes[start:end] = file_sizes[slots[start:end] - self._portions.offsets[number]]
        return sizes

    def _sets(self, slots: Ids, chosen: Ids) -> dict[int, bytes]:
        """Read the sets of some slots, by their places in `slots`."""
        sets: dict[int, bytes] = {}
        chosen_slots = slots[chosen]
        for number, start, end in self._files(chosen_slots):
            file, starts, sizes = self._file(number)
            rows = chosen_slots[start:end] - self._portions.offsets[number]
            bounds = ((starts[rows] * _WIDTH).tolist(), (sizes[rows] * _WIDTH).tolist())
            for text, first, size in zip(chosen[start:end].tolist(), *bounds, strict=True):
                sets[text] = file.read(first, size)
        return sets

    def _files(self, slots: Ids) -> list[tuple[int, int, int]]:
        """Return each file that sorted slots are in, with the first of them and the last."""
        file = np.searchsorted(self._portions.offsets, slots, side="right") - 1
        first = np.flatnonzero(np.diff(file, prepend=-1))
        ends = np.append(first[1:], len(slots))
        return list(zip(file[first].tolist(), first.tolist(), ends.tolist(), strict=True))

    def _file(self, number: int) -> tuple[SketchFile, Ids, Ids]:
        if number not in self._open:
            if len(self._open) >= _OPEN:
                _, (oldest, _, _) = self._open.popitem(last=False)
                oldest.__exit__()
            file = SketchFile(self._portions.paths[number])
            sizes: Ids = file.column("sizes")
            self._open[number] = file, np.cumsum(sizes) - sizes, sizes
        self._open.move_to_end(number)
        return self._open[number]


def _flat(sets: dict[int, bytes], places: Ids) -> Hashes:
    """Return sets one after the other."""
    return np.frombuffer(b"".join(map(sets.__getitem__, places.tolist())), np.uint64)


_REPO = pa.dictionary(pa.int32(), pa.string())
_NAMES = pa.schema(
    [
        ("repo", _REPO),
        ("number", pa.int64()),
        ("created_at", pa.timestamp("us", tz="UTC")),
        ("row", pa.int64()),
    ]
)
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True, eq=False)
class Names:
    """Rows by age, then by (repo, number)."""

    repo: pa.DictionaryArray
    number: Ids
    slots: Ids
    """The slot of each row's text, `NO_TEXT` for an empty one."""

    def repos(self, rows: Ids) -> pa.Array:
        """Return the repositories of some rows."""
        return self.repo.take(pa.array(rows)).cast(pa.string())


def names_of(batch: pa.Table | pa.RecordBatch, rows: Ids) -> pa.Table:
    """Return the names of a batch's texts, each with its row in the file of sketches."""
    if "created_at" in batch.schema.names:
        created = batch["created_at"]
    else:
        created = pa.nulls(len(batch), pa.null())
    columns = [batch["repo"], batch["number"], created, pa.array(rows)]
    return pa.table(columns, _NAMES.names).cast(_NAMES)


def joined_names(tables: Sequence[pa.Table]) -> pa.Table:
    """Return the names of several batches or portions as one table."""
    joined = pa.concat_tables([_NAMES.empty_table(), *tables])
    return joined.unify_dictionaries().combine_chunks()


def sort_names(portions: Portions, tables: Sequence[pa.Table]) -> Names:
    """Return the names of all texts, of a table each portion.

    Raises `UsageError` where a (repo, number) comes twice.
    """
    slots = [np.empty(0, np.int64)]
    for table, offset in zip(tables, portions.offsets.tolist(), strict=False):
        row = table["row"].to_numpy()
        slots.append(np.where(row == NO_TEXT, NO_TEXT, row + offset))
    names = joined_names(tables)
    repo = names["repo"].combine_chunks()
    number = names["number"].to_numpy()
    rank = _ranks(repo)
    _check(repo, rank, number)
    created = names["created_at"].cast(pa.int64()).fill_null(_NEVER).to_numpy()
    order = np.lexsort((number, rank, created))
    return Names(repo.take(pa.array(order)), number[order], np.concatenate(slots)[order])


def _ranks(repo: pa.DictionaryArray) -> Ids:
    values = np.array(repo.dictionary.to_pylist(), object)
    rank = np.empty(len(values), np.int64)
    rank[np.argsort(values)] = np.arange(len(values))
    return np.asarray(rank[repo.indices.to_numpy()])


def _check(repo: pa.DictionaryArray, rank: Ids, number: Ids) -> None:
    order = np.lexsort((number, rank))
    same = (np.diff(rank[order]) == 0) & (np.diff(number[order]) == 0)
    if same.any():
        twice = int(order[np.flatnonzero(same)[0]])
        raise UsageError(
            f"{repo[twice].as_py()}#{number[twice]} comes twice among the texts",
            "Give each text once",
        )


@dataclass(frozen=True, slots=True, eq=False)
class Numbering:
    """The texts of rows that are sorted by age; equal texts share a number."""

    text: Ids
    """The number of each row's text, `NO_TEXT` where it says nothing."""
    slot: Ids
    """The slot of each text."""

    def of_slots(self, count: int) -> Ids:
        """Return the number of the text in each of `count` slots, -1 for what is not compared."""
        numbers = np.full(count, NO_TEXT)
        numbers[self.slot] = np.arange(len(self.slot))
        return numbers


def number_texts(portions: Portions, slots: Ids) -> Numbering:
    """Return numbers for rows, whose slots come in the order of age, `NO_TEXT` for none."""
    rows = np.flatnonzero(slots != NO_TEXT)
    equal = _equal(portions.paths)
    _, first, inverse = np.unique(equal[slots[rows]], return_index=True, return_inverse=True)
    by_age = np.argsort(first)
    rank = np.empty(len(first), np.int64)
    rank[by_age] = np.arange(len(first))
    text = np.full(len(slots), NO_TEXT)
    text[rows] = rank[inverse]
    return Numbering(text, slots[rows[first[by_age]]])


def _equal(paths: Sequence[Path]) -> Ids:
    """Return a number for each slot that slots of equal texts share."""
    parts = [np.empty((0, 2), np.uint64)]
    for path in paths:
        with SketchFile(path) as file:
            parts.append(file.column("digests"))
    digests = np.concatenate(parts)
    order = np.lexsort((digests[:, 1], digests[:, 0]))
    digests = digests[order]
    new = np.any(digests[1:] != digests[:-1], axis=1)
    equal = np.empty(len(order), np.int64)
    equal[order] = np.concatenate([np.zeros(min(1, len(order)), np.int64), np.cumsum(new)])
    return equal
