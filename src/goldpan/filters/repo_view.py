"""The view of one repository that criteria query: its tables, with bots marked.

===============  =================================================================================
`issues`         the issues of `entries`, with `robot`: whether a bot wrote the issue
`texts`          the discussions of issues, a row a text: number, source (title | body | comment),
                 comment_id, author, author_type, author_association, created_at, text, robot
`pulls`          the pull requests of `entries`
`pairs`          the fix pairs
`files`          the changed files as GitHub lists them
`changes`        the changed files as git tells them (empty without a clone)
`revisions`      the states before and after each pull (empty without a clone)
`commits`        the commits of pull requests
`repositories`   the repository
`refs`           the table `references`
`closings`       who closed each issue last, and when
`discussions`    what discussions have beside their entries (empty where none were mined)
`discussion_comments`  the same of their comments
`duplicates`     the clusters of near duplicates that touch this repository
`issue_verdicts` the verdicts on issues, for criteria that judge pairs
===============  =================================================================================

In a view of discussions `issues` are these. `texts` are what readers see: no comments that were
deleted or minimized.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import duckdb
import pyarrow as pa

from goldpan.core.schemas import (
    CHANGES,
    COMMITS,
    DISCUSSION_COMMENTS,
    DISCUSSIONS,
    DUPLICATES,
    EVENTS,
    FILES,
    PAIRS,
    REVISIONS,
    VERDICTS,
    TableSchema,
)
from goldpan.core.storage.parquet import open_tables
from goldpan.core.storage.sealed import check_inputs
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.filters.bots import Bots, mark_bots
from goldpan.git.objects import Objects
from goldpan.git.refs import verify_clone

_BATCH = 1_024
_TABLES = ("repositories", "entries", "comments", "references")
_OPTIONAL = (COMMITS, EVENTS, FILES, PAIRS, CHANGES, REVISIONS, DISCUSSIONS, DISCUSSION_COMMENTS)

_TEXTS = """
CREATE TABLE all_texts AS
SELECT number, 'title' AS source, NULL::BIGINT AS comment_id, author, author_type,
       author_association, created_at, coalesce(title, '') AS text
FROM entries WHERE kind = $kind
UNION ALL
SELECT number, 'body', NULL, author, author_type, author_association, created_at,
       coalesce(body, '')
FROM entries WHERE kind = $kind
UNION ALL
SELECT c.number, 'comment', c.comment_id, c.author, c.author_type, c.author_association,
       c.created_at, coalesce(c.body, '')
FROM comments c JOIN entries e USING (number)
WHERE e.kind = $kind AND c.kind = $comments AND c.minimized IS NOT TRUE
  AND (number, comment_id) NOT IN (
    SELECT number, comment_id FROM discussion_comments WHERE deleted_at IS NOT NULL
  )
"""

_CLOSINGS = """
CREATE TEMP VIEW closings AS
SELECT number, max_by(actor, "at") AS actor, max("at") AS "at"
FROM events WHERE event = 'closed' GROUP BY number
"""

_KEPT = """
CREATE OR REPLACE TEMP TABLE kept AS
SELECT issue, pull_repo, pull FROM stored_verdicts
WHERE subject = $subject
GROUP BY issue, pull_repo, pull
HAVING bool_and(coalesce(keep, false))
       FILTER (decides OR list_contains($required, criterion)) IS DISTINCT FROM false
"""


@dataclass(frozen=True, slots=True)
class RepoView:
    """The views of one repository, and its history where it was cloned."""

    repo: str
    workspace: WorkspaceLayout
    connection: duckdb.DuckDBPyConnection
    workers: int
    """Processes that a criterion may use."""

    def sql(self, query: str, **values: object) -> pa.Table:
        """Return the answer to a query; `values` are its ``$name`` parameters."""
        return self.connection.sql(query, params=values or None).to_arrow_table()

    def rows(self, query: str, **values: object) -> Iterator[dict[str, Any]]:
        """Yield the rows of a query's answer, some of them in memory at a time."""
        answer = self.connection.sql(query, params=values or None)
        for batch in answer.to_arrow_reader(_BATCH):
            yield from batch.to_pylist()

    def sql_over(self, name: str, rows: pa.Table, query: str, **values: object) -> pa.Table:
        """Return the answer to a query that reads `rows` as the table `name`."""
        self.connection.register(name, rows)
        answer = self.sql(query, **values)
        self.connection.unregister(name)
        return answer

    def keep(self, verdicts: pa.Table, subject: str, required: Sequence[str]) -> int:
        """Make the table `kept` (issue, pull_repo, pull) out of verdicts; return its rows.

        It has the subjects that every deciding and every `required` criterion keeps; `subject` is
        issue or pair.
        """
        self.connection.register("stored_verdicts", verdicts)
        self.connection.execute(_KEPT, {"subject": subject, "required": list(required)})
        self.connection.unregister("stored_verdicts")
        return int(self.connection.execute("SELECT count(*) FROM kept").fetchall()[0][0])

    @contextmanager
    def objects(self) -> Iterator[Objects | None]:
        """Give the objects of the repository's history, or None without a clone."""
        clone = self.workspace.clone(self.repo)
        if not clone.exists():
            yield None
            return
        verify_clone(clone)
        with Objects(clone) as objects:
            yield objects


@contextmanager
def open_repo_view(
    workspace: WorkspaceLayout,
    repo: str,
    bots: Bots,
    duplicates: pa.Table,
    workers: int,
    kind: Literal["issue", "discussion"] = "issue",
) -> Iterator[RepoView]:
    """Open a repository's tables for the criteria, as a view of issues or of discussions.

    Raises `WorkspaceError` where the repository was not mined, or paired of other tables or not
    by the workspace's rules.
    """
    rules = workspace.rules_of(repo)
    if rules is not None:
        check_inputs(workspace.tables(repo), f"pair.{rules}")
    optional = [table.name for table in _OPTIONAL]
    with open_tables(workspace, repo, _TABLES, optional=optional) as connection:
        for table in _OPTIONAL:
            if not workspace.table(repo, table.name).exists():
                _create_empty(connection, table)
        _create_empty(connection, VERDICTS, "issue_verdicts")
        named = connection.execute("SELECT coalesce(max(repo), $1) FROM repositories", [repo])
        name = str(named.fetchall()[0][0])
        connection.execute(_CLOSINGS)
        comments = "comment" if kind == "issue" else "discussion_comment"
        connection.execute(_TEXTS, {"kind": kind, "comments": comments})
        mark_bots(connection, bots, kind)
        connection.register("all_duplicates", duplicates)
        connection.execute(f"CREATE TEMP TABLE {DUPLICATES.name} AS FROM all_duplicates")
        yield RepoView(name, workspace, connection, workers)


_COLUMNS: dict[str, str] = {}
"""The columns of tables in DuckDB's words, by their names: to ask costs more than to create."""


def _create_empty(
    connection: duckdb.DuckDBPyConnection, table: TableSchema, name: str | None = None
) -> None:
    if table.name not in _COLUMNS:
        connection.register("no_rows", table.schema.empty_table())
        described = connection.execute("DESCRIBE no_rows").fetchall()
        connection.unregister("no_rows")
        _COLUMNS[table.name] = ", ".join(f'"{column}" {kind}' for column, kind, *_ in described)
    connection.execute(f"CREATE TEMP TABLE {name or table.name} ({_COLUMNS[table.name]})")
