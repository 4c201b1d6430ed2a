"""The ledger: announced and stored counts of each entry and of each of its lists.

It is the program's only knowledge of completeness: `goldpan status`, exit codes and `goldpan why`
read it. An announced length counts only as long as the list was not read again since.
"""

# ruff: noqa: S608 - no value is part of a question, only our own names

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from goldpan.core.schemas.mined import LEDGER
from goldpan.miners.journal_state import RELATIONS, Open
from goldpan.miners.tables.current_records import LISTS, CurrentRecords

ISSUE_PARTS = ("entry", "edits", "comments", "labels", "timeline", "links", "relations")
PULL_PARTS = (
    *("entry", "edits", "comments", "labels", "timeline", "links"),
    *("files", "reviews", "review_comments", "commits"),
)
DISCUSSION_PARTS = ("entry", "edits", "comments", "replies", "labels")
_PARTS_OF = {"issue": ISSUE_PARTS, "pull": PULL_PARTS, "discussion": DISCUSSION_PARTS}
_MOST_SERVED = {"files": 3_000, "commits": 250}
"""How many items GitHub lists at most."""

_FLOOR_OF = {
    "comments": "timeline",
    "reviews": "timeline",
    "replies": "timeline",
    "commits": "timeline",
    "length": "timeline",
    "items": "timeline",
    "threads": "review_comments",
    "labels": "entry",
    "unlisted": "entry",
}
PARTS = pa.table(
    {
        "kind": [kind for kind, parts in _PARTS_OF.items() for _ in parts],
        "part": [part for parts in _PARTS_OF.values() for part in parts],
        "most": pa.array(
            [_MOST_SERVED.get(part) for parts in _PARTS_OF.values() for part in parts], pa.int64()
        ),
    }
)
"""The parts of each kind of entry, with how many items GitHub lists at most."""


def floor_of(part: str) -> str:
    """Return an expression of SQL for the part that supersedes a part's rows."""
    cases = " ".join(f"WHEN '{name}' THEN '{floor}'" for name, floor in _FLOOR_OF.items())
    return f"CASE {part} {cases} ELSE {part} END"


# Of each list of an entry: how long it is as announced last, lists of several units added up, how
# many items came, and whether any page was read. A pull request's word on its lists holds for the
# run in which they were read.
PAGES = f"""
WITH told AS (
  SELECT p.*, coalesce(p._sequence >= f.sequence, true) AS is_current,
         coalesce(p._sequence >= if(unit = 'pull', f.begun, f.sequence), true) AS is_heard
  FROM ({{pages}}) p SEMI JOIN entries USING (number)
  LEFT JOIN floor f ON f.number = p.number AND f.part = {floor_of("p.part")}
), newest AS (
  SELECT number, part, unit IN ('', 'pull') AS is_whole,
         max_by(announced, (_sequence, _at)) AS announced
  FROM told WHERE is_heard AND announced IS NOT NULL GROUP BY number, part, unit
), announced AS (
  SELECT number, part, try_cast(greatest(
    max(announced) FILTER (is_whole), sum(announced) FILTER (NOT is_whole)
  ) AS BIGINT) AS announced
  FROM newest GROUP BY number, part
)
SELECT number, part, if(a.announced >= 0, a.announced, NULL) AS announced,
       coalesce(try_cast(sum(received) FILTER (is_current) AS BIGINT), 0) AS received,
       coalesce(bool_or(is_current AND unit <> 'pull'), false) AS present
FROM told LEFT JOIN announced a USING (number, part) GROUP BY number, part, a.announced
"""

_COUNTED = ("comments", "replies", "reviews", "review_comments", "commits", "files", "labels")
_STORED = """
SELECT number, part, count(*) AS stored FROM (
  SELECT number, if(kind = 'discussion_comment', if(reply_to IS NULL, 'comments', 'replies'),
                    kind || 's') AS part FROM comments
  UNION ALL SELECT DISTINCT ON (number, comment_id) number, 'reviews' FROM envelopes
  UNION ALL SELECT number, 'commits' FROM commits
  UNION ALL SELECT number, 'files' FROM files
  UNION ALL SELECT number, 'labels' FROM (SELECT number, unnest(labels) FROM entries)
) GROUP BY number, part
"""
_SUM = " + ".join(f"greatest({name}, 0)::HUGEINT" for name in RELATIONS)
_RELATIONS = f"""
SELECT e.number, try_cast({_SUM} AS BIGINT) AS announced,
       coalesce(sum(g.received) FILTER (g.part IN {RELATIONS}), 0)::BIGINT AS received,
       coalesce(bool_or(g.present) FILTER (g.part = 'unlisted'), false) AS is_unlisted,
       NOT coalesce(greatest({", ".join(RELATIONS)}) >= 0, false) AS is_unknown
FROM entries e LEFT JOIN page g USING (number) GROUP BY ALL
"""
# No backup holds the lists of relations, and nothing can complete it.
LEDGER_ROWS = f"""
WITH stored AS ({_STORED}), relations AS ({_RELATIONS}), counted AS (
  SELECT e.number, k.part, k.most,
    CASE k.part WHEN 'entry' THEN 1 WHEN 'comments' THEN e.comment_count
    WHEN 'relations' THEN r.announced
    WHEN 'review_comments' THEN if(t.announced = 0, coalesce(g.announced, 0), g.announced)
    ELSE g.announced END AS announced,
    CASE k.part WHEN 'entry' THEN 1 WHEN 'relations' THEN r.received
    ELSE coalesce(if(k.part IN {_COUNTED}, s.stored, g.received), 0) END AS stored,
    CASE WHEN k.part IN ('links', 'files', 'edits') THEN NOT coalesce(g.present, false)
    WHEN k.part = 'relations' THEN r.is_unknown OR (r.is_unlisted AND r.received = 0)
    ELSE false END AS is_unseen,
    if(k.part = 'review_comments', t.announced, NULL) AS threads, t.received AS threads_came
  FROM entries e JOIN parts k USING (kind) LEFT JOIN relations r USING (number)
  LEFT JOIN page g ON g.number = e.number AND g.part = k.part
  LEFT JOIN page t ON t.number = e.number AND t.part = 'threads'
  LEFT JOIN stored s ON s.number = e.number AND s.part = k.part
), judged AS (
  SELECT number, part, if(is_unseen OR announced < 0, NULL, announced) AS announced, stored,
    CASE WHEN is_unseen THEN ['unseen', 'the way that it was mined does not show it']
    WHEN announced > stored AND announced > most AND stored >= most
      THEN ['withheld', format('GitHub lists {{:,}} of {{:,}} at most', most, announced)]
    WHEN announced > stored
      THEN ['short', format('GitHub announced {{:,}}, {{:,}} came', announced, stored)]
    WHEN threads > threads_came
      THEN ['short', format('GitHub announced {{:,}} threads, {{:,}} came', threads, threads_came)]
    ELSE ['complete', NULL] END AS judgment
  FROM counted
)
SELECT coalesce(j.number, t.number) AS number, coalesce(j.part, t.part) AS part,
  if(j.number IS NULL, if(t.part = 'entry', 1, NULL), j.announced) AS announced,
  coalesce(j.stored, 0) AS stored, coalesce(t.state, judgment[1]) AS state,
  if(t.state IS NULL, judgment[2], t.reason) AS reason
FROM judged j FULL JOIN troubles t ON t.number = j.number AND t.part = j.part
ORDER BY number, part
"""


def list_ledger(
    stored: Mapping[str, int], live: CurrentRecords, troubles: Mapping[tuple[int | None, str], Open]
) -> pa.Table:
    """Return the rows of the repository's own lists.

    `stored` counts the items of each list, and as `unstored` the entries that are named and of
    which nothing is stored. Other parts in `troubles`, as of a backup, get a row too.
    """
    announced = {} if live.is_limited else live.announced
    shortfalls = {part: announced[part] - stored.get(part, 0) for part in announced}
    unnamed = sum(max(0, count) for count in shortfalls.values()) > stored.get("unstored", 0)
    rows = []
    for part in sorted({*LISTS, *live.further_lists, *(part for _, part in troubles)}):
        trouble = troubles.get((None, part))
        if trouble is None and unnamed and shortfalls.get(part, 0) > 0:
            trouble = Open("short", f"{shortfalls[part]:,} announced and not found")
        rows.append(
            {
                "number": None,
                "part": part,
                "announced": announced.get(part),
                "stored": stored.get(part, 0),
                "state": trouble.state if trouble else "complete",
                "reason": trouble.reason if trouble else live.further_lists.get(part),
            }
        )
    return pa.Table.from_pylist(rows, schema=LEDGER.schema_without_repo)
