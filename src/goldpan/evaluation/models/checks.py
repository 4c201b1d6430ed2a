"""Checks settings of models before anything runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pyarrow as pa

from goldpan.core.errors import EvaluationError, UsageError
from goldpan.datasets.task import Task, TaskType


def require_choice(
    model: str, settings: Mapping[str, Any], name: str, choices: Collection[str]
) -> None:
    """Raise `UsageError` where a setting is none of those that are known."""
    if settings[name] not in choices:
        raise UsageError(
            f"{name} of the model {model} cannot be {settings[name]!r}",
            f"Choose {', '.join(choices)}",
        )


def require_least(model: str, settings: Mapping[str, Any], **least: int) -> None:
    """Raise `UsageError` where a number is below what makes sense."""
    for name, value in least.items():
        if settings[name] < value:
            raise UsageError(
                f"{name} of the model {model} cannot be {settings[name]}", f"Give {value} or more"
            )


def require_type(model: str, task: Task, types: Collection[TaskType], remedy: str) -> None:
    """Raise `EvaluationError` where a model does not answer tasks of that type."""
    if task.type not in types:
        raise EvaluationError(
            f"The model {model} does not answer {task.name}, which is {task.type}", remedy
        )


def require_few(model: str, does: str, task: Task, rows: pa.Table, most: int, remedy: str) -> None:
    """Raise `EvaluationError` where there are more train rows than a model can take."""
    if len(rows) > most:
        raise EvaluationError(
            f"The model {model} {does} {len(rows):,} train rows of {task.name}, and takes at most "
            f"{most:,}",
            remedy,
        )
