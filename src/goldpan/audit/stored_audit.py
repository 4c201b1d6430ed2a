"""The stored audit of a dataset, as far as it is of exactly these bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from goldpan.audit.finding import NAMES, FindingName, count_rows
from goldpan.core.errors import DatasetError, GoldpanError
from goldpan.core.lineage import read_lineage
from goldpan.core.parquet import read_table, reading
from goldpan.core.sealed import file_digest, seal_of_parquet
from goldpan.core.workspace import Workspace
from goldpan.datasets.card import state_audit
from goldpan.datasets.provenance import PROVENANCE, shard_paths

STAGE = "audit"
_BATCH = 1_000
_VERDICT = pa.struct([("verdict", pa.string()), ("case", pa.string())])
Verdicts = Mapping[str, Mapping[str, Any]]
"""Verdict and case of a row, by finding."""


@dataclass(frozen=True, slots=True)
class StoredAudit:
    """What `goldpan audit` found in a dataset."""

    digest: str
    """Of the table of findings."""
    rows: Mapping[str, Mapping[FindingName, Mapping[str, Any]]]
    """The findings as the table has them, by the row's id and the finding's name."""

    @property
    def names(self) -> tuple[FindingName, ...]:
        """The findings that were looked for."""
        found = {name for row in self.rows.values() for name in row}
        return tuple(name for name in NAMES if name in found)

    @property
    def sentence(self) -> str:
        """How many rows are free of what was looked for, and of how many that cannot be told."""
        return count_rows(
            [{name: row[name]["verdict"] for name in row} for row in self.rows.values()]
        ).sentence

    def verdicts(self) -> dict[str, Verdicts]:
        """Return verdict and case of each finding, by the row's id."""
        return {
            row_id: {
                name: {"verdict": row[name]["verdict"], "case": row[name]["case"] or ""}
                for name in self.names
                if name in row
            }
            for row_id, row in self.rows.items()
        }

    def join(self, table: pa.Table) -> pa.Table:
        """Return rows with verdict and case of each finding as a column."""
        verdicts = self.verdicts()
        for name in self.names:
            values = [verdicts.get(row_id, {}).get(name) for row_id in table["id"].to_pylist()]
            table = table.append_column(name, pa.array(values, _VERDICT))
        return table


def find_audit(
    workspace: Workspace, dataset: Path, files: Mapping[str, str] | None = None
) -> StoredAudit | GoldpanError:
    """Return the audit as `read_audit` does, or why there is none that counts."""
    try:
        return read_audit(workspace, dataset, files)
    except GoldpanError as error:
        return error


def stored_sentence(workspace: Workspace, dataset: Path, files: Mapping[str, str]) -> str:
    """Return the sentence of the audit of exactly these files; empty where there is none."""
    audit = find_audit(workspace, dataset, files)
    return audit.sentence if isinstance(audit, StoredAudit) else ""


def _is_of(workspace: Workspace, dataset: Path) -> bool:
    return dataset.parent.resolve() == (workspace.root / "datasets").resolve()


def state_on_card(workspace: Workspace, dataset: Path) -> None:
    """Write what the audit of a dataset of the workspace found into its card, if it has one."""
    if _is_of(workspace, dataset) and (dataset / PROVENANCE).is_file():
        state_audit(dataset, read_audit(workspace, dataset).sentence)


def read_audit(
    workspace: Workspace, dataset: Path, files: Mapping[str, str] | None = None
) -> StoredAudit:
    """Return the audit of a dataset's directory or of a table's file.

    `files` are the digests of its files by name, where they are not in their place yet. Raises
    `DatasetError` where there is no audit, or where it is of other bytes, and `WorkspaceError`
    where it is damaged.
    """
    path = workspace.findings(dataset)
    # A page that shows it says the same wherever the dataset lies.
    remedy = f"Run goldpan audit {dataset.name if _is_of(workspace, dataset) else 'DIRECTORY'}"
    if not path.exists():
        raise DatasetError(f"{dataset.name} was not audited", remedy)
    with reading(path, remedy):
        if files is None:
            paths = shard_paths(dataset) if dataset.is_dir() else [dataset]
            files = {shard.name: file_digest(shard) for shard in paths}
        digest = seal_of_parquet(path)
        about = read_lineage(path.parent, STAGE)
        table = read_table(path)
    kinds = {Path(name).suffix for name in files}
    audited = {
        name: content
        for name, content in about["inputs"].items()
        if "/" not in name and Path(name).suffix in kinds
    }
    if audited != files or about["outputs"].get(path.name) != digest:
        raise DatasetError(f"The audit of {dataset.name} is of other rows", remedy)
    rows: dict[str, dict[FindingName, Mapping[str, Any]]] = {}
    for batch in table.to_batches(max_chunksize=_BATCH):
        for finding in batch.to_pylist():
            rows.setdefault(finding["id"], {})[finding["finding"]] = finding
    return StoredAudit(digest, rows)
