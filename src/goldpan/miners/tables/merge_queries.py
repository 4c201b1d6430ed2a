"""The questions that merge one range of entry numbers, in DuckDB's SQL.

Rows are superseded by floors: the record in which an entry's part was last read as a whole. Of
rows that share a key, the one that was observed last counts.
"""

# ruff: noqa: S608 - no value is part of a question, only our own names

from __future__ import annotations

from collections.abc import Iterable

from goldpan.core.schemas import (
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
    TableSchema,
)
from goldpan.miners.journal_state import FLOORED, RELATIONS
from goldpan.miners.tables.ledger import LEDGER_ROWS, PAGES, floor_of
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
SHARED = {
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
QUERIES = {
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
LISTED = """
INSERT INTO listed
SELECT kind || 's', count(*) FROM entries GROUP BY kind UNION ALL
SELECT kind || 's', count(*) FROM comments WHERE kind IN ('comment', 'review_comment') GROUP BY kind
UNION ALL SELECT 'unstored', count(*) FROM ledger WHERE part = 'entry' AND stored = 0
"""
STRANGE = f"INSERT INTO strange SELECT name, number FROM ({_UNKNOWN})"
LOSSES = f"""
SELECT r.number, r.part, r.reason FROM ({_current("losses")}) r
LEFT JOIN floor f ON f.number = r.number AND f.part = {floor_of("r.part")}
WHERE r._sequence >= CASE WHEN r.number = {NOBODY} THEN $listing
                     ELSE coalesce(if(r.part = 'entry', f.begun, f.sequence), -1) END
"""
