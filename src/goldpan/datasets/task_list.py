"""Tasks as people look them up: a line in a list, and a page of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from goldpan.core.registry import unknown_name
from goldpan.core.result import Block, Line, Result, Table, Title
from goldpan.core.workspace import Workspace
from goldpan.datasets.provenance import PROVENANCE
from goldpan.datasets.registry import find_task, load_tasks, plain_task
from goldpan.datasets.task import Task
from goldpan.datasets.task_data import task_directory

_MOST_LABELS = 24
_ACCESS = {
    "public": "public",
    "built": "built",
    "request": "on request",
    "no-copy": "no copying",
}


@dataclass(frozen=True, slots=True)
class ListedTask:
    """A task in a list."""

    name: str
    title: str
    type: str
    activity: str
    suites: tuple[str, ...]
    rows: int | None
    """The rows of the source, as far as is known."""
    labels: int
    access: str
    license: str
    imported: bool


@dataclass(frozen=True, slots=True)
class TaskList(Result):
    """Tasks, sorted by name."""

    tasks: tuple[ListedTask, ...]

    def plain(self) -> list[dict[str, Any]]:
        """Return the tasks, an object each."""
        return [asdict(line) for line in self.tasks]

    def blocks(self) -> Iterator[Block]:
        """Yield a table of the tasks, and how many have data in the workspace."""
        cells = [
            (
                line.name,
                line.type,
                line.activity,
                line.rows,
                f"{_ACCESS[line.access]}{', here' * line.imported}",
            )
            for line in self.tasks
        ]
        columns = ("task", "type", "activity", "rows", "access")
        yield Table(columns, cells, wide=frozenset({"activity"}))
        here = sum(line.imported for line in self.tasks)
        yield Line(f"{len(self.tasks)} tasks, {here} in the workspace")


@dataclass(frozen=True, slots=True)
class TaskPage(Result):
    """Everything about a task, with its prompt."""

    task: Task
    imported: bool

    def plain(self) -> dict[str, Any]:
        """Return what the task's file says, with defaults filled in."""
        return plain_task(self.task)

    def blocks(self) -> Iterator[Block]:
        """Yield the definition, the facts, the labels and the prompt."""
        task = self.task
        yield Title(task.name, f": {task.title}")
        yield Line(task.definition)
        yield Table(("fact", "value"), [fact for fact in self._facts().items() if fact[1]])
        for label in task.labels[:_MOST_LABELS]:
            shown = f" ({label.text})" if label.text != label.name else ""
            yield Line(f"  {label.name}{shown}: {label.description}")
        if len(task.labels) > _MOST_LABELS:
            yield Line(f"  and {len(task.labels) - _MOST_LABELS} more labels")
        yield Title("Prompt")
        yield from (Line(f"  {part}") for part in task.prompt.fill("...").strip().split("\n"))

    def _facts(self) -> dict[str, str]:
        task, source = self.task, self.task.source
        return {
            "type": task.type,
            "activity": task.activity,
            "category": task.category,
            "benchmarks": ", ".join(task.suites),
            "metric": task.metric,
            "split": task.split,
            "steps": ", ".join(task.steps) or "none",
            "longest input": f"{task.max_length:,} tokens",
            "rows": ", ".join(f"{key} {count:,}" for key, count in task.counts.items()),
            **{f"rows by {where}": f"{count:,}" for where, count in task.announced.items()},
            "source": f"{source.title}, {source.url}" if source.url else source.title,
            "license": source.license,
            "access": _ACCESS[source.access] + (", in the workspace" if self.imported else ""),
            "files": ", ".join(source.files),
            "on the Hub": f"{source.hub} {source.revision}".strip(),
            "columns": f"{', '.join(task.columns.text)} -> {', '.join(task.columns.target)}",
            "fresh rows": source.fresh or f"goldpan build {source.builder}" * bool(source.builder),
            "note": source.note,
        }


def list_tasks(
    workspace: Workspace, own: Path, suite: str | None = None, type: str | None = None
) -> TaskList:
    """Return the tasks, those of a benchmark or a type alone; `own` has one's own tasks.

    Raises `UsageError` for a benchmark or a type that no task has.
    """
    tasks = load_tasks(own).values()
    suites = sorted({name for task in tasks for name in task.suites})
    if suite is not None and suite not in suites:
        raise unknown_name("benchmark", suite, suites)
    types = sorted({task.type for task in tasks})
    if type is not None and type not in types:
        raise unknown_name("task of the type", type, types)
    return TaskList(
        tuple(
            ListedTask(
                task.name,
                task.title,
                task.type,
                task.activity,
                task.suites,
                task.counts.get("total"),
                len(task.labels),
                task.source.access,
                task.source.license,
                _is_imported(workspace, task),
            )
            for task in tasks
            if suite in (None, *task.suites) and type in (None, task.type)
        )
    )


def show_task(workspace: Workspace, own: Path, name: str) -> TaskPage:
    """Return everything about a task; raises `UsageError` that lists near matches."""
    task = find_task(name, own)
    return TaskPage(task, _is_imported(workspace, task))


def _is_imported(workspace: Workspace, task: Task) -> bool:
    return (task_directory(workspace, task) / PROVENANCE).exists()
