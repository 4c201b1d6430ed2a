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


_NAMES = pa.schema(
    [("repo", pa.string()), ("number", pa.int64()), ("created_at", pa.timestamp("us", tz="UTC"))]
)


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
    tables = [_NAMES.empty_table(), *(portion.names for portion in portions)]
    names = pa.concat_tables(tables).append_column("place", pa.array(sketched.which))
    portions.clear()
    names = _by_age(names)
    texts, text = Texts.numbered(sketched, names["place"].to_numpy())
    return _table(names, text, link(texts, settings), settings)


def _sketch(settings: DuplicateSettings, source: Source) -> _Portion:
    tables = [_NAMES.empty_table()]

    def texts() -> Iterable[list[str | None]]:
        for batch in source():
            tables.append(_names_of(batch))
            yield batch["text"].to_pylist()

    sketched = sketch_all(texts(), settings)
    return _Portion(sketched, pa.concat_tables(tables))


def _names_of(batch: pa.Table | pa.RecordBatch) -> pa.Table:
    has_time = "created_at" in batch.schema.names
    created = batch["created_at"] if has_time else pa.nulls(len(batch))
    return pa.table([batch["repo"], batch["number"], created], _NAMES.names).cast(_NAMES)


def _by_age(names: pa.Table) -> pa.Table:
    """Return rows by age, then by name; raises `UsageError` where a name comes twice."""
    counts = names.group_by(["repo", "number"]).aggregate([([], "count_all")])
    for twice in counts.filter(pc.greater(counts["count_all"], 1)).slice(0, 1).to_pylist():
        raise UsageError(
            f"{twice['repo']}#{twice['number']} comes twice among the texts", "Give each text once"
        )
    keys = [(name, "ascending") for name in ("created_at", "repo", "number")]
    return names.sort_by(keys).combine_chunks()


def _two_rows(text: Ids, count: int) -> tuple[Ids, Ids]:
    """Return the first and the second row of each text; the first again where there is one."""
    rows = np.flatnonzero(text != NO_TEXT)
    rows = rows[np.argsort(text[rows], kind="stable")]
    first = np.searchsorted(text[rows], np.arange(count))
    more = np.append(np.diff(first), len(rows) - first[-1:]) > 1
    return rows[first], rows[first + more]


def _table(names: pa.Table, text: Ids, links: Links, settings: DuplicateSettings) -> pa.Table:
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
    here, represented, near = (
        names.select(["repo", "number"]).take(pa.array(rows)).columns
        for rows in (at, representative, nearest)
    )
    columns = [
        *here,
        pc.binary_join_element_wise(represented[0], represented[1].cast(pa.string()), "#"),
        *represented,
        pa.array(relation.tolist(), pa.string()),
        pa.array(links.similarity[mine]),
        *near,
        pa.array(np.where(twin, 1.0, links.nearest_similarity[mine])),
        pa.array(size[root]),
        pa.repeat(pa.scalar(settings.digest(), pa.string()), len(at)),
    ]
    table = pa.table(columns, DUPLICATES.schema.names).cast(DUPLICATES.schema)
    return DUPLICATES.ordered(table).combine_chunks()
