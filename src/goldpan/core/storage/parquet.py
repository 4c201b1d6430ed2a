"""Tables as Parquet files: written, read, and asked by DuckDB; damage is found.

The same rows give the same bytes. Pages bear checksums, and the file its own digest (`sealed.py`),
which also holds for what no page is: DuckDB reads neither, so it is given only files that were
verified.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from goldpan.core.errors import DamagedError, GoldpanError, WorkspaceError, question
from goldpan.core.resources import named, told_otherwise
from goldpan.core.schemas.table import TableSchema
from goldpan.core.storage.sealed import EMPTY, KEY, check_outputs, seal_parquet, verify_parquet
from goldpan.core.storage.workspace import WorkspaceLayout, make_directory, replacing_file

if TYPE_CHECKING:
    import duckdb


@contextmanager
def writer(path: Path, schema: pa.Schema) -> Iterator[pq.ParquetWriter]:
    """Give a file with the settings that all tables share to `write` to; it is sealed when whole.

    Raises `OSError` that names the file.
    """
    with named(path):
        target = pq.ParquetWriter(
            path, schema, compression="zstd", compression_level=3, write_page_checksum=True
        )
    try:
        yield target
        with named(path):
            target.add_key_value_metadata({KEY: EMPTY})
            target.close()
            seal_parquet(path)
    finally:
        target.is_open = False  # or it would tell again of what kept it from being closed


def write(target: pq.ParquetWriter, rows: pa.Table, repo: str = "") -> None:
    """Write sorted rows in the file's columns, with the repository's name where they lack it.

    Raises `OSError` that names the file.
    """
    names = target.schema.names
    if "repo" in names and "repo" not in rows.column_names:
        rows = rows.append_column("repo", pa.repeat(pa.scalar(repo, pa.string()), len(rows)))
    with named(Path(target.where)):
        target.write_table(rows.select(names).cast(target.schema), row_group_size=65_536)


def replace_table(
    path: Path,
    table: TableSchema,
    rows: pa.Table,
    repo: str = "",
    metadata: Mapping[bytes, bytes] | None = None,
) -> None:
    """Write sorted rows in the place of a table's file."""
    make_directory(path.parent)
    with replacing_file(path) as draft, writer(draft, table.schema) as target:
        target.add_key_value_metadata(metadata or {})
        write(target, rows, repo)


def write_table(rows: pa.Table, path: Path) -> None:
    """Write rows to a file of their own."""
    with writer(path, rows.schema) as target:
        write(target, rows)


def read_table(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Read a file; raises `OSError` where it is damaged or cannot be read."""
    with open_file(path) as file:
        if columns is None:
            return file.read()
        if missing := [name for name in columns if name not in file.schema_arrow.names]:
            raise OSError(f"{path} has no column {missing[0]}")
        return file.read(list(columns)).select(list(columns))


@contextmanager
def reading(path: Path, remedy: str, kind: type[GoldpanError] = WorkspaceError) -> Iterator[None]:
    """Turn what keeps a file from being read into an error of `kind` with a remedy."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        problem = f"{path} cannot be read ({str(error).splitlines()[0]})"
        raise kind(problem, remedy) from error


def open_file(path: Path) -> pq.ParquetFile:
    """Open a file to read it in parts; raises as `read_table` does."""
    return pq.ParquetFile(verify_parquet(path), page_checksum_verification=True)


def read_metadata(path: Path) -> Mapping[bytes, bytes]:
    """Return the keys of a file; raises as `read_table` does."""
    metadata: Any = pq.read_metadata(verify_parquet(path)).metadata
    return metadata or {}


def count_rows(path: Path) -> int:
    """Return how many rows a file has; raises as `read_table` does."""
    return int(pq.read_metadata(verify_parquet(path)).num_rows)


# DuckDB's progress bar would go to standard output, where programs read JSON.
_SESSION = "SET TimeZone = 'UTC'; SET enable_progress_bar = false"
# Small row groups let all cores work on one repository's texts.
_OWN = "ATTACH ':memory:' AS own (ROW_GROUP_SIZE 8192); USE own"


def connect() -> duckdb.DuckDBPyConnection:
    """Return an empty database in memory that speaks UTC and prints nothing; a context manager."""
    connection = connect_alone()
    connection.execute(_OWN)
    return connection


def second(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Return a connection to the same tables and views, to ask while the first still answers."""
    other = connection.cursor()
    other.execute(f"{_SESSION}; USE own")
    return other


def connect_alone() -> duckdb.DuckDBPyConnection:
    """Return an empty database in memory as DuckDB makes it."""
    import duckdb  # which takes long; most who write tables ask nothing

    connection = duckdb.connect()
    connection.execute(_SESSION)
    return connection


@contextmanager
def open_tables(
    workspace: WorkspaceLayout, repo: str, names: Sequence[str], *, optional: Sequence[str] = ()
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Give a connection with a view a table; `references`, a word of SQL, is called `refs`.

    Raises `WorkspaceError` where a table is not there or damaged, also while it is queried, or
    not of the same run as the others.
    """
    with _named_failures(workspace, repo) as opened, connect() as connection:
        for name in (*names, *optional):
            path = workspace.table(repo, name)
            if name in names or path.exists():
                opened.append(path)
                verify_parquet(path)
                view = "refs" if name == "references" else name
                quoted = str(path).replace("'", "''")
                connection.execute(f"CREATE VIEW {view} AS FROM read_parquet('{quoted}')")
        opened.append(workspace.tables(repo))
        yield connection


def read_tables(
    workspace: WorkspaceLayout, repo: str, columns: Mapping[str, Sequence[str]]
) -> dict[str, pa.Table]:
    """Return some columns of some tables, for questions that take no database.

    Raises `WorkspaceError` as `open_tables` does.
    """
    tables = {}
    with _named_failures(workspace, repo) as opened:
        for name, column_names in columns.items():
            opened.append(workspace.table(repo, name))
            tables[name] = read_table(opened[-1], column_names)
    return tables


@contextmanager
def _named_failures(workspace: WorkspaceLayout, repo: str) -> Iterator[list[Path]]:
    """Say of a table that cannot be read which one it is and what makes it again.

    It is the last of the given paths, to which whoever reads adds.
    """
    import duckdb

    if not workspace.table(repo, "entries").exists():
        near = question(repo, workspace.repositories("tables"), 3)
        raise WorkspaceError(
            f"{workspace.root} holds no tables of {repo}", near or f"Run goldpan mine --repo {repo}"
        )
    check_outputs(workspace.tables(repo), "normalize")
    opened = [workspace.tables(repo)]
    try:
        yield opened
    except (duckdb.Error, pa.ArrowException, DamagedError, FileNotFoundError) as error:
        if told_otherwise(error):
            raise
        raise WorkspaceError(
            f"{opened[-1]} cannot be read ({str(error).splitlines()[0]})",
            f"Make the tables again with goldpan normalize --repo {repo}",
        ) from error
