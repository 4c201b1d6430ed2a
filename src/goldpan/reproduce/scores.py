"""Scores that authors published: one table with a row for each model and task."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from goldpan.core.errors import DatasetError, UsageError
from goldpan.datasets.import_files import table_rows
from goldpan.reproduce.context import Context

Settings = TypeVar("Settings", bound=BaseModel)


class ScoreColumns(BaseModel):
    """Settings of a computation that reads published scores."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: str
    """The key of the file."""
    model: str = "model"
    """The column that names the model."""
    task: str = "task"
    """The column that names the task."""
    value: tuple[str, ...]
    """The columns of scores; the first that is not empty counts. 1-NAME turns an error round."""
    value_of: Mapping[str, tuple[str, ...]] = {}
    """Other columns for single tasks."""
    models: Mapping[str, str] = {}
    """What the file calls a model, by the recipe's name, where they differ."""
    tasks: tuple[str, ...] = ()
    """The tasks that count, empty for all."""


def parsed(kind: type[Settings], settings: Mapping[str, Any]) -> Settings:
    """Return a computation's settings; raises `UsageError` that names the key."""
    try:
        return kind.model_validate(settings)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(map(str, first["loc"]))
        raise UsageError(
            f"A computation's settings are wrong: {key}: {first['msg']}",
            "docs/papers.md describes them",
        ) from None


def published_scores(context: Context, columns: ScoreColumns) -> dict[tuple[str, str], float]:
    """Return the scores by model, as the recipe names it, and task.

    Of a model and task that stand there twice, the first with a score counts, and a note says
    so. Raises `DatasetError` for a score that is no number.
    """
    file = context.file(columns.file)
    names = {written: name for name, written in columns.models.items()}
    scores: dict[tuple[str, str], float] = {}
    without: dict[tuple[str, str], str] = {}
    for number, row in enumerate(table_rows(file.path), 1):
        task = _cell(row, columns.task, file.path)
        if columns.tasks and task not in columns.tasks:
            continue
        written = _cell(row, columns.model, file.path)
        value = _value(row, columns.value_of.get(task, columns.value), f"{file.path}, row {number}")
        key = names.get(written, written), task
        if value is None:
            without[key] = f"{written} has no score on {task} in {file.path.name}."
        elif key in scores:
            context.note(
                f"{written} stands twice on {task} in {file.path.name}: {scores[key]:.4f} counts, "
                f"{value:.4f} does not."
            )
        else:
            scores[key] = value
    for key, note in without.items():
        if key not in scores:
            context.note(note)
    return scores


def _cell(row: Mapping[str, Any], column: str, path: object) -> str:
    if column not in row:
        raise DatasetError(
            f"{path} has no column {column!r}; it has {', '.join(map(str, row))}",
            "Give the file as its authors publish it",
        )
    return str(row[column] or "")


def _value(row: Mapping[str, Any], names: tuple[str, ...], where: str) -> float | None:
    for name in names:
        column = name.removeprefix("1-")
        if text := _cell(row, column, where).strip():
            try:
                value = float(text)
            except ValueError:
                value = math.nan
            if not math.isfinite(value):
                raise DatasetError(
                    f"{where}: {column} holds {text[:40]!r}, which is not a score",
                    "Give the file as its authors publish it",
                )
            return 1 - value if column != name else value
    return None
