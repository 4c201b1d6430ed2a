"""Everything that keeps tables from being a task's, not the first thing alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from goldpan.core.errors import GoldpanError
from goldpan.datasets.imports.table import Layout, layouts_of, open_table
from goldpan.datasets.task import Task

_SHOWN = 5


def table_problems(task: Task, files: Sequence[Path]) -> list[str]:
    """Return what is wrong with tables that the reader `table` refused, a phrase each."""
    layouts = layouts_of(task)
    return [problem for path in files for problem in _of_file(task, layouts, path)]


def _of_file(task: Task, layouts: Sequence[Layout], path: Path) -> Iterator[str]:
    odd: Counter[str] = Counter()
    first: dict[str, int] = {}
    try:
        table = open_table(task, layouts, path)
        for number, row in enumerate(table.rows, 1):
            if (value := _odd(task, table.layout, row)) is not None:
                odd[value] += 1
                first.setdefault(value, number)
    except GoldpanError as error:
        yield error.problem
        return
    for value, count in odd.most_common(_SHOWN):
        what = "not a number" if task.type == "regression" else f"not a label of {task.name}"
        where = f"in {count:,} rows, first in row {first[value]:,}"
        yield f"{path.name}: {value[:80]!r}, {where}, is {what}"
    if len(odd) > _SHOWN:
        yield f"{path.name}: {len(odd) - _SHOWN:,} more such values"


def _odd(task: Task, layout: Layout, row: Mapping[str, Any]) -> str | None:
    """Return the answer of a row where it is none of the task's; several columns are not read."""
    if len(layout.target) != 1 or task.type not in ("binary", "multi-class", "regression"):
        return None
    value = row.get(layout.target[0])
    text = "" if value is None else str(value).strip()
    if task.type == "regression":
        try:
            float(text)
        except ValueError:
            return text
        return None
    if not text and layout.file:
        return None
    label = layout.labels.get(text, layout.labels.get(text.removesuffix(".0"), text))
    return None if label in task.label_names else text
