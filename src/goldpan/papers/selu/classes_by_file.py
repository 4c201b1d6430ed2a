"""Reads tables whose class stands in the file's name, such as `lkml_civil.csv`.

`[columns]` names the text and, as the target, the column that repeats the class; a row that
contradicts the file's name is refused. `[settings]` says more:

    classes   how names of files end, and which label that means: { civil = "civil" }
    written   what the target's column writes, and which label it means
    numbers   what the file of the task's own name, with the columns `text` and `label`, writes
    ids       columns that name a row; the first that a file has counts
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from goldpan.core.errors import DatasetError, UsageError
from goldpan.datasets.import_files import stem_of, table_rows
from goldpan.datasets.imports import table
from goldpan.datasets.task import Task, TaskColumns


def read(task: Task, files: Sequence[Path]) -> Iterator[dict[str, Any]]:
    """Yield the rows of the files, in order.

    Raises `UsageError` for a file that is named after no class, `DatasetError` for one without
    the columns, or with a row of another class than its name says.
    """
    for path in files:
        if stem_of(path) == task.name:
            yield from _numbered(task, path)
        else:
            yield from _named(task, path, _class_of(task, path))


def _class_of(task: Task, path: Path) -> str:
    classes: Mapping[str, str] = task.settings["classes"]
    stem = stem_of(path)
    fitting = [name for name in classes if f"_{stem}".endswith(f"_{name}")]
    if not fitting:
        raise UsageError(
            f"{stem} is named after none of the classes {', '.join(classes)}",
            f"Give the files under their authors' names: {', '.join(task.source.files)}",
        )
    return classes[max(fitting, key=len)]  # non_technical ends like technical


def _named(task: Task, path: Path, label: str) -> Iterator[dict[str, Any]]:
    (text,), target = task.columns.text, next(iter(task.columns.target), "")
    written: Mapping[str, str] = task.settings.get("written", {})
    names: Sequence[str] = task.settings.get("ids", ())
    stem = stem_of(path)
    for number, row in enumerate(table_rows(path), 1):
        if text not in row:
            raise DatasetError(
                f"{path} has no column {text!r}; it has {', '.join(map(str, row))}",
                f"Give the file as its authors publish it: {task.source.url}",
            )
        value = str(row.get(target) or "").strip()
        if value and written.get(value, value) != label:
            raise DatasetError(
                f"{path}, row {number}, is {value}, and the file's name says {label}",
                "Give the file under its authors' name",
            )
        name = next((str(row[column]) for column in names if row.get(column)), "")
        yield {
            "id": f"{task.name}:{stem}:{number}",
            "source": f"{path.name}:{number}" + (f" ({name})" if name else ""),
            "text": str(row[text] or ""),
            "label": label,
        }


def _numbered(task: Task, path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of one table with a number for each class."""
    columns = TaskColumns(text=("text",), target=("label",))
    settings = {"labels": task.settings["numbers"]}
    return table.read(replace(task, columns=columns, settings=settings), [path])
