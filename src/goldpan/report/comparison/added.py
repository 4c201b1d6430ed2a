"""Sections that papers and plugins add to the report, and the rows that they read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from goldpan.core.errors import DatasetError
from goldpan.core.plugin_parts import Kind
from goldpan.core.registry import Registry
from goldpan.core.workspace import Workspace
from goldpan.datasets.provenance import PROVENANCE
from goldpan.datasets.task import Task, input_column, target_column
from goldpan.datasets.task_data import read_task_data, task_directory
from goldpan.evaluation.comparison.question import ComparisonResult, split_of
from goldpan.evaluation.runs import Run
from goldpan.report.document import Section

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


RowsByTask = Mapping[str, TaskRows | str]
"""By task: its test rows, or why they cannot be read."""


def _no_rows(compared: ComparisonResult, task: Task) -> Sequence[str]:
    return ()


def _nothing(compared: ComparisonResult) -> None:
    return None


@dataclass(frozen=True, slots=True)
class ReportSection:
    """A section of the report, and what the summary says of it."""

    name: str
    make: Callable[[ComparisonResult, Mapping[str, Task], RowsByTask], Section | None]
    """Returns the section; None where there is nothing to say. Tables for papers are those that it
    has without tasks and rows."""
    sentence: Callable[[ComparisonResult], str | None] = _nothing
    """For the summary; None where there is nothing to say."""
    rows: Callable[[ComparisonResult, Task], Sequence[str]] = _no_rows
    """The ids of the test rows that it reads of `RowsByTask`."""
    plain: Callable[[ComparisonResult], Any] = _nothing
    """The value of the name in ``goldpan evaluate compare --json``; None leaves it out."""

    def parts(self) -> Iterable[tuple[Kind, str, object]]:
        """Return itself, as a plugin registers it."""
        return [("report section", self.name, self)]


SECTIONS: Registry[ReportSection] = Registry(
    "section", dict, "report section", lambda item: item[0]
)
