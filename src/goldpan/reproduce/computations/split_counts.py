"""Rows of tasks by split and label, counted in the authors' files.

Settings: `tasks`, by the table's row; `columns`, by its column a split (all of them if empty) and
the number of a label, from 0, in the task's order (any label if empty).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow.compute as pc
from pydantic import BaseModel, ConfigDict

from goldpan.datasets.task_data import TaskData
from goldpan.datasets.task_rows import target_column
from goldpan.reproduce.cells import Outcome
from goldpan.reproduce.context import Context
from goldpan.reproduce.data import MissingFileError
from goldpan.reproduce.prepare import prepared
from goldpan.reproduce.recipe import TableRecipe
from goldpan.reproduce.scores import parsed


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    tasks: Mapping[str, str]
    columns: Mapping[str, tuple[str, str]]


def compute(context: Context, table: TableRecipe, settings: Mapping[str, Any]) -> Iterator[Outcome]:
    """Yield the counts of each task whose files are there."""
    chosen = parsed(_Settings, settings)
    for row, name in chosen.tasks.items():
        task = context.recipe.task(name)
        if task is None or (context.effort.tasks and name not in context.effort.tasks):
            continue
        try:
            ready = prepared(context, task)
        except MissingFileError as error:
            for column in chosen.columns:
                yield Outcome(row, column, None, "untested", error.problem)
            continue
        limited = ("rows were limited",) if context.effort.limit is not None else ()
        note = "; ".join((*ready.notes, *limited))
        for column, (split, label) in chosen.columns.items():
            count = _count(ready.data, split, label)
            yield Outcome(row, column, count, "in part" if note else "run", note)


def _count(data: TaskData, split: str, label: str) -> int:
    tables = [rows for name, rows in data.splits.items() if split in ("", name)]
    if not label:
        return sum(map(len, tables))
    name, target = data.task.label_names[int(label)], target_column(data.task.type).name
    return sum(int(pc.sum(pc.equal(rows[target], name)).as_py() or 0) for rows in tables)
