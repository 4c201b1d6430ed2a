"""The stored audit of a dataset, which counts for exactly these bytes, and checks of new rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from goldpan.audit.finding import NAMES, VERDICTS, FindingName, Verdict, chosen_findings, count_rows
from goldpan.audit.fixes import Fixes
from goldpan.audit.place import find_place
from goldpan.audit.rows import row_of
from goldpan.audit.solution import find_solution
from goldpan.builders.request import NOT, NOT_AUDITED, RowCheck
from goldpan.core.errors import DatasetError, GoldpanError, UsageError, WorkspaceError
from goldpan.core.storage.parquet import read_table, reading
from goldpan.core.storage.sealed import file_digest, read_lineage, seal_of_parquet
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.family import Family
from goldpan.datasets.provenance import shard_paths

STAGE = "audit"
_BATCH = 1_000
_VERDICT = pa.struct([("verdict", pa.string()), ("case", pa.string())])
Verdicts = Mapping[str, Mapping[str, Any]]
"""Verdict and case of a row, by finding."""


@dataclass(frozen=True, slots=True)
class StoredAudit:
    """The findings of `goldpan audit` on a dataset."""

    digest: str
    """The digest of the table of findings."""
    rows: Mapping[str, Mapping[FindingName, Mapping[str, Any]]]
    """The findings as the table has them, by the row's id and the finding's name."""

    @property
    def names(self) -> tuple[FindingName, ...]:
        """The findings that were looked for."""
        found = {name for row in self.rows.values() for name in row}
        return tuple(name for name in NAMES if name in found)

    @property
    def sentence(self) -> str:
        """How many rows are free of these findings, and for how many that is unknown."""
        return count_rows(
            [{name: row[name]["verdict"] for name in row} for row in self.rows.values()]
        ).sentence

    def verdicts(self) -> dict[str, Verdicts]:
        """Return verdict and case of each finding, by the row's id."""
        names = self.names
        return {
            row_id: {
                name: {"verdict": row[name]["verdict"], "case": row[name]["case"] or ""}
                for name in names
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


def find_audit(workspace: WorkspaceLayout, dataset: Path) -> StoredAudit | GoldpanError:
    """Return the audit as `read_audit` does, or the error that says why there is none."""
    try:
        return read_audit(workspace, dataset)
    except GoldpanError as error:
        return error


def is_of_workspace(workspace: WorkspaceLayout, dataset: Path) -> bool:
    """Return whether a dataset is one of the workspace's own."""
    return dataset.parent.resolve() == (workspace.root / "datasets").resolve()


def read_audit(workspace: WorkspaceLayout, dataset: Path) -> StoredAudit:
    """Return the audit of a dataset's directory or of a table's file.

    Raises `DatasetError` where there is no audit, or one of other bytes, and `WorkspaceError` where
    it is damaged.
    """
    path = workspace.findings(dataset)
    # A page that shows it says the same wherever the dataset lies.
    name = dataset.name if is_of_workspace(workspace, dataset) else "DIRECTORY"
    remedy = f"Run goldpan audit {name}"
    if not path.exists():
        raise DatasetError(f"{dataset.name} was not audited", remedy)
    with reading(path, remedy):
        files = row_digests(dataset)
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


def row_digests(dataset: Path) -> dict[str, str]:
    """Return the digests of the files that hold the rows, by name."""
    paths = shard_paths(dataset) if dataset.is_dir() else [dataset]
    return {path.name: file_digest(path) for path in paths}


# Findings that rows of a build must not have: `build FAMILY --require not:FINDING`. Those that row
# and fix show are looked for while the rows are made. Those that take test runs, stored runs or the
# whole history are read from the audits of the workspace, for rows that have not changed since.

_OF_ROWS = {"solution-in-issue": find_solution, "place-in-issue": find_place}
_FIX = frozenset({"patch", "diff", "changed_path"})
_NEEDS = {"solution-in-issue": _FIX | {"answer"}, "place-in-issue": _FIX}
_COLUMNS = ("id", "digest", "finding", "verdict")
_WORST = VERDICTS.index
"""The rank of a verdict where audits differ: found counts first, then cannot-tell."""
_Stored = Mapping[FindingName, Mapping[tuple[str, str], Verdict]]


def row_check(
    workspace: WorkspaceLayout, required: Sequence[str], family: Family
) -> RowCheck | None:
    """Return the check that drops rows with the findings that `required` names as not:FINDING.

    None where it names none. Raises `UsageError` for an unknown finding or one that rows of the
    family cannot have, and `WorkspaceError` where an audit is needed and the workspace has none.
    """
    names = chosen_findings([name.removeprefix(NOT) for name in required if name.startswith(NOT)])
    columns = set(family.schema.names)
    for name in names:
        if name in _NEEDS and not columns & _NEEDS[name]:
            raise UsageError(
                f"Rows of {family.name} have no fix, which {name} needs",
                f"Leave out --require {NOT}{name}",
            )
    if not names:
        return None
    stored, audits = _read_audits(workspace, names, family.name)
    absolute = replace(workspace, root=workspace.root.absolute())  # other processes see it
    verdicts = partial(_verdicts, absolute, names, stored)
    return RowCheck(tuple(f"{NOT}{name}" for name in names), verdicts, audits)


def _verdicts(
    workspace: WorkspaceLayout,
    names: Sequence[FindingName],
    stored: _Stored,
    rows: Sequence[Mapping[str, Any]],
) -> list[dict[str, str]]:
    """Return the verdicts on each row by requirement."""
    read = [row_of(columns, number) for number, columns in enumerate(rows, 1)]
    with Fixes(workspace) as fixes:
        return [
            {
                f"{NOT}{name}": _OF_ROWS[name](row, fix).verdict
                if name in _OF_ROWS
                else stored[name].get((row.id, row.digest), NOT_AUDITED)
                for name in names
            }
            for row, fix in zip(read, fixes.of(read), strict=True)
        ]


def _read_audits(
    workspace: WorkspaceLayout, names: Sequence[FindingName], family: str
) -> tuple[_Stored, dict[str, str]]:
    """Return stored verdicts by id and digest of the row, and the audits' digests by name."""
    stored: dict[FindingName, dict[tuple[str, str], Verdict]] = {
        name: {} for name in names if name not in _OF_ROWS
    }
    audits: dict[str, str] = {}
    for path in sorted((workspace.root / "audits").glob("*/findings.parquet")) if stored else ():
        with reading(path, f"Run goldpan audit {path.parent.name}"):
            table = read_table(path, _COLUMNS)
        of_family = pc.starts_with(table["id"], f"{family}:")
        for name, verdicts in stored.items():
            rows = table.filter(pc.and_(of_family, pc.equal(table["finding"], name))).to_pylist()
            for row in rows:
                key = row["id"], row["digest"]
                verdicts[key] = min(verdicts.get(key, row["verdict"]), row["verdict"], key=_WORST)
            if rows:
                audits[path.parent.name] = seal_of_parquet(path)
    for name, verdicts in stored.items():
        if not verdicts:
            raise WorkspaceError(
                f"No audit in {workspace.root} says which rows of {family} have {name}",
                f"Build them without --require {NOT}{name}, run goldpan audit {family} "
                "first, and build again",
            )
    return stored, audits
