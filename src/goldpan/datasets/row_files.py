"""Writes rows that a question to a dataset gave: Parquet, JSON lines or CSV, by the file's name."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa

from goldpan.core.errors import DatasetError, UsageError
from goldpan.core.parquet import Writer
from goldpan.core.resources import unwritable


def check_form(path: Path) -> None:
    """Raise `UsageError` where a file's name does not say in which form to write it."""
    if path.suffix.lower() not in _WRITERS:
        raise UsageError(
            f"{path} does not end in the name of a format", f"End it in {', '.join(_WRITERS)}"
        )


def write_rows(rows: pa.RecordBatchReader, path: Path) -> None:
    """Write rows in the place of a file; a list is joined by blanks in CSV.

    Raises `UsageError` for a file of another form, and `DatasetError` where it cannot be written.
    """
    check_form(path)
    try:
        _WRITERS[path.suffix.lower()](rows, path)
    except OSError as error:
        raise unwritable(path, error, DatasetError) from None


def _parquet(rows: pa.RecordBatchReader, path: Path) -> None:
    with Writer(path, rows.schema) as target:
        for batch in rows:
            target.write_table(pa.Table.from_batches([batch]))


def _json_lines(rows: pa.RecordBatchReader, path: Path) -> None:
    with path.open("wb") as file:
        for row in _rows_of(rows):
            file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))


def _csv(rows: pa.RecordBatchReader, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(rows.schema.names)
        for row in _rows_of(rows):
            writer.writerow(
                " ".join(map(str, value)) if isinstance(value, list) else value
                for value in row.values()
            )


def _rows_of(rows: pa.RecordBatchReader) -> Iterable[dict[str, Any]]:
    for batch in rows:
        yield from batch.to_pylist()


_WRITERS: dict[str, Callable[[pa.RecordBatchReader, Path], None]] = {
    ".parquet": _parquet,
    ".jsonl": _json_lines,
    ".csv": _csv,
}
