"""Chooses among the candidates of all units: repeated closings, near duplicates, balance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from goldpan.papers.nlbse.issues.closings import Search, SourceUnit, given_text
from goldpan.papers.nlbse.issues.profile import Balance
from goldpan.plugins import data
from goldpan.plugins.data import Engine, connect_alone, named, read_table, verify_parquet

EXPLAINED = {
    "repeated-event": "the archive holds the event twice",
    "repeated-closing": "the issue was closed again later",
    "near-duplicate": "an earlier issue says nearly the same",
    "balance": "its project gives enough rows, or too few of a label",
}
"""Why a candidate gives no row, in the order in which it is asked."""

_BATCH = 1_000
_KEYS = """
CREATE TABLE keys AS
SELECT unit, place, id, event, label, created_at, closed_at, redacted, lower(repo) AS project,
       coalesce(issue_id::VARCHAR, lower(repo) || '#' || number) AS issue, NULL::VARCHAR AS near
FROM read_parquet($paths)
"""
_NEW = "QUALIFY row_number() OVER (PARTITION BY coalesce(event, id) ORDER BY unit, place) = 1"
_LAST = (
    "QUALIFY row_number() OVER "
    "(PARTITION BY issue ORDER BY closed_at DESC, unit DESC, place DESC) = 1"
)
_FIRST = "WHERE near IS NULL OR near = id"
_AGES = """
SELECT unit, place, id, row_number() OVER (ORDER BY created_at NULLS LAST, closed_at, id) AS age
FROM keys ORDER BY unit, place
"""
_NEAR = """
CREATE OR REPLACE TABLE keys AS
SELECT keys.* REPLACE (found.near AS near) FROM keys JOIN found USING (unit, place)
"""
_RICH = """
WHERE project IN (
    SELECT project FROM (SELECT project, label, count(*) AS rows FROM keys GROUP BY ALL)
    WHERE rows >= $most GROUP BY project HAVING count(*) = $classes
)
"""
_DRAWN = "QUALIFY row_number() OVER (PARTITION BY {} ORDER BY md5($seed || id), id) <= $most"
_ROWS = """
SELECT candidates.*, near FROM read_parquet($paths) AS candidates
JOIN (SELECT unit, place, near FROM keys) USING (unit, place) ORDER BY id
"""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The candidates that become rows."""

    path: Path
    """The file of them, sorted by id."""
    dropped: Mapping[str, int]
    """Candidates that give no row, by reason."""
    projects: Mapping[str, int]
    """How many rows each has, by its name in lower case, sorted."""
    labels: Mapping[str, int]
    redacted: Mapping[str, int]
    """Redactions by kind."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the candidates by id, a batch in memory.

        `near` is the id of the row that stands for a group of near duplicates, or null.
        """
        with pq.ParquetFile(self.path) as file:
            yield from file.iter_batches(_BATCH)


def choose(
    search: Search, units: Sequence[SourceUnit], balance: Balance, seed: int, engine: Engine
) -> Chosen:
    """Choose among the candidates of all units, which lie in files.

    Memory follows their number, about 1 KB each, not their texts, which DuckDB sorts on disk.
    """
    profile, dropped = search.profile, Counter[str]()
    paths = [str(verify_parquet(search.candidates(unit))) for unit in units]
    with connect_alone() as connection:

        def keep(reason: str, clause: str, **values: object) -> None:
            before = _count(connection)
            query = f"CREATE OR REPLACE TABLE keys AS SELECT * FROM keys {clause}"  # noqa: S608
            connection.execute(query, values or None)
            if lost := before - _count(connection):
                dropped[reason] += lost

        connection.execute("SET memory_limit = '512MB'")
        connection.execute("SET preserve_insertion_order = false")
        connection.execute("SET temp_directory = $1", [str(search.directory)])
        connection.execute(_KEYS, {"paths": paths})
        keep("repeated-event", _NEW)
        if profile.repeated_closings == "last":
            keep("repeated-closing", _LAST)
        if profile.near_duplicates != "keep":
            _mark_near(connection, search, units, engine)
        if profile.near_duplicates == "first":
            keep("near-duplicate", _FIRST)
        if balance.kind != "none":
            if balance.kind == "project-label":
                keep("balance", _RICH, most=balance.most, classes=len(profile.labels))
            groups = balance.kind.replace("-", ", ")
            keep("balance", _DRAWN.format(groups), most=balance.most, seed=f"{seed}:")
        counts = (_counts(connection, of) for of in ("project", "label", "unnest(redacted)"))
        path = search.directory / "chosen.parquet"
        with named(path):
            target = str(path).replace("'", "''")
            connection.execute(f"COPY ({_ROWS}) TO '{target}' (FORMAT parquet)", {"paths": paths})
        return Chosen(path, dict(dropped), *counts)


def _count(connection: duckdb.DuckDBPyConnection) -> int:
    return int(connection.execute("SELECT count(*) FROM keys").fetchall()[0][0])


def _counts(connection: duckdb.DuckDBPyConnection, column: str) -> dict[str, int]:
    values = f"SELECT {column} AS value FROM keys"  # noqa: S608
    query = f"SELECT value, count(*) FROM ({values}) GROUP BY 1 ORDER BY 1"  # noqa: S608
    return dict(connection.execute(query).fetchall())


def _mark_near(
    connection: duckdb.DuckDBPyConnection,
    search: Search,
    units: Sequence[SourceUnit],
    engine: Engine,
) -> None:
    """Give the rows of a group of near duplicates the id of its earliest one."""
    rows = connection.sql(_AGES).to_arrow_table()
    if not len(rows):
        return
    bounds = np.searchsorted(rows["unit"].to_numpy(), np.arange(len(units) + 1))
    kept = [
        KeptRows(unit, rows["place"].slice(start, end - start))
        for unit, (start, end) in zip(units, pairwise(bounds.tolist()), strict=True)
    ]
    sketched = list(engine.map(partial(sketch_rows, search), kept))
    stands = group_rows(sketched, rows["age"].to_numpy())
    alone = np.bincount(stands, minlength=len(stands))[stands] == 1
    near = rows["id"].combine_chunks().take(pa.array(stands, mask=alone))
    connection.register("found", rows.select(["unit", "place"]).append_column("near", near))
    connection.execute(_NEAR)
    connection.unregister("found")


@dataclass(frozen=True, slots=True, eq=False)
class KeptRows:
    """A unit, and the places of its rows that are still wanted."""

    unit: SourceUnit
    places: pa.ChunkedArray

    def __str__(self) -> str:
        return str(self.unit)


def sketch_rows(search: Search, kept: KeptRows) -> data.Sketches:
    """Return the sketches of the rows of a unit that are still wanted, in order."""
    rows = read_table(search.candidates(kept.unit), ["place", "title", "body"])
    rows = rows.filter(pc.is_in(rows["place"], value_set=kept.places.combine_chunks()))
    texts = given_text(rows).to_pylist()
    return data.sketch_all([texts], data.DuplicateSettings())


def group_rows(sketched: Sequence[data.Sketches], ages: data.Ids) -> data.Ids:
    """Return for each row of all units the row that stands for its group of near duplicates.

    `ages` ranks the rows, in the order of the units: the lowest of a group stands for it. A row
    without near duplicates stands for itself. Memory follows the number of texts, about
    2.4 KB each.
    """
    order = np.argsort(ages, kind="stable")
    return data.group(sketched, order, data.DuplicateSettings()).root
