"""The tables of a repository, merged by DuckDB one range of entry numbers after the other.

Rows are superseded by floors: the record in which an entry's part was last read as a whole. Of
rows that share a key, the one that was observed last counts.
"""

# ruff: noqa: S608 - no value is part of a question, only our own names

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa

from goldpan.core.schemas.mined import (
    COMMENTS,
    COMMITS,
    DISCUSSION_COMMENTS,
    DISCUSSIONS,
    EDITS,
    ENTRIES,
    EVENTS,
    FILES,
    LEDGER,
    REFERENCES,
)
from goldpan.core.schemas.table import TEXT, TableSchema
from goldpan.core.storage.parquet import connect_alone
from goldpan.miners.journal_state import FLOORED, RELATIONS, Facts, Open
from goldpan.miners.tables.chunks import RANGE, read_range
from goldpan.miners.tables.current_records import CurrentRecords, joined
from goldpan.miners.tables.ledger import LEDGER_ROWS, PAGES, PARTS, floor_of
from goldpan.miners.tables.rows import EVIDENCE_COLUMNS, FACETS, NOBODY, STATE_COLUMNS


def _current(facet: str, part: str = "", keys: str = "") -> str:
    """Select a facet's rows that are not superseded and whose entry still exists.

    `part` is the part that supersedes them, an expression of SQL; of rows that share `keys` the
    newest is selected.
    """
    unit = FACETS[facet].unit
    query = f"SELECT r.* FROM raw_{facet} r ANTI JOIN gone ON gone.number = r.{unit}"
    if part:
        query += f"""
            LEFT JOIN floor f ON f.number = r.{unit} AND f.part = {part}
            WHERE coalesce(r._sequence >= f.sequence, true)"""
    return query + (_newest(keys) if keys else "")


def _newest(keys: str) -> str:
    return f" QUALIFY row_number() OVER (PARTITION BY {keys} ORDER BY _sequence DESC, _at DESC) = 1"


def _ordered(table: TableSchema) -> str:
    return "ORDER BY " + _quoted(table.order)


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


_IN_RANGE = "number >= $first AND number < $end"
_FLOOR = f"""
SELECT * FROM (
  SELECT number, part, max(sequence) AS sequence FROM (
    SELECT number, unnest({list(FLOORED)}) AS part, sequence FROM whole WHERE {_IN_RANGE}
    UNION ALL SELECT number, part, sequence FROM walked WHERE {_IN_RANGE}
  ) GROUP BY number, part
) f ASOF JOIN runs ON f.sequence >= runs.begun
"""
_ENTRY = f"""
SELECT r.* FROM raw_entry r ANTI JOIN gone USING (number)
LEFT JOIN floor f ON f.number = r.number AND f.part = 'entry'
WHERE coalesce(r._sequence <= f.sequence, true) {_newest("r.number")}
"""
# Lists of issues tell the state of a pull request where theirs is the copy that counts.
_HALF = f"""
SELECT h.* FROM ({_current("half", keys="number")}) h
LEFT JOIN floor f ON f.number = h.number AND f.part = 'entry'
WHERE coalesce(h._sequence = f.sequence, false) OR h.number NOT IN (SELECT number FROM pull)
"""
_COMMENT_FLOOR = "if(r.kind = 'review_comment', 'review_comments', 'timeline')"
_SHARED = {
    "floor": _FLOOR,
    "entries": _ENTRY,
    "page": PAGES.format(pages=_current("pages")),
    "pull": _current("pull", keys="number"),
    "half": _HALF,
    "comments": _current("comments", _COMMENT_FLOOR, "r.number, kind, comment_id"),
    "commits": _current("commits", "'timeline'", "r.number, sha"),
    "files": _current("files", "'files'", "r.number, path"),
    "envelopes": _current("envelopes", "'timeline'"),
}
"""What several tables are made of, in the order of their making."""

_STATE = ", ".join(f"if(h.number IS NULL, p.{name}, h.{name}) AS {name}" for name in STATE_COLUMNS)
# Totals that no reply held come from the files, where those are all there; a backup tells none.
_TOTALS = ", ".join(
    f"coalesce(t.{name}, if(c.number IS NULL, NULL, coalesce(s.{name}, 0))) AS {name}"
    for name in ("additions", "deletions", "changed_files")
)
_ENTRIES = f"""
SELECT e.*, p.* EXCLUDE (number, _sequence, _at, {", ".join(STATE_COLUMNS)}), {_STATE}, {_TOTALS},
       coalesce(l.announced, i.received) AS timeline_items, coalesce(people, []) AS participants
FROM entries e LEFT JOIN pull p USING (number) LEFT JOIN half h USING (number)
LEFT JOIN ({_current("totals", keys="number")}) t USING (number)
LEFT JOIN (
  SELECT number, try_cast(sum(additions) AS BIGINT) AS additions,
         try_cast(sum(deletions) AS BIGINT) AS deletions, count(*) AS changed_files
  FROM files GROUP BY number
) s USING (number)
LEFT JOIN (
  SELECT e.number FROM entries e JOIN floor f USING (number) JOIN page g USING (number)
  WHERE kind = 'pull' AND f.part = 'files' AND g.part = 'files' AND g.present
) c USING (number)
LEFT JOIN page l ON l.number = e.number AND l.part = 'length'
LEFT JOIN page i ON i.number = e.number AND i.part = 'items' AND i.present
LEFT JOIN (
  SELECT number, list(DISTINCT author ORDER BY author) AS people
  FROM (SELECT number, author FROM entries UNION ALL SELECT number, author FROM comments)
  WHERE author IS NOT NULL GROUP BY number
) w USING (number)
ORDER BY e.number
"""
# No list of relations that the issue says is empty now, and no entry that is gone at either end.
_LINKS = f"""
SELECT l.* FROM ({_current("links", "r.part")}) l LEFT JOIN entries e ON e.number = l.observed_on
WHERE coalesce(CASE l.part {" ".join(f"WHEN '{n}' THEN e.{n}" for n in RELATIONS)} END, 1) <> 0
  AND NOT coalesce(l.repo = $repo AND l.number IN (FROM gone), false)
  AND NOT coalesce(l.target_repo = $repo AND l.target_number IN (FROM gone), false)
"""
_MENTIONS = f"""
SELECT m.* FROM ({_current("mentions")}) m SEMI JOIN (
  SELECT _row FROM entries UNION ALL SELECT _row FROM comments UNION ALL SELECT _row FROM commits
) USING (_row)
"""
_EVIDENCE = _quoted(EVIDENCE_COLUMNS)
_REFERENCE = _quoted(name for name in REFERENCES.schema.names if name != "evidence")
_REFERENCES = f"""
SELECT {_REFERENCE}, struct_pack({_EVIDENCE}) AS evidence FROM (
  SELECT DISTINCT {_REFERENCE}, {_EVIDENCE} FROM (
    SELECT m.* REPLACE (
      coalesce(a.now, m.repo) AS repo, coalesce(b.now, m.target_repo) AS target_repo
    )
    FROM (
      SELECT {_REFERENCE}, {_EVIDENCE} FROM ({_LINKS})
      UNION ALL SELECT {_REFERENCE}, {_EVIDENCE} FROM ({_MENTIONS})
    ) m
    LEFT JOIN former a ON a.name = lower(m.repo) LEFT JOIN former b ON b.name = lower(m.target_repo)
  )
) {_ordered(REFERENCES)}, {_EVIDENCE}
"""
_EVENT = _quoted(name for name in EVENTS.schema.names if name != "repo")
_EVENTS = f"""
SELECT * FROM ({_current("events", "'timeline'")})
QUALIFY row_number() OVER (PARTITION BY {_EVENT} ORDER BY _at) = 1
{_ordered(EVENTS)}, actor_id, actor_type, _at
"""
_EDITS = _current("edits", "'edits'", "r.number, edit_id")
_DISCUSSION_COMMENTS = _current("discussion_comments", "'timeline'", "r.number, comment_id")
_QUERIES = {
    ENTRIES: _ENTRIES,
    COMMENTS: f"SELECT * FROM comments {_ordered(COMMENTS)}",
    DISCUSSIONS: f"{_current('discussions', keys='number')} ORDER BY number",
    DISCUSSION_COMMENTS: f"{_DISCUSSION_COMMENTS} {_ordered(DISCUSSION_COMMENTS)}",
    EDITS: f"{_EDITS} {_ordered(EDITS)}",
    COMMITS: f"SELECT * FROM commits {_ordered(COMMITS)}",
    FILES: f"SELECT * FROM files {_ordered(FILES)}",
    EVENTS: _EVENTS,
    REFERENCES: _REFERENCES,
    LEDGER: LEDGER_ROWS,
}
_UNKNOWN = _current("unknown", "'timeline'")
_LISTED = """
INSERT INTO listed
SELECT kind || 's', count(*) FROM entries GROUP BY kind UNION ALL
SELECT kind || 's', count(*) FROM comments WHERE kind IN ('comment', 'review_comment') GROUP BY kind
UNION ALL SELECT 'unstored', count(*) FROM ledger WHERE part = 'entry' AND stored = 0
"""
_STRANGE = f"INSERT INTO strange SELECT name, number FROM ({_UNKNOWN})"
_LOSSES = f"""
SELECT r.number, r.part, r.reason FROM ({_current("losses")}) r
LEFT JOIN floor f ON f.number = r.number AND f.part = {floor_of("r.part")}
WHERE r._sequence >= CASE WHEN r.number = {NOBODY} THEN $listing
                     ELSE coalesce(if(r.part = 'entry', f.begun, f.sequence), -1) END
"""


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
        bounds = {"first": index * RANGE, "end": (index + 1) * RANGE}
        for name, query in _SHARED.items():
            parameters = bounds if name == "floor" else {}
            connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {query}", parameters)
        troubles = {**self._losses(), **pending}
        self.of_lists |= {key: trouble for key, trouble in troubles.items() if key[0] is None}
        rows = [
            {"number": number, "part": part, "state": trouble.state, "reason": trouble.reason}
            for (number, part), trouble in troubles.items()
            if number is not None
        ]
        self._keep("troubles", pa.Table.from_pylist(rows, _TROUBLES))
        for table, query in _QUERIES.items():
            own = {"repo": self._repo} if table is REFERENCES else {}
            result = connection.sql(query, params=own).to_arrow_table()
            if table in (LEDGER, EVENTS):
                connection.register(table.name, result)
            if table in texts:
                column = texts[table].cast(pa.large_string()).take(result["_at"])
                result = result.append_column(_TEXTS[table][1], column)
            yield table, result
        connection.execute(_LISTED)
        connection.execute(_STRANGE)

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
        losses = self._connection.execute(_LOSSES, {"listing": self._listing}).fetchall()
        for number, part, reason in losses:
            shown = "relations" if part in RELATIONS else part
            if number == NOBODY:
                shown = "issues" if part == "entry" else shown
            reasons[number or None, shown].append(reason)
        return {key: Open("failed", joined(of_key)) for key, of_key in reasons.items()}
