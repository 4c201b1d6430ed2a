"""Rows of the tasks that share a task's data, fit to learn from together with it.

Sources such as NLBSE'23 ask several questions of the same sentences, each with a partition of its
own: a sentence may be train for one and test for another. A model that learns from all questions
at once would then have seen answers of test sentences. Only texts that are train in every task
that has them may be shared.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from goldpan.core.workspace import Workspace
from goldpan.datasets.provenance import PROVENANCE
from goldpan.datasets.registry import load_tasks, tasks_directory
from goldpan.datasets.task import Task
from goldpan.datasets.task_data import read_task_data, task_directory


def sibling_rows(workspace: Workspace, task: Task) -> Mapping[str, pa.Table]:
    """Return train rows by task, of those in the workspace that share the data and the type.

    The task itself is among them. A text is told apart by its document and its place there.
    """
    tables = {}
    closed: set[str] = set()
    for name, other in load_tasks(tasks_directory(workspace.root)).items():
        directory = task_directory(workspace, other)
        alike = (other.source.dataset, other.type) == (task.source.dataset, task.type)
        if not alike or not (directory / PROVENANCE).exists():
            continue
        splits = read_task_data(directory, other).splits
        tables[name] = splits["train"]
        for split, table in splits.items():
            if split != "train":
                closed.update(_row_origins(table))
    return {
        name: table.filter(pa.array([key not in closed for key in _row_origins(table)], pa.bool_()))
        for name, table in tables.items()
    }


def _row_origins(table: pa.Table) -> list[str]:
    columns = (table[name].to_pylist() for name in ("repo", "document", "position", "text"))
    return [repr(key) for key in zip(*columns, strict=True)]
