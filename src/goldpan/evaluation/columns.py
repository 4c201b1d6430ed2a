"""Columns by which rows are grouped: project, document, or any other that the dataset holds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from goldpan.core.errors import DatasetError, UsageError
from goldpan.datasets.provenance import shard_paths
from goldpan.datasets.task_data import TaskData

NO_VALUE = "(none)"
_LONGEST = 200


def with_columns(data: TaskData, directory: Path, names: Iterable[str]) -> TaskData:
    """Return a task's rows with these columns of their dataset; its hashes stay.

    Raises `UsageError` for a column that the dataset has not, `DatasetError` where it cannot be
    read.
    """
    present = next(iter(data.splits.values())).column_names
    missing = [name for name in dict.fromkeys(names) if name not in present]
    if not missing:
        return data
    splits = {
        name: _added(rows, _read(directory, name, missing), missing)
        for name, rows in data.splits.items()
    }
    return replace(data, splits=splits)


def values_of(rows: pa.Table, column: str) -> list[str]:
    """Return what groups each row: the value as text, the year of a time, `(none)` for none."""
    return [_text(value) for value in rows[column].to_pylist()]


def _text(value: Any) -> str:
    if value is None:
        return NO_VALUE
    if isinstance(value, datetime):
        return str(value.year)
    if isinstance(value, list):
        return ", ".join(map(str, value))[:_LONGEST] or NO_VALUE
    return str(value)[:_LONGEST] or NO_VALUE


def _read(directory: Path, split: str, columns: list[str]) -> pa.Table:
    paths = shard_paths(directory, split)
    try:
        present = [name for name in pq.read_schema(paths[0]).names if name != "id"]
        if missing := [name for name in columns if name not in present]:
            raise UsageError(
                f"The rows in {directory} have no column {missing[0]!r}",
                f"They have {', '.join(present)}",
            )
        return pa.concat_tables(pq.read_table(path, columns=["id", *columns]) for path in paths)
    except (OSError, IndexError, pa.ArrowException) as error:
        message = (str(error).splitlines() or ["no file"])[0]
        raise DatasetError(
            f"{directory} cannot be read ({message})", "Import or build the dataset again"
        ) from None


def _added(rows: pa.Table, columns: pa.Table, names: list[str]) -> pa.Table:
    positions = {name: position for position, name in enumerate(columns["id"].to_pylist())}
    order = pa.array([positions[name] for name in rows["id"].to_pylist()], pa.int64())
    for name in names:
        rows = rows.append_column(name, columns[name].take(order))
    return rows
