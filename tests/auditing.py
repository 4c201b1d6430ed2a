"""Rows to audit, and audits whose verdicts are planted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson

from goldpan import Workspace
from goldpan.audit.finding import Span
from goldpan.audit.rows import Row, read_rows
from goldpan.audit.stored_audit import STAGE
from goldpan.core.schemas.stages import FINDINGS
from goldpan.core.storage.parquet import read_table
from goldpan.core.storage.sealed import read_lineage, seal_of_parquet, write_lineage
from tests.table_rows import put_rows


def row_of(columns: Mapping[str, Any], folder: Path) -> Row:
    """Return the one row of a file of these columns, as an audit reads it."""
    file = folder / "rows.jsonl"
    file.write_bytes(orjson.dumps(columns))
    (row,) = read_rows(file)
    return row


def find_in(lab: Workspace, dataset: str, finding: str, row_id: str, evidence: str = "") -> str:
    """Change a stored audit so that it has a finding in a row; return the audit's digest."""
    directory = lab.path / "audits" / dataset
    rows = read_table(directory / "findings.parquet").to_pylist()
    (planted,) = [row for row in rows if row["id"] == row_id and row["finding"] == finding]
    planted |= {"verdict": "found", "why": "planted", "remedy": None}
    if evidence:
        planted["evidence"] = [asdict(Span("patch", None, "diff", 0, 0, evidence))]
    put_rows(directory / "findings.parquet", FINDINGS.schema, rows)
    inputs = read_lineage(directory, STAGE)["inputs"]
    write_lineage(directory, STAGE, inputs, [directory / "findings.parquet"])
    return seal_of_parquet(directory / "findings.parquet")
