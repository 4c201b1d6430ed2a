"""Chooses among the candidates of all units: repeated closings, near duplicates, balance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa

from goldpan.core.engine import Engine
from goldpan.core.parquet import read_table
from goldpan.core.query import connect_alone
from goldpan.core.sealed import verify_parquet
from goldpan.papers.nlbse.issues.balance import Balance
from goldpan.papers.nlbse.issues.candidates import Search
from goldpan.papers.nlbse.issues.closings import Unit
from goldpan.papers.nlbse.issues.near_duplicates import KeptSketches, group_rows

EXPLAINED = {
    "repeated-event": "the archive holds the event twice",
    "repeated-closing": "the issue was closed again later",
    "near-duplicate": "an earlier issue says nearly the same",
    "balance": "its project gives enough rows, or too few of a label",
}
"""Why a candidate gives no row, in the order in which it is asked."""

_SETTINGS = "SET memory_limit = '512MB'"
_KEYS = """
CREATE TABLE keys AS
SELECT unit, place, id, event, label, created_at, closed_at, lower(repo) AS project,
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
_CHOSEN = """
SELECT unit, place, near, row_number() OVER (ORDER BY id) - 1 AS rank
FROM keys ORDER BY unit, place
"""
_RICH = """
WHERE project IN (
    SELECT project FROM (SELECT project, label, count(*) AS rows FROM keys GROUP BY ALL)
    WHERE rows >= $most GROUP BY project HAVING count(*) = $classes
)
"""
_DRAWN = "QUALIFY row_number() OVER (PARTITION BY {} ORDER BY md5($seed || id), id) <= $most"


@dataclass(frozen=True, slots=True)
class Chosen:
    """The candidates that become rows."""

    rows: pa.Table
    """`unit` (its number), `place`, `near` (the id of the row that stands for a group of near
    duplicates, or null) and `rank` by id, sorted by unit and place."""
    dropped: Mapping[str, int]
    """By reason."""
    projects: Mapping[str, int]
    """How many rows each has, by its name in lower case, sorted."""
    labels: Mapping[str, int]


def choose(
    search: Search,
    units: Sequence[Unit],
    balance: Balance,
    seed: int,
    scratch: Path,
    engine: Engine,
) -> Chosen:
    """Choose among the candidates of all units, which lie in files; texts are not looked at.

    Memory follows their number, about 1 KB each.
    """
    profile = search.profile
    keys = _Keys(scratch, [str(verify_parquet(search.candidates(unit))) for unit in units])
    with keys:
        keys.keep("repeated-event", _NEW)
        if profile.repeated_closings == "last":
            keys.keep("repeated-closing", _LAST)
        if profile.near_duplicates != "keep":
            keys.group(search, units, engine)
        if profile.near_duplicates == "first":
            keys.keep("near-duplicate", _FIRST)
        if balance.kind != "none":
            values = {"most": balance.most, "seed": f"{seed}:"}
            if balance.kind == "project-label":
                rich = {"most": balance.most, "classes": len(profile.labels)}
                keys.keep("balance", _RICH, **rich)
                keys.keep("balance", _DRAWN.format("project, label"), **values)
            else:
                keys.keep("balance", _DRAWN.format("project"), **values)
        return Chosen(
            keys.table(_CHOSEN),
            dict(keys.dropped),
            keys.counts("project"),
            keys.counts("label"),
        )


class _Keys:
    """The table `keys` of what is known of the candidates beside their texts."""

    def __init__(self, scratch: Path, paths: list[str]) -> None:
        self.dropped: Counter[str] = Counter()
        self._scratch = scratch
        self._connection = connect_alone()
        self._connection.execute(_SETTINGS)
        self._connection.execute("SET temp_directory = $1", [str(scratch)])
        self._connection.execute(_KEYS, {"paths": paths})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def table(self, query: str) -> pa.Table:
        return self._connection.sql(query).to_arrow_table()

    def counts(self, column: str) -> dict[str, int]:
        query = f"SELECT {column}, count(*) FROM keys GROUP BY 1 ORDER BY 1"  # noqa: S608
        return dict(self._connection.execute(query).fetchall())

    def keep(self, reason: str, clause: str, **values: object) -> None:
        """Keep the rows that a clause lets through, and count the others."""
        before = self._count()
        query = f"CREATE OR REPLACE TABLE keys AS SELECT * FROM keys {clause}"  # noqa: S608
        self._connection.execute(query, values or None)
        if lost := before - self._count():
            self.dropped[reason] += lost

    def group(self, search: Search, units: Sequence[Unit], engine: Engine) -> None:
        """Give the rows of a group of near duplicates the id of its earliest one."""
        rows = self.table(_AGES)
        if not len(rows):
            return
        row_numbers = rows["place"].to_numpy()
        bounds = np.searchsorted(rows["unit"].to_numpy(), np.arange(len(units) + 1))
        sketches = []
        for unit in units:
            unit_rows = row_numbers[bounds[unit.number] : bounds[unit.number + 1]]
            whole = read_table(search.candidates(unit), ["place"])["place"].to_numpy()
            sketches.append(KeptSketches(search.sketches(unit), np.searchsorted(whole, unit_rows)))
        stands = group_rows(sketches, rows["age"].to_numpy(), self._scratch, engine)
        alone = np.bincount(stands, minlength=len(stands))[stands] == 1
        near = rows["id"].combine_chunks().take(pa.array(stands, mask=alone))
        positions = rows.select(["unit", "place"]).append_column("near", near)
        self._connection.register("found", positions)
        self._connection.execute(_NEAR)
        self._connection.unregister("found")

    def _count(self) -> int:
        return int(self._connection.execute("SELECT count(*) FROM keys").fetchall()[0][0])
