"""Compares what GitHub announced with what is stored: `goldpan status`."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb

from goldpan.errors import WorkspaceError
from goldpan.miners.archive import Archive, Record
from goldpan.query import open_tables
from goldpan.workspace import Workspace

_SHORT = """
WITH stored AS (
  SELECT number, count(*) FILTER (kind = 'comment') AS comments FROM comments GROUP BY number
), listed AS (SELECT number, count(*) AS files FROM files GROUP BY number)
SELECT number, 'comments' AS part,
       format('GitHub announced {}, {} came', comment_count, coalesce(comments, 0)) AS reason
FROM entries LEFT JOIN stored USING (number) WHERE comment_count > coalesce(comments, 0)
UNION ALL
SELECT number, 'files', format('GitHub announced {}, {} came', changed_files, coalesce(files, 0))
FROM entries LEFT JOIN listed USING (number)
WHERE changed_files > coalesce(files, 0) AND $with_files
ORDER BY ALL
"""


@dataclass(frozen=True, slots=True)
class Count:
    """How many rows of a kind GitHub announced, and how many are stored."""

    kind: str
    announced: int | None
    stored: int


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that should be there and is not; no number where it is the repository's."""

    number: int | None
    part: str
    reason: str


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

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return self.finished and not self.gaps


def measure_coverage(workspace: Workspace, repo: str) -> Coverage:
    """Measure one repository's coverage; raises `WorkspaceError` where it has no tables."""
    tables = ("repositories", "entries", "comments", "files", "missing")
    with open_tables(workspace, repo, tables) as connection:
        begin, ended, newest = _last_run(workspace, repo)
        plan = begin.meta["plan"]
        counts = _counts(connection, limited=plan["since"] is not None)
        gaps = [
            Gap(*row)
            for row in connection.execute("FROM missing SELECT number, part, reason").fetchall()
        ]
        told = {(gap.number, gap.part) for gap in gaps}
        with_files = plan["via"] != "backup"
        listed = connection.execute(_SHORT, {"with_files": with_files}).fetchall()
    gaps += [Gap(*row) for row in listed if (row[0], row[1]) not in told]
    lacking = {
        count.kind: (count.announced or 0) - count.stored
        for count in counts
        if count.kind in ("issues", "pulls")
    }
    short = {kind: number for kind, number in lacking.items() if number > 0}
    if sum(short.values()) > sum(gap.part == "entry" for gap in gaps):
        gaps += [
            Gap(None, kind, f"{number:,} announced and not found") for kind, number in short.items()
        ]
    gaps.sort(key=lambda gap: (gap.number or 0, gap.part))
    return Coverage(
        repo, plan["via"], plan["since"], newest.meta["at"], ended, tuple(counts), tuple(gaps)
    )


def _counts(connection: duckdb.DuckDBPyConnection, *, limited: bool) -> list[Count]:
    row = connection.execute(
        """
        SELECT (SELECT max(issues_announced) FROM repositories),
               count(*) FILTER (kind = 'issue'),
               (SELECT max(pulls_announced) FROM repositories),
               count(*) FILTER (kind = 'pull'),
               sum(comment_count)::BIGINT,
               (SELECT count(*) FROM comments WHERE kind = 'comment'),
               (SELECT count(*) FROM comments WHERE kind = 'review'),
               (SELECT count(*) FROM comments WHERE kind = 'review_comment'),
               sum(changed_files)::BIGINT,
               (SELECT count(*) FROM files)
        FROM entries
        """
    ).fetchall()[0]
    return [
        Count("issues", None if limited else row[0], row[1]),
        Count("pulls", None if limited else row[2], row[3]),
        Count("comments", row[4], row[5]),
        Count("reviews", None, row[6]),
        Count("review comments", None, row[7]),
        Count("files", row[8], row[9]),
    ]


def _last_run(workspace: Workspace, repo: str) -> tuple[Record, bool, Record]:
    records = Archive(workspace.raw(repo)).records
    begun = [record for record in records if record.meta["part"] == "begin"]
    if not begun:
        raise WorkspaceError(
            f"{workspace.root} holds no raw replies of {repo}", f"Run goldpan mine --repo {repo}"
        )
    mine = [record for record in records if record.run == begun[-1].run]
    return begun[-1], any(record.meta["part"] == "end" for record in mine), mine[-1]
