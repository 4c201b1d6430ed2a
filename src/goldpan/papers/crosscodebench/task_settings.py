"""What a task's file says for CrossCodeBench alone, under `settings.crosscode`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from goldpan.core.settings_file import Source
from goldpan.datasets.task import Task


@dataclass(frozen=True, slots=True)
class TaskSettings:
    """Where the files of a task differ from what follows from the registry."""

    number: Annotated[int, Field(ge=1, le=999_999)] | None = None
    """The number of the task; None for the one that numbering gives."""
    type: tuple[str, ...] = ()
    """The type and its sub-type; empty for those that follow from type and category."""
    categories: tuple[str, ...] = ()
    input_language: str = ""
    output_language: str = ""
    definition_is_whole: bool = False
    """Whether the definition tells the form of the output already."""


def task_settings(task: Task) -> TaskSettings:
    """Return what a task says for CrossCodeBench; raises `UsageError` where it makes no sense."""
    values = task.settings.get("crosscode", {})
    source = Source(task.name, values, "docs/crosscode.md")
    return source.read(TaskSettings, at=("settings", "crosscode"))
