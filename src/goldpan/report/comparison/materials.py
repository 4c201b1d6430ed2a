"""The rows behind predictions, read from the workspace where they still are."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from goldpan.core.errors import DatasetError
from goldpan.core.workspace import Workspace
from goldpan.datasets.provenance import PROVENANCE
from goldpan.datasets.task import Task
from goldpan.datasets.task_data import read_task_data, task_directory
from goldpan.datasets.task_rows import input_column, target_column
from goldpan.evaluation.comparison_units import split_of
from goldpan.evaluation.runs import Run

_BATCH = 4_096


@dataclass(frozen=True, slots=True)
class TaskRow:
    """A test row."""

    text: str
    row_value: Any
    """As the task's rows hold it."""
    target: Any


@dataclass(frozen=True, slots=True)
class TaskRows:
    """The rows of one task that were asked for."""

    rows: Mapping[str, TaskRow]


def read_task_rows(
    workspace: Workspace, task: Task, runs: Iterable[Run], ids: Collection[str]
) -> TaskRows | str:
    """Read the rows of a task, or say why they are no help: they are not those of the runs."""
    directory = task_directory(workspace, task)
    if not (directory / PROVENANCE).exists():
        return f"The rows of {task.name} are not in the workspace"
    input_name, target = input_column(task.type).name, target_column(task.type).name
    rows: dict[str, TaskRow] = {}
    try:
        data = read_task_data(directory, task)
    except DatasetError as error:
        return error.problem
    if any(split_of(run) != (data.data_hash, data.split_hash) for run in runs):
        return f"The rows of {task.name} in the workspace are not those that were tested"
    # A batch at a time: rows as Python objects take many times the room.
    for batch in data.splits["test"].to_batches(_BATCH) if "test" in data.splits else ():
        for row in batch.filter(
            pc.is_in(batch["id"], pa.array(sorted(ids), pa.string()))
        ).to_pylist():
            value = row[input_name]
            text = value if isinstance(value, str) else " ".join(value)
            rows[row["id"]] = TaskRow(text, value, row[target])
    return TaskRows(rows)
