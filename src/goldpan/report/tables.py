"""Opens the tables and verdicts of several repositories as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from goldpan.core.errors import WorkspaceError
from goldpan.core.query import connect
from goldpan.core.resources import told_otherwise
from goldpan.core.schemas import (
    CHANGES,
    COMMENTS,
    ENTRIES,
    PAIRS,
    REPOSITORIES,
    REVISIONS,
    VERDICTS,
    Table,
)
from goldpan.core.sealed import DamagedError, verify_parquet
from goldpan.core.workspace import Workspace

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
    """Give a connection with a view a table, over all `repos`; tables that lack are empty.

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
    connection: duckdb.DuckDBPyConnection, table: Table, files: Sequence[Path]
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
