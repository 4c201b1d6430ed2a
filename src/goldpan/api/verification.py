"""What `Workspace.verify` and `Workspace.resolved` do with a dataset's rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from goldpan.api.dataset import Dataset
from goldpan.core.engine import EngineName
from goldpan.core.errors import UsageError
from goldpan.core.progress import Reporter
from goldpan.core.workspace import Workspace as Layout
from goldpan.datasets.issue_resolution import ISSUE_RESOLUTION
from goldpan.evaluation.resolved import ResolvedResult, patches_of, read_patches, summarize
from goldpan.evaluation.resolved_files import write_resolved
from goldpan.execution.records import Settings, instance_of
from goldpan.execution.resolve import resolve_all
from goldpan.execution.verify_all import Verification, verify_all


def verify(
    layout: Layout,
    data: str | Path | Dataset,
    settings: Settings,
    reporter: Reporter,
    recipes: Sequence[str | Path],
    workers: int,
    engine: EngineName,
    address: str,
    again: bool,
) -> Verification:
    """Prove the rows of a dataset; see `Workspace.verify`."""
    return verify_all(
        layout,
        [instance_of(row) for row in _rows(data)],
        settings,
        reporter,
        recipes=[Path(path) for path in recipes],
        workers=workers,
        engine=engine,
        address=address,
        again=again,
    )


def resolved(
    layout: Layout,
    data: str | Path | Dataset,
    predictions: Path,
    settings: Settings,
    reporter: Reporter,
    recipes: Sequence[str | Path],
    workers: int,
    engine: EngineName,
    address: str,
) -> ResolvedResult:
    """Score patches by execution; see `Workspace.resolved`."""
    rows = _rows(data)
    patches = patches_of(rows, read_patches(predictions))
    resolutions = resolve_all(
        layout,
        [instance_of(row) for row in rows],
        patches,
        settings,
        reporter,
        recipes=[Path(path) for path in recipes],
        workers=workers,
        engine=engine,
        address=address,
    )
    result = summarize(resolutions, patches)
    write_resolved(predictions, result)
    return result


def _rows(data: str | Path | Dataset) -> list[dict[str, Any]]:
    dataset = data if isinstance(data, Dataset) else Dataset(data)
    if dataset.family != ISSUE_RESOLUTION.name:
        raise UsageError(
            f"{dataset.path} is of the family {dataset.family}, whose rows have no tests",
            f"Run goldpan build {ISSUE_RESOLUTION.name} --profile verified",
        )
    rows: list[dict[str, Any]] = dataset.to_arrow().to_pylist()
    return rows
