"""`goldpan.evaluate`: models on tasks and datasets, wherever their runs are kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from goldpan.api.evaluation import Evaluation
from goldpan.operations.dataset import Dataset
from goldpan.operations.workspace import Workspace


def evaluate(
    data: str | Dataset | Iterable[str | Dataset],
    *,
    model: str | Iterable[str] = "majority",
    seeds: Iterable[int] | None = None,
    settings: Mapping[str, Any] | None = None,
    protocol: str = "default",
    workspace: Workspace | str | Path | None = None,
) -> Evaluation:
    """Run models on a task or a dataset, once per seed, and return the runs with their scores.

    Runs are kept in `workspace`, by default that of the dataset. A finished one is not run again.
    """
    if workspace is None and isinstance(data, Dataset):
        workspace = data.workspace
    lab = workspace if isinstance(workspace, Workspace) else Workspace(workspace)
    return lab.evaluate(data, model=model, seeds=seeds, settings=settings, protocol=protocol)
