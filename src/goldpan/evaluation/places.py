"""Whether an issue names the places that its fix changes, as an audit found: a column to score by.

Models look better than they are where the question holds the place (Kochhar et al., ASE 2014).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from goldpan.core.parquet import read_table
from goldpan.core.sealed import file_digest, read_lineage
from goldpan.core.workspace import Workspace
from goldpan.datasets.provenance import shard_paths
from goldpan.datasets.task import Task
from goldpan.datasets.task_data import TaskData
from goldpan.evaluation.score import PATCHES, PATHS

PLACE = "place-in-issue"
"""The finding, and the column: fully, partly, not-named or cannot-tell."""


def read_places(workspace: Workspace, task: Task, dataset: Path) -> Mapping[str, str]:
    """Return the case of each row; nothing for other tasks, and where no audit of it looked."""
    path = workspace.findings(dataset)
    if task.source.builder not in (PATHS, PATCHES) or not path.is_file():
        return {}
    audited = read_lineage(path.parent, "audit")["inputs"]
    shards = shard_paths(dataset) if dataset.is_dir() else [dataset]
    if any(audited.get(shard.name) != file_digest(shard) for shard in shards):
        return {}
    table = read_table(path, ["id", "finding", "verdict", "case"])
    return {
        row["id"]: row["verdict"] if row["verdict"] == "cannot-tell" else row["case"]
        for row in table.to_pylist()
        if row["finding"] == PLACE
    }


def with_places(data: TaskData, places: Mapping[str, str]) -> TaskData:
    """Return a task's rows with their cases; its hashes stay."""
    splits = {
        name: rows.append_column(
            PLACE, pa.array([places.get(row) for row in rows["id"].to_pylist()], pa.string())
        )
        for name, rows in data.splits.items()
    }
    return replace(data, splits=splits)
