"""Finds exact and near duplicates among the texts of many repositories."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from goldpan.core.errors import UsageError
from goldpan.core.schemas import DUPLICATES
from goldpan.filters.duplicates.index import NO_TEXT, TextIndex
from goldpan.filters.duplicates.link import Links, link
from goldpan.filters.duplicates.settings import DuplicateSettings
from goldpan.filters.duplicates.shingles import Ids, ShingleFile

_NAMES = pa.schema(
    [
        ("repo", pa.string()),
        ("number", pa.int64()),
        ("created_at", pa.timestamp("us", tz="UTC")),
    ]
)


def find_duplicates(
    batches: Iterable[pa.Table | pa.RecordBatch],
    settings: DuplicateSettings,
    *,
    scratch: Path | None = None,
    workers: int = 1,
) -> pa.Table:
    """Return `DUPLICATES`: one row for each text that has a duplicate, exact or near.

    Batches have the columns `repo`, `number`, `text` and, if wanted, `created_at`. The
    representative of a cluster is its earliest text, then the lowest (repo, number). The result
    depends neither on the order of the rows nor on how they are cut into batches. Texts are not
    kept: memory follows their number (about 1 KB each), and their shingles go to a temporary
    file in `scratch`. Raises `UsageError` where a (repo, number) comes twice.
    """
    with tempfile.TemporaryFile(dir=scratch) as file:
        shingles = ShingleFile(file, scratch)
        index = TextIndex(settings, shingles, workers)
        rows = _read(batches, index)
        bands = index.finish()
        text = rows["text"].to_numpy()
        first, _ = _two_rows(text, len(bands))
        links = link(shingles, bands, np.argsort(first), settings)
    return _table(rows, text, links, settings)


def group_ids(duplicates: pa.Table, subjects: Iterable[tuple[str, int]]) -> list[str]:
    """Return each subject's cluster, or its own name where it has no duplicate.

    Subjects are (repo, number). Rows of one group must not be split apart.
    """
    columns = (duplicates[name].to_pylist() for name in ("repo", "number", "cluster"))
    clusters = {(repo, number): cluster for repo, number, cluster in zip(*columns, strict=True)}
    return [clusters.get((repo, number)) or f"{repo}#{number}" for repo, number in subjects]


def _read(batches: Iterable[pa.Table | pa.RecordBatch], index: TextIndex) -> pa.Table:
    """Put all texts into the index; return the rows, representatives first, `text` numbered."""
    names: list[pa.Table] = [_NAMES.empty_table()]
    numbers = index.read(_texts(batches, names))
    rows = pa.concat_tables(names).append_column("text", pa.array(numbers))
    counted = rows.group_by(["repo", "number"]).aggregate([([], "count_all")])
    if len(counted) < len(rows):
        twice = counted.filter(pc.greater(counted["count_all"], 1))
        twice = twice.sort_by([("repo", "ascending"), ("number", "ascending")])
        raise UsageError(
            f"{twice['repo'][0]}#{twice['number'][0]} comes twice among the texts",
            "Give each text once",
        )
    return rows.sort_by([(name, "ascending") for name in ("created_at", "repo", "number")])


def _texts(
    batches: Iterable[pa.Table | pa.RecordBatch], names: list[pa.Table]
) -> Iterator[list[str | None]]:
    """Yield the texts of each batch; what names them is put aside in `names`."""
    for batch in batches:
        if "created_at" in batch.schema.names:
            created = batch["created_at"]
        else:
            created = pa.nulls(len(batch), pa.null())
        columns = [batch["repo"], batch["number"], created]
        names.append(pa.table(columns, _NAMES.names).cast(_NAMES))
        yield batch["text"].to_pylist()


def _two_rows(text: Ids, count: int) -> tuple[Ids, Ids]:
    """Return the first and the second row of each text; the first again where there is one."""
    rows = np.flatnonzero(text != NO_TEXT)
    rows = rows[np.argsort(text[rows], kind="stable")]
    first = np.searchsorted(text[rows], np.arange(count))
    more = np.append(np.diff(first), len(rows) - first[-1:]) > 1
    return rows[first], rows[first + more]


def _table(rows: pa.Table, text: Ids, links: Links, settings: DuplicateSettings) -> pa.Table:
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
    repo, number = rows["repo"], rows["number"]
    names = pc.binary_join_element_wise(repo, number.cast(pa.string()), "#")
    columns = [
        repo.take(at),
        number.take(at),
        names.take(representative),
        repo.take(representative),
        number.take(representative),
        pa.array(relation.tolist(), pa.string()),
        pa.array(links.similarity[mine]),
        repo.take(nearest),
        number.take(nearest),
        pa.array(np.where(twin, 1.0, links.nearest_similarity[mine])),
        pa.array(size[root]),
        pa.repeat(pa.scalar(settings.digest(), pa.string()), len(at)),
    ]
    table = pa.table(columns, DUPLICATES.schema.names).cast(DUPLICATES.schema)
    return table.sort_by([(name, "ascending") for name in DUPLICATES.order]).combine_chunks()
