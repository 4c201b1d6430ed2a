"""Says how complete a repository is, from its ledger: `goldpan status`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from goldpan.core.archive import Archive, Record
from goldpan.core.errors import WorkspaceError
from goldpan.core.query import open_tables
from goldpan.core.workspace import Workspace
from goldpan.miners.journal import UNSEEN
from goldpan.miners.tables.current_records import NOT_YET, find_live

_GAPS = """
SELECT number, part, state, reason FROM ledger WHERE state NOT IN ('complete', 'unseen')
ORDER BY number NULLS FIRST, part
"""
_SUMS = """
SELECT part, CASE WHEN count(announced) = count(*) THEN sum(announced)::BIGINT END,
       sum(stored)::BIGINT
FROM ledger WHERE number IS NOT NULL GROUP BY part
"""
_UNKNOWN = 'SELECT kind, name, "count", number FROM unknown ORDER BY kind, name'

_COUNTED = ("comments", "reviews", "review_comments", "commits", "files")
_ENTRIES = ("issues", "pulls")


@dataclass(frozen=True, slots=True)
class Count:
    """How many of a kind GitHub announced, and how many are stored."""

    kind: str
    announced: int | None
    stored: int


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that should be there and is not; no number where it is the repository's."""

    number: int | None
    part: str
    state: str
    """short, failed, pending, or withheld where GitHub does not serve it."""
    reason: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """An event or value that GitHub does not document, and an entry that has it."""

    kind: str
    name: str
    count: int
    number: int


@dataclass(frozen=True, slots=True)
class Coverage:
    """How complete a repository is."""

    repo: str
    via: str
    since: str | None
    mined_at: str
    finished: bool
    counts: tuple[Count, ...]
    gaps: tuple[Gap, ...]
    unknown: tuple[Unknown, ...] = ()
    unseen: tuple[str, ...] = ()
    """What the last runs had no means to see, so that nobody knows whether it is missing."""

    @property
    def complete(self) -> bool:
        """Whether the last run ended and nothing is missing of what it could see."""
        return self.finished and not self.gaps


def measure_coverage(
    workspace: Workspace, repo: str, records: list[Record] | None = None
) -> Coverage:
    """Measure one repository's coverage; raises `WorkspaceError` where nothing was mined.

    `records` are the archive's, where they are known; with tables, where runs begin and end is
    enough.
    """
    if records is None:
        records = Archive(workspace.raw(repo)).records
    begin, finished, newest = _last_run(workspace, repo, records)
    plan = begin.meta["plan"]
    if workspace.table(repo, "entries").exists():
        with open_tables(workspace, repo, ("ledger", "unknown")) as connection:
            counts = _counts(connection)
            gaps = [Gap(*row) for row in connection.execute(_GAPS).fetchall()]
            unknown = [Unknown(*row) for row in connection.execute(_UNKNOWN).fetchall()]
    else:
        counts, gaps, unknown = *_without_tables(records), []
    return Coverage(
        repo,
        plan["via"],
        plan["since"],
        newest.meta["at"],
        finished,
        tuple(counts),
        tuple(gaps),
        tuple(unknown),
        _unseen(records),
    )


def _unseen(records: Sequence[Record]) -> tuple[str, ...]:
    """Return what no run saw that ended since it began to go unseen."""
    since, swept = "", set[int]()
    for record in records:
        match record.meta["part"]:
            case "unseen":
                since = since or record.meta["since"]
            case "sweep":
                swept.add(record.run)
            case "end" if record.run in swept:
                since = ""
    return (UNSEEN.format(since=since),) if since else ()


def _counts(connection: duckdb.DuckDBPyConnection) -> list[Count]:
    entries = connection.execute(
        "SELECT part, announced, stored FROM ledger "
        "WHERE number IS NULL AND list_contains($1, part)",
        [list(_ENTRIES)],
    ).fetchall()
    sums = {part: (announced, stored) for part, announced, stored in entries}
    sums |= {row[0]: row[1:] for row in connection.execute(_SUMS).fetchall()}
    return [
        Count(part.replace("_", " "), *sums.get(part, (None, 0))) for part in (*_ENTRIES, *_COUNTED)
    ]


def _without_tables(records: list[Record]) -> tuple[list[Count], list[Gap]]:
    """Tell from the archive alone what is there of a repository whose first run did not end."""
    live = find_live(records)
    gaps = [
        Gap(number, part, trouble.state, trouble.reason)
        for (number, part), trouble in live.open.items()
    ]
    gaps.append(Gap(None, "tables", "pending", NOT_YET))
    gaps.sort(key=lambda gap: (gap.number or 0, gap.part))
    announced = {} if live.is_limited else live.announced
    counts = [Count(part, announced.get(part), live.stored.get(part, 0)) for part in _ENTRIES]
    return counts, gaps


def _last_run(
    workspace: Workspace, repo: str, records: Sequence[Record]
) -> tuple[Record, bool, Record]:
    begun = [record for record in records if record.meta["part"] == "begin"]
    if not begun:
        raise WorkspaceError(
            f"{workspace.root} holds no raw replies of {repo}", f"Run goldpan mine --repo {repo}"
        )
    mine = [record for record in records if record.run == begun[-1].run]
    return begun[-1], any(record.meta["part"] == "end" for record in mine), mine[-1]
