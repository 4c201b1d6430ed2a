"""Finds exact and near duplicates among the texts of many repositories.

All sketches are in memory: 1,000,000 texts of 126 words on average take 2.4 GB.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from goldpan.core.errors import UsageError
from goldpan.core.parallel.engine import Engine, open_engine
from goldpan.core.schemas import DUPLICATES
from goldpan.core.values import ONE_PROCESS
from goldpan.filters.duplicates.near import Links, Texts, link
from goldpan.filters.duplicates.settings import DuplicateSettings
from goldpan.filters.duplicates.sketches import NO_TEXT, Ids, Sketches, joined, sketch_all

Source = Callable[[], Iterable[pa.Table | pa.RecordBatch]]
"""Reads some of the texts: batches with the columns `repo`, `number`, `text` and, if wanted,
`created_at`. It can be pickled, and `str` says what it reads."""


@dataclass(frozen=True, slots=True, eq=False)
class _Portion:
    """The sketches of a source's texts, and their names."""

    sketched: Sketches
    names: pa.Table


def find_duplicates(
    sources: Sequence[Source],
    settings: DuplicateSettings,
    *,
    engine: Engine | None = None,
    on_source: Callable[[], None] = lambda: None,
) -> pa.Table:
    """Return `DUPLICATES`: one row for each text that has a duplicate, exact or near.

    The representative of a cluster is its earliest text, then the lowest (repo, number). The
    result depends neither on the engine, nor on the order of the rows, nor on how they are cut
    into sources and batches. Each source is one unit of work, of at most some 50,000 texts;
    `on_source` is called after each. Raises `UsageError` where a (repo, number) comes twice.
    """
    if engine is None:
        with open_engine(ONE_PROCESS) as alone:
            return find_duplicates(sources, settings, engine=alone, on_source=on_source)
    portions: list[_Portion] = []
    for portion in engine.map(partial(_sketch, settings), sources):
        portions.append(portion)
        on_source()
    sketched = joined([portion.sketched for portion in portions], settings)
    names = sort_names([portion.names for portion in portions], sketched.which)
    portions.clear()
    texts, text = Texts.numbered(sketched, names.place)
    return _table(names, text, link(texts, settings), settings)


def _sketch(settings: DuplicateSettings, source: Source) -> _Portion:
    tables: list[pa.Table] = []

    def texts() -> Iterable[list[str | None]]:
        for batch in source():
            tables.append(names_of(batch))
            yield batch["text"].to_pylist()

    sketched = sketch_all(texts(), settings)
    return _Portion(sketched, joined_names(tables))


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
    place: Ids
    """The place of each row's text among the sketches, `NO_TEXT` for an empty one."""

    def repos(self, rows: Ids) -> pa.Array:
        """Return the repositories of some rows."""
        return self.repo.take(pa.array(rows)).cast(pa.string())


def names_of(batch: pa.Table | pa.RecordBatch) -> pa.Table:
    """Return the names of a batch's texts."""
    if "created_at" in batch.schema.names:
        created = batch["created_at"]
    else:
        created = pa.nulls(len(batch), pa.null())
    columns = [batch["repo"], batch["number"], created]
    return pa.table(columns, _NAMES.names).cast(_NAMES)


def joined_names(tables: Sequence[pa.Table]) -> pa.Table:
    """Return the names of several batches or portions as one table."""
    joined = pa.concat_tables([_NAMES.empty_table(), *tables])
    return joined.unify_dictionaries().combine_chunks()


def sort_names(tables: Sequence[pa.Table], places: Ids) -> Names:
    """Return the names of all texts, whose places among the sketches come in the same order.

    Raises `UsageError` where a (repo, number) comes twice.
    """
    names = joined_names(tables)
    repo = names["repo"].combine_chunks()
    number = names["number"].to_numpy()
    rank = _ranks(repo)
    _check(repo, rank, number)
    created = names["created_at"].cast(pa.int64()).fill_null(_NEVER).to_numpy()
    order = np.lexsort((number, rank, created))
    return Names(repo.take(pa.array(order)), number[order], places[order])


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


def _two_rows(text: Ids, count: int) -> tuple[Ids, Ids]:
    """Return the first and the second row of each text; the first again where there is one."""
    rows = np.flatnonzero(text != NO_TEXT)
    rows = rows[np.argsort(text[rows], kind="stable")]
    first = np.searchsorted(text[rows], np.arange(count))
    more = np.append(np.diff(first), len(rows) - first[-1:]) > 1
    return rows[first], rows[first + more]


def _table(names: Names, text: Ids, links: Links, settings: DuplicateSettings) -> pa.Table:
    first, second = _two_rows(text, len(links.root))
    at = np.flatnonzero(text != NO_TEXT)
    root = links.root[text[at]]
    size = np.bincount(root, minlength=len(links.root))
    at, root = at[size[root] > 1], root[size[root] > 1]
    mine = text[at]
    # A text that stands in several rows has its own like as its nearest.
    twin = second[mine] != first[mine]
    other = np.where(first[mine] == at, second[mine], first[mine])
    nearest = np.where(twin, other, first[links.nearest[mine]])
    representative = first[root]
    same = np.where(mine == root, "exact", "near")
    relation = np.where(representative == at, "representative", same)
    repo, number = names.repos(at), pa.array(names.number[at])
    represented = names.repos(representative), pa.array(names.number[representative])
    columns = [
        repo,
        number,
        pc.binary_join_element_wise(represented[0], represented[1].cast(pa.string()), "#"),
        *represented,
        pa.array(relation.tolist(), pa.string()),
        pa.array(links.similarity[mine]),
        names.repos(nearest),
        pa.array(names.number[nearest]),
        pa.array(np.where(twin, 1.0, links.nearest_similarity[mine])),
        pa.array(size[root]),
        pa.repeat(pa.scalar(settings.digest(), pa.string()), len(at)),
    ]
    table = pa.table(columns, DUPLICATES.schema.names).cast(DUPLICATES.schema)
    return DUPLICATES.ordered(table).combine_chunks()
