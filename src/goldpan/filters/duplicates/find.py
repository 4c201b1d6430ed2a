"""Finds exact and near duplicates among the texts of many repositories."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from goldpan.core.parallel.engine import Engine, EngineError, open_engine
from goldpan.core.schemas import DUPLICATES
from goldpan.core.values import ONE_PROCESS
from goldpan.filters.duplicates.near import Links, link
from goldpan.filters.duplicates.settings import DuplicateSettings
from goldpan.filters.duplicates.sketches import NO_TEXT, Ids, sketch_file, sketches
from goldpan.filters.duplicates.texts import (
    Names,
    Portions,
    joined_names,
    names_of,
    number_texts,
    sort_names,
)

Source = Callable[[], Iterable[pa.Table | pa.RecordBatch]]
"""Reads some of the texts: batches with the columns `repo`, `number`, `text` and, if wanted,
`created_at`. It can be pickled, and `str` says what it reads."""


@dataclass(frozen=True, slots=True)
class _Portion:
    number: int
    source: Source

    def __str__(self) -> str:
        return str(self.source)


def find_duplicates(
    sources: Sequence[Source],
    settings: DuplicateSettings,
    *,
    scratch: Path | None = None,
    engine: Engine | None = None,
    on_source: Callable[[], None] = lambda: None,
) -> pa.Table:
    """Return `DUPLICATES`: one row for each text that has a duplicate, exact or near.

    The representative of a cluster is its earliest text, then the lowest (repo, number). The
    result depends neither on the engine, nor on the order of the rows, nor on how they are cut
    into sources and batches. Texts are not kept: memory follows their number (about 0.4 KB each,
    docs/reliability.md), and their sketches go to files in `scratch`, about 2.5 KB each, which all
    machines of a cluster must see. Each source is one unit of work, of at most some 50,000 texts;
    `on_source` is called after each. Raises `UsageError` where a (repo, number) comes twice.
    """
    with tempfile.TemporaryDirectory(dir=scratch) as name:
        folder = Path(name)
        if engine is not None:
            return _find(sources, settings, folder, engine, on_source)
        with open_engine(ONE_PROCESS) as alone:
            return _find(sources, settings, folder, alone, on_source)


def _find(
    sources: Sequence[Source],
    settings: DuplicateSettings,
    folder: Path,
    engine: Engine,
    on_source: Callable[[], None],
) -> pa.Table:
    units = [_Portion(number, source) for number, source in enumerate(sources)]
    counts, tables = [], []
    for count, table in engine.map(partial(_sketch, folder, settings), units):
        counts.append(count)
        tables.append(table)
        on_source()
    portions = Portions.of([_path(folder, unit) for unit in units], counts)
    for path in portions.paths:
        if not path.exists():
            raise EngineError(
                f"Files that a machine wrote to {folder} are missing",
                "Put the workspace where all machines of the cluster see the same files",
            )
    names = sort_names(portions, tables)
    del tables
    numbering = number_texts(portions, names.slots)
    links = link(portions, numbering, settings, folder, engine)
    return _table(names, numbering.text, links, settings)


def _sketch(folder: Path, settings: DuplicateSettings, unit: _Portion) -> tuple[int, pa.Table]:
    """Write the sketches of a portion; return how many texts are distinct, and their names."""
    tables = []
    with sketch_file(_path(folder, unit)) as target:
        for batch in unit.source():
            texts = batch["text"].to_pylist()
            parts = [target.append(sketched) for sketched in sketches(texts, settings)]
            rows = np.concatenate([np.empty(0, np.int64), *parts])
            tables.append(names_of(batch, rows))
    return target.count, joined_names(tables)


def _path(folder: Path, unit: _Portion) -> Path:
    return folder / f"{unit.number}.sketches"


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
