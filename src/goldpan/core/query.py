"""Reads a repository's tables: as views of DuckDB, or some columns of some as they are."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import duckdb
import pyarrow as pa

from goldpan.core.errors import DamagedError, WorkspaceError
from goldpan.core.parquet import read_table
from goldpan.core.resources import told_otherwise
from goldpan.core.sealed import check_outputs, verify_parquet
from goldpan.core.workspace import Workspace

_NUMBERS = count(1)
# DuckDB's progress bar would go to standard output, where programs read JSON.
_SESSION = "SET TimeZone = 'UTC'; SET enable_progress_bar = false"
# Tables change between two questions, and what a question read is not asked for again.
_PROCESS = "SET enable_external_file_cache = false"
# Small row groups let all cores work on one repository's texts.
_ATTACH = "ATTACH ':memory:' AS {name} (ROW_GROUP_SIZE 8192); USE {name}"


_INSTANCES: dict[int, duckdb.DuckDBPyConnection] = {}
"""By process: one that was forked can neither ask nor end its parent's, whose threads it lacks."""


def _instance() -> duckdb.DuckDBPyConnection:
    """Return this process's DuckDB: to start one takes longer than most questions."""
    instance = _INSTANCES.get(os.getpid())
    if instance is None:
        started = duckdb.connect()
        started.execute(_PROCESS)
        instance = _INSTANCES.setdefault(os.getpid(), started)  # another thread's, if it was first
    return instance


@contextmanager
def connect() -> Iterator[duckdb.DuckDBPyConnection]:
    """Give an empty database in memory that speaks UTC and prints nothing.

    All of a process share one DuckDB, its threads and its limit of memory, and see nothing of
    each other. What changes settings of the whole DuckDB takes `connect_alone`.
    """
    instance, name = _instance(), f"own_{next(_NUMBERS)}"
    connection = instance.cursor()
    try:
        connection.execute(f"{_SESSION}; {_ATTACH.format(name=name)}")
        yield connection
    except (duckdb.FatalException, duckdb.InternalException):
        _INSTANCES.pop(os.getpid(), None)  # it answers nothing any more
        raise
    finally:
        connection.close()
        with suppress(duckdb.Error), instance.cursor() as other:
            other.execute(f"DETACH {name}")


def second(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Return a connection to the same tables and views, to ask while the first still answers."""
    (name,) = connection.execute("SELECT current_database()").fetchall()[0]
    other = connection.cursor()
    other.execute(f"{_SESSION}; USE {name}")
    return other


def connect_alone() -> duckdb.DuckDBPyConnection:
    """Return an empty database in memory with a DuckDB of its own, which takes 14 ms to start."""
    connection = duckdb.connect()
    connection.execute(_SESSION)
    return connection


@contextmanager
def open_tables(
    workspace: Workspace, repo: str, names: Sequence[str], *, optional: Sequence[str] = ()
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Give a connection with a view a table; `references`, a word of SQL, is called `refs`.

    Raises `WorkspaceError` where a table is not there or damaged, also while it is queried, or
    not of the same run as the others.
    """
    with _named_failures(workspace, repo) as reading, connect() as connection:
        for name in (*names, *optional):
            path = workspace.table(repo, name)
            if name in names or path.exists():
                reading.at = path
                verify_parquet(path)
                view = "refs" if name == "references" else name
                quoted = str(path).replace("'", "''")
                connection.execute(f"CREATE VIEW {view} AS FROM read_parquet('{quoted}')")
        reading.at = workspace.tables(repo)
        yield connection


def read_tables(
    workspace: Workspace, repo: str, columns: Mapping[str, Sequence[str]]
) -> dict[str, pa.Table]:
    """Return some columns of some tables, for questions that take no database.

    Raises `WorkspaceError` as `open_tables` does.
    """
    tables = {}
    with _named_failures(workspace, repo) as reading:
        for name, column_names in columns.items():
            reading.at = workspace.table(repo, name)
            tables[name] = read_table(reading.at, column_names)
    return tables


@dataclass(slots=True)
class _Reading:
    """What is being read, for errors that do not tell."""

    at: Path


@contextmanager
def _named_failures(workspace: Workspace, repo: str) -> Iterator[_Reading]:
    """Say of a table that cannot be read which one it is and what makes it again."""
    if not workspace.table(repo, "entries").exists():
        raise WorkspaceError(
            f"{workspace.root} holds no tables of {repo}", f"Run goldpan mine --repo {repo}"
        )
    check_outputs(workspace.tables(repo), "normalize")
    reading = _Reading(workspace.tables(repo))
    try:
        yield reading
    except (duckdb.Error, pa.ArrowException, DamagedError, FileNotFoundError) as error:
        if told_otherwise(error):
            raise
        raise WorkspaceError(
            f"{reading.at} cannot be read ({str(error).splitlines()[0]})",
            f"Make the tables again with goldpan normalize --repo {repo}",
        ) from error
