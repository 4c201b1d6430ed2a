"""Compares what GitHub announced with what is stored: `goldpan status`."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb

from goldpan.errors import WorkspaceError
from goldpan.miners.archive import Archive, Record
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
    if not workspace.table(repo, "entries").exists():
        raise WorkspaceError(
            f"{workspace.root} holds no tables of {repo}", f"Run goldpan mine --repo {repo}"
        )
    begin, ended, newest = _last_run(Archive(workspace.raw(repo)).records)
    plan = begin.meta["plan"]
    with duckdb.connect() as connection:
        for name in ("repositories", "entries", "comments", "files", "missing"):
            path = str(workspace.table(repo, name)).replace("'", "''")
            connection.execute(f"CREATE VIEW {name} AS FROM read_parquet('{path}')")
        counts = _counts(connection, limited=plan["since"] is not None)
        gaps = [
            Gap(*row)
            for row in connection.execute("FROM missing SELECT number, part, reason").fetchall()
        ]
        told = {(gap.number, gap.part) for gap in gaps}
        with_files = plan["via"] != "backup"
        short = connection.execute(_SHORT, {"with_files": with_files}).fetchall()
    gaps += [Gap(*row) for row in short if (row[0], row[1]) not in told]
    for count in counts:
        lacking = (count.announced or 0) - count.stored
        named = sum(gap.part == "entry" for gap in gaps)
        if count.kind in ("issues", "pulls") and lacking > 0 and not named:
            gaps.append(Gap(None, count.kind, f"{lacking:,} announced and not found"))
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
    ).fetchone()
    assert row is not None
    return [
        Count("issues", None if limited else row[0], row[1]),
        Count("pulls", None if limited else row[2], row[3]),
        Count("comments", row[4], row[5]),
        Count("reviews", None, row[6]),
        Count("review comments", None, row[7]),
        Count("files", row[8], row[9]),
    ]


def _last_run(records: list[Record]) -> tuple[Record, bool, Record]:
    begin = [record for record in records if record.meta["part"] == "begin"][-1]
    mine = [record for record in records if record.run == begin.run]
    return begin, any(record.meta["part"] == "end" for record in mine), mine[-1]
