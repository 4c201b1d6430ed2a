"""Opens a repository's tables for DuckDB."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import duckdb

from goldpan.core.errors import WorkspaceError
from goldpan.core.lineage import check_outputs
from goldpan.core.resources import told_otherwise
from goldpan.core.sealed import DamagedError, verify_parquet
from goldpan.core.workspace import Workspace


def connect() -> duckdb.DuckDBPyConnection:
    """Return an empty database in memory that speaks UTC and prints nothing.

    Its progress bar would go to standard output, where programs read JSON.
    """
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'; SET enable_progress_bar = false")
    return connection


@contextmanager
def open_tables(
    workspace: Workspace, repo: str, names: Sequence[str], *, optional: Sequence[str] = ()
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Give a connection with a view a table; `references`, a word of SQL, is called `refs`.

    Raises `WorkspaceError` where a table is not there or damaged, also while it is queried, or
    not of the same run as the others.
    """
    if not workspace.table(repo, "entries").exists():
        raise WorkspaceError(
            f"{workspace.root} holds no tables of {repo}", f"Run goldpan mine --repo {repo}"
        )
    check_outputs(workspace.tables(repo), "normalize")
    with connect() as connection:
        directory = workspace.tables(repo)
        try:
            for name in (*names, *optional):
                path = workspace.table(repo, name)
                if name in names or path.exists():
                    directory = path
                    verify_parquet(path)
                    view = "refs" if name == "references" else name
                    quoted = str(path).replace("'", "''")
                    connection.execute(f"CREATE VIEW {view} AS FROM read_parquet('{quoted}')")
            directory = workspace.tables(repo)
            yield connection
        except (duckdb.Error, DamagedError, FileNotFoundError) as error:
            if told_otherwise(error):
                raise
            raise WorkspaceError(
                f"{directory} cannot be read ({str(error).splitlines()[0]})",
                f"Make the tables again with goldpan normalize --repo {repo}",
            ) from error
