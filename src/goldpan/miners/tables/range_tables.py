"""The tables of a repository, merged by DuckDB one range of entry numbers after the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa

from goldpan.core.schemas import (
    COMMENTS,
    COMMITS,
    EDITS,
    ENTRIES,
    EVENTS,
    LEDGER,
    REFERENCES,
    TableSchema,
)
from goldpan.core.schemas.table import TEXT
from goldpan.core.storage.parquet import connect_alone
from goldpan.miners.facts import Facts
from goldpan.miners.journal_state import RELATIONS, Open
from goldpan.miners.tables.chunks import bounds_of, read_range
from goldpan.miners.tables.current_records import CurrentRecords, joined
from goldpan.miners.tables.ledger import PARTS
from goldpan.miners.tables.merge_queries import LISTED, LOSSES, QUERIES, SHARED, STRANGE
from goldpan.miners.tables.rows import NOBODY

_MEMORY = "512MB"
"""DuckDB's own; rows beyond it go to disk."""
_TROUBLES = pa.schema([("number", pa.int64()), ("part", TEXT), ("state", TEXT), ("reason", TEXT)])


_TEXTS = {
    ENTRIES: ("entry", "body"),
    COMMENTS: ("comments", "body"),
    COMMITS: ("commits", "message"),
    EDITS: ("edits", "text"),
}
"""Long texts by table, with their facet: no question needs them, so DuckDB need not copy them."""


def _sequences(sequences: Mapping[int, int]) -> pa.Table:
    """Return records by entry, sorted, so that a range of entries is read alone."""
    numbers = np.fromiter(sequences, np.int64, len(sequences))
    records = np.fromiter(sequences.values(), np.int64, len(sequences))
    order = np.argsort(numbers)
    return pa.table({"number": numbers[order], "sequence": records[order]})


class RangeTables:
    """Merges one range of entry numbers after the other; a context manager."""

    def __init__(self, scratch: Path, facts: Facts, live: CurrentRecords) -> None:
        self._scratch = scratch
        self._repo = facts.repo
        self._listing = live.listing
        self._connection = connection = connect_alone()
        connection.execute(f"SET memory_limit = '{_MEMORY}'")
        connection.execute("SET temp_directory = $1", [str(scratch)])
        connection.execute("CREATE TABLE listed (part VARCHAR, rows BIGINT)")
        connection.execute("CREATE TABLE strange (name VARCHAR, number BIGINT)")
        old, now = [name.lower() for name in facts.former], list(facts.former.values())
        self._keep("former", pa.table({"name": pa.array(old, TEXT), "now": pa.array(now, TEXT)}))
        self._keep("gone", pa.table({"number": pa.array(sorted(live.deleted), pa.int64())}))
        self._keep("whole", _sequences(live.whole))
        self._keep("runs", pa.table({"begun": pa.array(live.runs, pa.int64())}))
        walked = [
            _sequences(sequences).append_column("part", pa.repeat(part, len(sequences)))
            for part, sequences in {**live.walked, "entry": live.entry}.items()
        ]
        self._keep("walked", pa.concat_tables(walked).sort_by("number"))
        self._keep("parts", PARTS)
        self.of_lists: dict[tuple[int | None, str], Open] = {}
        """What could not be read of the repository's own lists."""

    def tables(
        self, index: int, pending: Mapping[tuple[int | None, str], Open]
    ) -> Iterator[tuple[TableSchema, pa.Table]]:
        """Yield the rows of each table of a range; `pending` is what its entries lack."""
        connection = self._connection
        facets = read_range(self._scratch, index)
        texts = {table: facets[facet][column] for table, (facet, column) in _TEXTS.items()}
        for name, rows in facets.items():
            hidden = [column for facet, column in _TEXTS.values() if facet == name]
            connection.register(f"raw_{name}", rows.drop_columns(hidden))
        for name, query in SHARED.items():
            parameters = bounds_of(index) if name == "floor" else {}
            connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {query}", parameters)
        troubles = {**self._losses(), **pending}
        self.of_lists |= {key: trouble for key, trouble in troubles.items() if key[0] is None}
        rows = [
            {"number": number, "part": part, "state": trouble.state, "reason": trouble.reason}
            for (number, part), trouble in troubles.items()
            if number is not None
        ]
        self._keep("troubles", pa.Table.from_pylist(rows, _TROUBLES))
        for table, query in QUERIES.items():
            own = {"repo": self._repo} if table is REFERENCES else {}
            result = connection.sql(query, params=own).to_arrow_table()
            if table in (LEDGER, EVENTS):
                connection.register(table.name, result)
            if table in texts:
                column = texts[table].cast(pa.large_string()).take(result["_at"])
                result = result.append_column(_TEXTS[table][1], column)
            yield table, result
        connection.execute(LISTED)
        connection.execute(STRANGE)

    def listed(self) -> dict[str, int]:
        """Return how many rows the repository's lists have; `unstored` of entries that lack."""
        rows = self._connection.execute("SELECT part, sum(rows) FROM listed GROUP BY part")
        return {part: int(count) for part, count in rows.fetchall()}

    def strange(self) -> pa.Table:
        """Return the events that nobody documents, sorted."""
        return self._connection.sql(
            "SELECT name, count(*) AS count, min(number) AS number FROM strange "
            "GROUP BY name ORDER BY name"
        ).to_arrow_table()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def _keep(self, name: str, rows: pa.Table) -> None:
        """Make a table of rows."""
        self._connection.register("_rows", rows)
        self._connection.execute(f"CREATE OR REPLACE TABLE {name} AS FROM _rows")
        self._connection.unregister("_rows")

    def _losses(self) -> dict[tuple[int | None, str], Open]:
        """Return the losses in records that count, by entry and part."""
        reasons: dict[tuple[int | None, str], list[str]] = defaultdict(list)
        losses = self._connection.execute(LOSSES, {"listing": self._listing}).fetchall()
        for number, part, reason in losses:
            shown = "relations" if part in RELATIONS else part
            if number == NOBODY:
                shown = "issues" if part == "entry" else shown
            reasons[number or None, shown].append(reason)
        return {key: Open("failed", joined(of_key)) for key, of_key in reasons.items()}
