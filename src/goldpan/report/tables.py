"""Opens the tables and verdicts of several repositories as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import duckdb

from goldpan.core.errors import DamagedError, WorkspaceError
from goldpan.core.parquet import connect
from goldpan.core.resources import told_otherwise
from goldpan.core.schemas import (
    CHANGES,
    COMMENTS,
    ENTRIES,
    PAIRS,
    REPOSITORIES,
    REVISIONS,
    VERDICTS,
    TableSchema,
)
from goldpan.core.sealed import verify_parquet
from goldpan.core.workspace import Workspace

# Says what each repository gave.

_OVERVIEW = """
WITH found AS (
  SELECT repo, count(*) FILTER (kind = 'issue') AS issues,
         count(*) FILTER (kind = 'pull') AS pulls,
         strftime(min(created_at), '%Y-%m-%d') AS first,
         strftime(max(updated_at), '%Y-%m-%d') AS last
  FROM entries GROUP BY repo
), said AS (
  SELECT repo, count(*) FILTER (kind = 'comment') AS comments,
         count(*) FILTER (kind = 'review_comment') AS review_comments
  FROM comments GROUP BY repo
),
tied AS (SELECT repo, count(*) AS pairs FROM pairs GROUP BY repo),
passed AS (
  SELECT repo, count(*) FILTER (subject = 'issue') AS kept_issues,
         count(*) FILTER (subject = 'pair') AS kept_pairs
  FROM kept GROUP BY repo
), known AS (SELECT repo, any_value(language) AS language, any_value(license) AS license
             FROM repositories GROUP BY repo)
SELECT repo, coalesce(language, '') AS language, coalesce(license, '') AS license,
       coalesce(first, '') AS first, coalesce(last, '') AS last, issues, pulls,
       coalesce(comments, 0) AS comments, coalesce(review_comments, 0) AS review_comments,
       coalesce(kept_issues, 0) AS kept_issues,
       coalesce(pairs, 0) AS pairs, coalesce(kept_pairs, 0) AS kept_pairs
FROM found LEFT JOIN said USING (repo) LEFT JOIN tied USING (repo)
LEFT JOIN passed USING (repo) LEFT JOIN known USING (repo)
ORDER BY issues + pulls DESC, repo
"""


@dataclass(frozen=True, slots=True)
class Overview:
    """The numbers of one repository, or of all together."""

    repo: str
    language: str
    license: str
    first: str
    """The day of the oldest entry."""
    last: str
    """The day of the last change that was mined."""
    issues: int
    pulls: int
    comments: int
    """On issues and pull requests, as `goldpan status` counts them."""
    review_comments: int
    """On lines of code."""
    kept_issues: int
    pairs: int
    kept_pairs: int


_COUNTS = [field.name for field in fields(Overview) if field.type in ("int", int)]


def overview(connection: duckdb.DuckDBPyConnection) -> list[Overview]:
    """Return the numbers of each repository, the largest first."""
    return [Overview(**row) for row in rows(connection, _OVERVIEW)]


def total(overviews: list[Overview]) -> Overview:
    """Add up the numbers of several repositories."""
    counts = {name: sum(getattr(repository, name) for repository in overviews) for name in _COUNTS}
    days = [repository.first for repository in overviews if repository.first]
    last = max((repository.last for repository in overviews), default="")
    return Overview("", "", "", min(days, default=""), last, **counts)


_TABLES = (REPOSITORIES, ENTRIES, COMMENTS, PAIRS, REVISIONS, CHANGES)
_KEPT = """
CREATE TEMP TABLE kept AS
SELECT repo, subject, issue, pull_repo, pull FROM verdicts
GROUP BY ALL HAVING bool_and(coalesce(keep, false)) FILTER (decides) IS DISTINCT FROM false
"""


@contextmanager
def open_repositories(
    workspace: Workspace, repos: Sequence[str], profile: str
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a connection with a view for each table over all `repos`; missing tables are empty.

    `verdicts` holds those of the profile, `kept` the issues and pairs that pass it. Raises
    `WorkspaceError` where a file is damaged, also while it is queried.
    """
    with connect() as connection:
        try:
            for table in _TABLES:
                files = [workspace.table(repo, table.name) for repo in repos]
                _create_view(connection, table, files)
            _create_view(
                connection, VERDICTS, [workspace.verdicts(repo, profile) for repo in repos]
            )
            connection.execute(_KEPT)
            yield connection
        except (duckdb.Error, DamagedError) as error:
            if told_otherwise(error):
                raise
            raise WorkspaceError(
                f"Tables in {workspace.root} cannot be read ({str(error).splitlines()[0]})",
                "Rebuild them with goldpan normalize, goldpan pair and goldpan filter",
            ) from error


def rows(
    connection: duckdb.DuckDBPyConnection, query: str, **values: object
) -> list[dict[str, Any]]:
    """Return the answer to a query; `values` are its ``$name`` parameters."""
    answer: list[dict[str, Any]] = (
        connection.sql(query, params=values or None).to_arrow_table().to_pylist()
    )
    return answer


def file_list(paths: Sequence[Path]) -> str:
    """Return paths as a list of SQL."""
    return "[" + ", ".join("'" + str(path).replace("'", "''") + "'" for path in paths) + "]"


def _create_view(
    connection: duckdb.DuckDBPyConnection, table: TableSchema, files: Sequence[Path]
) -> None:
    existing = [path for path in files if path.exists()]
    if existing:
        connection.execute(
            f"CREATE VIEW {table.name} AS "
            f"FROM read_parquet({file_list(list(map(verify_parquet, existing)))}, "
            "union_by_name = true)"
        )
    else:
        connection.register("no_rows", table.schema.empty_table())
        connection.execute(f"CREATE TEMP TABLE {table.name} AS FROM no_rows")
        connection.unregister("no_rows")
