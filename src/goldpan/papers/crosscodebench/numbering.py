"""The numbers of tasks, which stand in their file names and stay.

Shipped tasks have theirs in `numbering.toml`. Any other keeps the number that it has in the
directory it is written to, and gets the next free one at first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files

from goldpan.core.settings_file import read_toml
from goldpan.datasets.task import Task
from goldpan.papers.crosscodebench.task_settings import task_settings

_FREE = 100
"""How many numbers after the shipped ones are left to tasks that ship later."""


@cache
def shipped_numbers() -> Mapping[str, int]:
    """Return the number of each shipped task by name."""
    values = read_toml(files(__package__) / "numbering.toml").values
    return {name: number for number, name in enumerate(values["tasks"], values["first"])}


def number_tasks(tasks: Iterable[Task], stored: Mapping[str, int]) -> dict[str, int]:
    """Return the number of each task by name, and of all others that have one stored.

    A task that came out of the public benchmark keeps its number there.
    """
    shipped = shipped_numbers()
    numbers = dict(stored)
    rest = []
    for task in sorted(tasks, key=lambda task: task.name):
        own_number = shipped.get(task.name) or task_settings(task).number
        if own_number is not None:
            numbers[task.name] = own_number
        elif task.name not in numbers:
            rest.append(task.name)
    first = max(shipped.values(), default=0) + _FREE
    number = max([first, *numbers.values()])
    for name in rest:
        number += 1
        numbers[name] = number
    return numbers
