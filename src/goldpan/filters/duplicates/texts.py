"""Which texts are compared, by name and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather

from goldpan.core.errors import UsageError
from goldpan.filters.duplicates.shingles import Portions
from goldpan.filters.duplicates.sketches import NO_TEXT, Ids, SketchFile, replacing

_REPO = pa.dictionary(pa.int32(), pa.string())
_NAMES = pa.schema(
    [("repo", _REPO), ("number", pa.int64()), ("created_at", pa.timestamp("us", tz="UTC"))]
)
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True, eq=False)
class Names:
    """Rows by age, then by (repo, number)."""

    repo: pa.DictionaryArray
    number: Ids
    slots: Ids
    """Where the sketch of each row's text lies, `NO_TEXT` where it says nothing."""

    def repos(self, rows: Ids) -> pa.Array:
        """Return the repositories of some rows."""
        return self.repo.take(pa.array(rows)).cast(pa.string())


def names_of(batch: pa.Table | pa.RecordBatch) -> pa.Table:
    """Return what names the texts of a batch."""
    if "created_at" in batch.schema.names:
        created = batch["created_at"]
    else:
        created = pa.nulls(len(batch), pa.null())
    return pa.table([batch["repo"], batch["number"], created], _NAMES.names).cast(_NAMES)


def write_names(sketches: Path, tables: Sequence[pa.Table]) -> None:
    """Write what names the texts of a file of sketches beside it."""
    rows = pa.concat_tables([_NAMES.empty_table(), *tables]).unify_dictionaries()
    with replacing(_path(sketches)) as path:
        feather.write_feather(rows.combine_chunks(), str(path), compression="uncompressed")


def read_names(portions: Portions) -> Names:
    """Return the names of all texts; raises `UsageError` where a (repo, number) comes twice."""
    tables, slots = [_NAMES.empty_table()], [np.empty(0, np.int64)]
    for path, offset in zip(portions.paths, portions.offsets.tolist(), strict=False):
        tables.append(feather.read_table(_path(path), memory_map=False))
        with SketchFile(path) as file:
            which = file.column("which")
        slots.append(np.where(which == NO_TEXT, NO_TEXT, which + offset))
    rows = pa.concat_tables(tables).unify_dictionaries().combine_chunks()
    del tables
    repo = rows["repo"].combine_chunks()
    number = rows["number"].to_numpy()
    rank = _ranks(repo)
    _check(repo, rank, number)
    created = rows["created_at"].cast(pa.int64()).fill_null(_NEVER).to_numpy()
    order = np.lexsort((number, rank, created))
    return Names(repo.take(pa.array(order)), number[order], np.concatenate(slots)[order])


def _path(sketches: Path) -> Path:
    return sketches.with_suffix(".names")


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
    """Where the sketch of each text lies."""

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
