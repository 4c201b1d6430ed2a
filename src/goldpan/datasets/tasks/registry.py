"""The registry of tasks, and tasks as people look them up.

One TOML file a task: shipped ones lie in `datasets/tasks/`, one's own in `WORKSPACE/tasks/`; papers
and plugins register others. The name of a file is the name of its task.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from goldpan.core.errors import UsageError
from goldpan.core.plugins.loading import names_of, registered
from goldpan.core.plugins.registry import Registry, unknown_name
from goldpan.core.result import Result, Results, count
from goldpan.core.settings.file import Source, parse_toml, read_toml
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.licenses import UNKNOWN
from goldpan.datasets.provenance import PROVENANCE
from goldpan.datasets.tasks.data import task_directory
from goldpan.datasets.tasks.task import Task, TaskType

_NAME = re.compile(r"[a-z][a-z0-9_]{0,79}")
_PAGE = "docs/reference/files.md"


def read_task(path: Path) -> Task:
    """Read the task of one file; raises `UsageError` where it is none."""
    return _named(read_toml(path, _PAGE))


def parse_task(file: str, text: str) -> Task:
    """Read the text of a task's file; the name of the file, without `.toml`, is the task's.

    Raises `UsageError` that names the file, the line, the key and the remedy.
    """
    return _named(parse_toml(file, text, _PAGE))


def _named(source: Source) -> Task:
    name = Path(source.name).name.removesuffix(".toml")
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{source.name}: {name!r} is not a name for a task",
            "Name the file in snake_case: small letters, digits and underscores, such as "
            "issue_type.toml",
        )
    return _task(source, source.named(name))


def task_of(values: Mapping[str, Any], source: str) -> Task:
    """Return a task from what `asdict` made of it; a `UsageError` begins with `source`."""
    return _task(Source(source, values, _PAGE), values)


def _task(source: Source, values: Mapping[str, Any]) -> Task:
    return source.read(Task, _with_defaults(values))


def _with_defaults(values: Mapping[str, Any]) -> dict[str, Any]:
    """Fill in the optional keys of a task on unpublished data, whose source has no address."""
    source, labels = values.get("source", {}), values.get("labels", [])
    if not isinstance(source, Mapping) or "url" in source or not isinstance(labels, list | tuple):
        return dict(values)
    names = [repr(label.get("name")) for label in labels if isinstance(label, Mapping)]
    choice = f"one of {', '.join(names)}" if names else "what the task asks for"
    title = str(values.get("title", values.get("name"))).replace("_", " ")
    unpublished = {
        "title": title,
        "reader": "table",
        "url": "",
        "license": UNKNOWN,
        "citation": "",
        "access": "no-copy",
        "dataset": str(values.get("name")).replace("_", "-"),
    }
    return {
        "title": title,
        "description": f"Answer with {choice}.",
        "activity": "maintenance",
        "definition": f"The input is a text. The output is {choice}.",
        "category": "Other",
        "prompt": {
            "context": "software engineering",
            "instruction": f"read the next text and answer with {choice}",
            "answer": "Answer with nothing else",
            "entity": "TEXT",
        },
        **values,
        "source": {**unpublished, **source},
    }


_SHIPPED = files("goldpan.datasets") / "tasks"
_ENDING = ".toml"


def load_tasks(own: Path | None = None) -> dict[str, Task]:
    """Return all tasks by name, sorted: the shipped ones and those of the directory `own`.

    A directory that does not exist holds no task. Raises `UsageError` for a file that is no task,
    or that bears the name of a shipped one.
    """
    return _registry(own).entries()


def find_task(name: str, own: Path | None = None) -> Task:
    """Return the task of that name; raises `UsageError` that lists near matches."""
    return _registry(own).find(name)


def _registry(own: Path | None) -> Registry[Task]:
    remedy = "Run goldpan tasks list to see all tasks"
    return Registry("task", lambda: _files_of(own), "task", lambda item: item[0], remedy, read_task)


def _files_of(own: Path | None) -> dict[str, Task]:
    shipped = _shipped_tasks()
    added = {task.name: task for task in map(read_task, _own_paths(own))}
    if taken := sorted({*shipped, *names_of("task", ships=True)} & added.keys()):
        raise UsageError(
            f"{own}/{taken[0]}{_ENDING} has the name of a task that ships with Goldpan",
            "Give the file another name",
        )
    return {**shipped, **added}


def _own_paths(own: Path | None) -> list[Path]:
    return sorted(own.glob(f"*{_ENDING}")) if own is not None else []


def tasks_of_family(family: str, tasks: Mapping[str, Task]) -> list[str]:
    """Return the names of the tasks whose rows a dataset of that family holds."""
    if family in tasks:
        return [family]
    return [
        task.name
        for task in tasks.values()
        if task.source.access == "built" and task.source.builder == family
    ]


def task_paths(own: Path | None = None) -> list[Path]:
    """Return the files of all tasks: the shipped ones, then those of the directory `own`."""
    added = [path for path in registered("task").values() if isinstance(path, Path)]
    return [*_shipped_paths(), *added, *_own_paths(own)]


def added_tasks() -> list[Task]:
    """Return the tasks that papers and plugins registered without a file of their own."""
    return [task for task in registered("task").values() if not isinstance(task, Path)]


def _shipped_paths() -> list[Path]:
    paths = [Path(str(path)) for path in _SHIPPED.iterdir()]
    return sorted(path for path in paths if path.suffix == _ENDING)


@cache
def _shipped_tasks() -> Mapping[str, Task]:
    return {task.name: task for task in map(read_task, _shipped_paths())}


@dataclass(frozen=True, slots=True)
class TaskFacts(Result):
    """A task in a list."""

    name: str
    title: str
    type: TaskType
    activity: str
    suites: tuple[str, ...]
    rows: int | None
    """Those of the source, as far as is known."""
    labels: int
    access: str
    license: str
    imported: bool


@dataclass(frozen=True, slots=True)
class TaskPage(Result):
    """The page of a task, with its prompt."""

    schema = 2

    task: Task
    imported: bool


def list_tasks(
    workspace: WorkspaceLayout, own: Path, suite: str | None = None, type: str | None = None
) -> Results[TaskFacts]:
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
    listed = [
        TaskFacts(
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
    ]
    here = sum(task.imported for task in listed)
    return Results(listed, [f"{count(len(listed), 'task')}, {here} in the workspace"])


def show_task(workspace: WorkspaceLayout, own: Path, name: str) -> TaskPage:
    """Return everything about a task; raises `UsageError` that lists near matches."""
    task = find_task(name, own)
    return TaskPage(task, _is_imported(workspace, task))


def _is_imported(workspace: WorkspaceLayout, task: Task) -> bool:
    return (task_directory(workspace, task) / PROVENANCE).exists()
