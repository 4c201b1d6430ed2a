"""Everything that keeps tables from being a task's, not the first thing alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from goldpan.core.errors import GoldpanError
from goldpan.datasets.import_files import table_rows
from goldpan.datasets.task import Task

_SHOWN = 5
_FACTS = ("id", "repo", "created_at", "document")


def table_problems(task: Task, files: Sequence[Path]) -> list[str]:
    """Return what is wrong with tables that the reader `table` refused, a phrase each."""
    return [problem for path in files for problem in _of_file(task, path)]


def _of_file(task: Task, path: Path) -> Iterator[str]:
    named = [*task.columns.text, *task.columns.target]
    named += [task.settings[key] for key in _FACTS if key in task.settings]
    odd: Counter[str] = Counter()
    first: dict[str, int] = {}
    try:
        for number, row in enumerate(table_rows(path), 1):
            if number == 1 and (missing := [name for name in named if name not in row]):
                columns = ", ".join(map(repr, missing))
                yield f"{path} has no column {columns}; it has {', '.join(map(repr, row))}"
                return
            if (value := _odd(task, row)) is not None:
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


def _odd(task: Task, row: Mapping[str, Any]) -> str | None:
    """Return the answer of a row where it is none of the task's; several columns are not read."""
    if len(task.columns.target) != 1 or task.type not in ("binary", "multi-class", "regression"):
        return None
    value = row[task.columns.target[0]]
    text = "" if value is None else str(value).strip()
    if task.type == "regression":
        try:
            float(text)
        except ValueError:
            return text
        return None
    label = task.settings.get("labels", {}).get(text, text)
    return None if label in task.label_names else text
