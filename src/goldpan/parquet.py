"""Writes tables as Parquet: the same rows give the same bytes."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from goldpan.records import Table

_ROW_GROUP = 65_536


def writer(path: Path, table: Table) -> pq.ParquetWriter:
    """Open a table's file with the settings that all tables share."""
    return pq.ParquetWriter(path, table.schema, compression="zstd", compression_level=3)


def write(target: pq.ParquetWriter, table: Table, repo: str, rows: pa.Table) -> None:
    """Write sorted rows in the table's columns, with the repository's name where it lacks."""
    if "repo" in table.schema.names and "repo" not in rows.column_names:
        rows = rows.append_column("repo", pa.repeat(pa.scalar(repo, pa.string()), len(rows)))
    rows = rows.select(table.schema.names).cast(table.schema)
    target.write_table(rows, row_group_size=_ROW_GROUP)
