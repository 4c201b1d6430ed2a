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

Where discussions are shown, `issues` are these. `texts` are what readers see: no comments that
were deleted or minimized.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import duckdb
import pyarrow as pa

from goldpan.core.schemas.mined import COMMITS, DISCUSSION_COMMENTS, DISCUSSIONS, EVENTS, FILES
from goldpan.core.schemas.stages import CHANGES, PAIRS, REVISIONS, VERDICTS
from goldpan.core.storage.parquet import open_tables
from goldpan.core.storage.sealed import check_inputs
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.filters.bots import Bots, mark_bots, show_kind
from goldpan.git.objects import Objects
from goldpan.git.refs import verify_clone

_BATCH = 1_024
_TABLES = ("repositories", "entries", "comments", "references")
_OPTIONAL = (COMMITS, EVENTS, FILES, PAIRS, CHANGES, REVISIONS, DISCUSSIONS, DISCUSSION_COMMENTS)

_TEXTS = """
CREATE TABLE all_texts AS
SELECT number, kind, 'title' AS source, NULL::BIGINT AS comment_id, author, author_type,
       author_association, created_at, coalesce(title, '') AS text
FROM entries WHERE kind <> 'pull'
UNION ALL
SELECT number, kind, 'body', NULL, author, author_type, author_association, created_at,
       coalesce(body, '')
FROM entries WHERE kind <> 'pull'
UNION ALL
SELECT c.number, e.kind, 'comment', c.comment_id, c.author, c.author_type, c.author_association,
       c.created_at, coalesce(c.body, '')
FROM comments c JOIN entries e USING (number)
WHERE c.kind = CASE e.kind WHEN 'issue' THEN 'comment' WHEN 'discussion' THEN 'discussion_comment'
               END
  AND c.minimized IS NOT TRUE
  AND (number, comment_id) NOT IN (
    SELECT number, comment_id FROM discussion_comments WHERE deleted_at IS NOT NULL
  )
"""

_DUPLICATES = """
CREATE TEMP TABLE duplicates AS FROM all_duplicates
WHERE lower($repo) IN (lower(repo), lower(representative_repo))
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

    def show(self, kind: Literal["issue", "discussion"]) -> None:
        """Make `issues` and `texts` those of a kind of entries; a view opens with issues."""
        show_kind(self.connection, kind)

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

    def clusters(self) -> dict[int, str]:
        """Return the clusters of near duplicates of this repository's entries, by number."""
        query = "SELECT number, cluster FROM duplicates WHERE lower(repo) = lower($repo)"
        return dict(self.connection.execute(query, {"repo": self.repo}).fetchall())

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
    workspace: WorkspaceLayout, repo: str, bots: Bots, duplicates: pa.Table, workers: int
) -> Iterator[RepoView]:
    """Open a repository's tables for criteria and builders.

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
                connection.register(table.name, table.schema.empty_table())
        connection.register("no_verdicts", VERDICTS.schema.empty_table())
        connection.execute("CREATE TEMP TABLE issue_verdicts AS FROM no_verdicts")
        named = connection.execute("SELECT coalesce(max(repo), $1) FROM repositories", [repo])
        name = str(named.fetchall()[0][0])
        connection.execute(_CLOSINGS)
        connection.execute(_TEXTS)
        mark_bots(connection, bots)
        connection.register("all_duplicates", duplicates)
        connection.execute(_DUPLICATES, {"repo": name})
        yield RepoView(name, workspace, connection, workers)
