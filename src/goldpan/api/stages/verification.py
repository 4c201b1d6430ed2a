"""Tests of a dataset's rows, run before and after fixes and patches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldpan.core.errors import UsageError
from goldpan.core.workspace import existing

if TYPE_CHECKING:
    from goldpan.api.dataset import Dataset
    from goldpan.core.engine import EngineName
    from goldpan.evaluation.resolved import ResolvedResult
    from goldpan.execution.isolation import IsolationName
    from goldpan.execution.network import NetworkName
    from goldpan.execution.verify_all import Verification
    from goldpan.operations.workspace import Workspace


def verify(
    self: Workspace,
    data: str | Path | Dataset,
    *,
    isolation: IsolationName = "auto",
    image: str = "",
    recipes: Sequence[str | Path] = (),
    network: NetworkName = "index",
    repeats: int = 3,
    seconds: float = 1_800,
    memory: int = 8 << 30,
    disk: int = 16 << 30,
    workers: int = 1,
    engine: EngineName = "local",
    address: str = "",
    again: bool = False,
) -> Verification:
    """Run the tests of a dataset's rows before and after each fix, and keep what that proves.

    `data` is a dataset of the family ``issue-resolution``; histories come from the workspace.
    Each state runs `repeats` times, a run at most `seconds` with `memory` bytes a process
    and `disk` bytes written. Building reaches the package index alone, with
    ``network="full"`` all that this machine reaches.
    `build` with ``verified=True`` then takes the proved rows.
    """
    from goldpan.execution.records import Settings, instance_of
    from goldpan.execution.verify_all import verify_all

    _check_uv(recipes)
    settings = Settings(
        repeats, seconds, memory, disk=disk, isolation=isolation, image=image, network=network
    )
    layout = existing(self.layout)
    with self.reporting() as reporter:
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
    self: Workspace,
    data: str | Path | Dataset,
    predictions: str | Path,
    *,
    isolation: IsolationName = "auto",
    image: str = "",
    recipes: Sequence[str | Path] = (),
    network: NetworkName = "index",
    seconds: float = 1_800,
    memory: int = 8 << 30,
    disk: int = 16 << 30,
    workers: int = 1,
    engine: EngineName = "local",
    address: str = "",
) -> ResolvedResult:
    """Score a model's patches by running the tests of a dataset whose rows are verified.

    `predictions` is a file of JSON lines with ``instance_id`` and ``model_patch`` (a git diff
    or SEARCH/REPLACE blocks), or a run's ``predictions.parquet``. A row without one scores 0.
    """
    from goldpan.evaluation.resolved import patches_of, read_patches, summarize
    from goldpan.evaluation.resolved_files import write_resolved
    from goldpan.execution.records import Settings, instance_of
    from goldpan.execution.resolve import resolve_all

    _check_uv(recipes)
    settings = Settings(
        1, seconds, memory, disk=disk, isolation=isolation, image=image, network=network
    )
    layout, file = existing(self.layout), Path(predictions)
    rows = _rows(data)
    patches = patches_of(rows, read_patches(file))
    with self.reporting() as reporter:
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
    write_resolved(file, result)
    return result


def _check_uv(recipes: Sequence[str | Path]) -> None:
    """Stop before anything is read where uv is missing, unless recipes of one's own may do."""
    from goldpan.execution.python_env import find_uv

    if not recipes:
        find_uv()


def _rows(data: str | Path | Dataset) -> list[dict[str, Any]]:
    from goldpan.api.dataset import Dataset
    from goldpan.datasets.issue_resolution import ISSUE_RESOLUTION

    dataset = data if isinstance(data, Dataset) else Dataset(data)
    if dataset.family != ISSUE_RESOLUTION.name:
        raise UsageError(
            f"{dataset.path} is of the family {dataset.family}, whose rows have no tests",
            f"Run goldpan build {ISSUE_RESOLUTION.name} --profile verified",
        )
    rows: list[dict[str, Any]] = dataset.to_arrow().to_pylist()
    return rows
