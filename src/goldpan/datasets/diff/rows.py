"""Compares the rows of two versions by hashes: texts are read in passing and none is kept."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from goldpan.core.errors import DatasetError
from goldpan.core.query import connect_alone
from goldpan.core.resources import told_otherwise
from goldpan.datasets.diff.version import DatasetVersion

_NUMBERS = ("issue", "pull")


@dataclass(frozen=True, slots=True)
class SharedColumns:
    """Which columns two versions have in common."""

    same: tuple[str, ...]
    added: tuple[str, ...]
    gone: tuple[str, ...]
    retyped: tuple[str, ...]


def shared_columns(old: DatasetVersion, new: DatasetVersion) -> SharedColumns:
    """Return which columns can be compared."""
    before, after = old.schema, new.schema
    both = [name for name in after.names if name in before.names]
    same = [name for name in both if before.field(name).type == after.field(name).type]
    return SharedColumns(
        tuple(same),
        tuple(name for name in after.names if name not in before.names),
        tuple(name for name in before.names if name not in after.names),
        tuple(name for name in both if name not in same),
    )


@contextmanager
def open_differences(
    old: DatasetVersion, new: DatasetVersion, columns: SharedColumns
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Give a database with the table `differences`, one row a row that is not the same in both.

    Its columns are id, change, columns, old_split, new_split, repo, issue, pull, moment and an
    empty reason. Memory follows the number of rows, 8 bytes a column, not the length of their
    texts. Raises `DatasetError` for a file that cannot be read.
    """
    with (
        tempfile.TemporaryDirectory(prefix="goldpan-diff-") as scratch,
        connect_alone() as connection,
    ):
        connection.execute(f"SET temp_directory = {_quoted(scratch)}")
        connection.execute("SET preserve_insertion_order = false")
        try:
            connection.execute(_comparison(old, new, columns))
            yield connection
        except duckdb.Error as error:
            if told_otherwise(error):
                raise
            raise DatasetError(
                f"{old.directory} and {new.directory} cannot be compared "
                f"({str(error).splitlines()[0]})",
                "Build both with this version of Goldpan",
            ) from error


def parquet_scan(paths: Sequence[Path]) -> str:
    """Return SQL that reads Parquet files, whatever signs their names have."""
    return f"read_parquet([{', '.join(map(_path, paths))}], hive_partitioning = false)"


def _path(path: Path) -> str:
    return _quoted("".join(f"[{sign}]" if sign in "*?[" else sign for sign in str(path)))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _comparison(old: DatasetVersion, new: DatasetVersion, columns: SharedColumns) -> str:
    compared = [name for name in columns.same if name != "id"]
    differing = ", ".join(
        f"CASE WHEN o.h{at} IS DISTINCT FROM n.h{at} THEN {_quoted(name)} END"
        for at, name in enumerate(compared)
    )
    either = ", ".join(
        f"coalesce(n.{name}, o.{name}) AS {name}" for name in ("repo", *_NUMBERS, "moment")
    )
    differ = f"list_filter([{differing}]::VARCHAR[], lambda x: x IS NOT NULL)"
    return f"""
        CREATE TABLE differences AS
        WITH o AS ({_side(old, compared)}), n AS ({_side(new, compared)}), joined AS (
            SELECT coalesce(n.id, o.id) AS id, o.split AS old_split, n.split AS new_split,
                   CASE WHEN o.id IS NULL OR n.id IS NULL THEN [] ELSE {differ} END AS columns,
                   {either}
            FROM o FULL JOIN n ON o.id = n.id
        )
        SELECT *,
               CASE WHEN old_split IS NULL THEN 'added'
                    WHEN new_split IS NULL THEN 'gone'
                    WHEN len(columns) > 0 THEN 'changed'
                    ELSE 'moved' END AS change,
               NULL::VARCHAR AS reason
        FROM joined
        WHERE old_split IS DISTINCT FROM new_split OR len(columns) > 0
    """  # noqa: S608 - names of columns and files are quoted


def _side(version: DatasetVersion, compared: Sequence[str]) -> str:
    names = version.schema.names
    hashes = "".join(f", hash({_name(name)}) AS h{at}" for at, name in enumerate(compared))
    repo = "repo::VARCHAR" if "repo" in names else "NULL::VARCHAR"
    numbers = ", ".join(
        f"{f'TRY_CAST({name} AS BIGINT)' if name in names else 'NULL::BIGINT'} AS {name}"
        for name in _NUMBERS
    )
    timed = "created_at" in names and str(version.schema.field("created_at").type).startswith(
        "timestamp"
    )
    moment = "created_at::TIMESTAMPTZ" if timed else "NULL::TIMESTAMPTZ"
    return " UNION ALL ".join(
        f"SELECT id::VARCHAR AS id, {_quoted(split)} AS split, {repo} AS repo, {numbers}, "  # noqa: S608 - quoted
        f"{moment} AS moment{hashes} FROM {parquet_scan(paths)}"
        for split, paths in sorted(version.shards.items())
    )
