"""Tables written from rows that name only what a test is about; other columns are null."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from goldpan.core.schemas.table import TableSchema
from goldpan.core.storage.parquet import write_table
from goldpan.core.storage.workspace import WorkspaceLayout


def put_rows(path: Path, schema: pa.Schema, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows as a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_table(pa.Table.from_pylist([dict(row) for row in rows], schema=schema), path)


def put_table(
    workspace: WorkspaceLayout, repo: str, table: TableSchema, rows: Iterable[Mapping[str, Any]]
) -> None:
    """Write rows as a table of a repository."""
    path = workspace.table(repo, table.name)
    put_rows(path, table.schema, ({"repo": repo, **row} for row in rows))
