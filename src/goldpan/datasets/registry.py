"""The registry of tasks: one TOML file a task, shipped or one's own.

Shipped files lie in `datasets/tasks/`, one's own in `WORKSPACE/tasks/`; papers and plugins
register others.
The name of a file is the name of its task; `task_file.py` says what stands in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

from goldpan.core.errors import UsageError
from goldpan.core.own_tasks import tasks_directory
from goldpan.core.plugins import names_of, registered
from goldpan.core.registry import Registry
from goldpan.datasets.task import Task
from goldpan.datasets.task_file import read_path

__all__ = [
    "added_tasks",
    "find_task",
    "load_tasks",
    "read_path",
    "task_paths",
    "tasks_directory",
    "tasks_of_family",
]

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
    return Registry("task", lambda: _files_of(own), "task", lambda item: item[0], remedy, read_path)


def _files_of(own: Path | None) -> dict[str, Task]:
    shipped = _shipped_tasks()
    mine = sorted(own.glob(f"*{_ENDING}")) if own is not None else []
    added = {task.name: task for task in map(read_path, mine)}
    if twice := sorted({*shipped, *names_of("task", ships=True)} & added.keys()):
        raise UsageError(
            f"{own}/{twice[0]}{_ENDING} has the name of a task that ships with Goldpan",
            "Give the file another name",
        )
    return {**shipped, **added}


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
    mine = sorted(own.glob(f"*{_ENDING}")) if own is not None else []
    return [*_shipped_paths(), *added, *mine]


def added_tasks() -> list[Task]:
    """Return the tasks that papers and plugins registered without a file of their own."""
    return [task for task in registered("task").values() if not isinstance(task, Path)]


def _shipped_paths() -> list[Path]:
    paths = [Path(str(path)) for path in _SHIPPED.iterdir()]
    return sorted(path for path in paths if path.suffix == _ENDING)


@cache
def _shipped_tasks() -> Mapping[str, Task]:
    return {task.name: task for task in map(read_path, _shipped_paths())}
