"""The types and the numbers of tasks (CrossCodeBench, section III-B3).

Types are in `types.toml`. Shipped tasks have their numbers in `numbering.toml`; any other keeps
the number that it has in the directory it is written to, and gets the next free one at first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Annotated

from pydantic import Field

from goldpan.plugins.data import Source, Task, UsageError, read_toml

_FREE = 100
"""Numbers after the shipped ones that are left to tasks that ship later."""


@dataclass(frozen=True, slots=True)
class TaskKind:
    """A type of the benchmark, with the sub-type where the type has some."""

    type: str
    subtype: str = ""

    @property
    def names(self) -> list[str]:
        """Return what the field Type of a task's file holds."""
        return [self.type, self.subtype] if self.subtype else [self.type]

    def __str__(self) -> str:
        return " -> ".join(self.names)


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
    """True where the definition says the form of the output already."""


@dataclass(frozen=True, slots=True)
class _KindEntry:
    """A kind as `types.toml` has it, with what of the registry and the benchmark belongs to it."""

    type: str
    subtype: str = ""
    task_types: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()

    @property
    def kind(self) -> TaskKind:
        return TaskKind(self.type, self.subtype)


@cache
def _entries() -> tuple[_KindEntry, ...]:
    return read_toml(files(__package__) / "types.toml").read(dict[str, tuple[_KindEntry, ...]])[
        "kind"
    ]


def task_settings(task: Task) -> TaskSettings:
    """Return what a task says for CrossCodeBench alone, under `settings.crosscode`.

    Raises `UsageError` where it makes no sense.
    """
    source = Source(task.name, task.settings.get("crosscode", {}), "docs/crosscode.md")
    return source.read(TaskSettings, at=("settings", "crosscode"))


def plain_name(name: str) -> str:
    """Return a name as names are compared: case, hyphens and underscores do not count.

    Of a path such as ``Code Modification -> Bug Fixing`` every part stays.
    """
    parts = name.replace("_", " ").replace("-", " ").casefold().split(">")
    return " > ".join(" ".join(part.split()) for part in parts)


def same_name(name: str, other: str) -> bool:
    """Return whether two names are one."""
    return plain_name(name) == plain_name(other)


def same_category(name: str, other: str) -> bool:
    """Return whether two categories are one, where one may be written without its path."""
    left, right = plain_name(name), plain_name(other)
    return left == right or left.endswith(f"> {right}") or right.endswith(f"> {left}")


def known_types() -> tuple[str, ...]:
    """Return the names of all types, the paper's seven first."""
    return tuple(dict.fromkeys(entry.type for entry in _entries()))


def find_kind(names: list[str]) -> TaskKind | None:
    """Return the kind that the field Type names, however it is written; None for no such kind."""
    plain = [plain_name(name) for name in names]
    kinds = [*map(TaskKind, known_types()), *(entry.kind for entry in _entries())]
    return next((kind for kind in kinds if [*map(plain_name, kind.names)] == plain), None)


def kind_of_category(category: str) -> TaskKind | None:
    """Return the kind that a category belongs to; None for a category that is not known.

    A category that is not known belongs to the type with which its path begins, if any.
    """
    for is_same in (same_name, same_category):
        for entry in _entries():
            if any(is_same(category, known) for known in entry.categories):
                return entry.kind
    return find_kind([category.partition("->")[0]])


def kind_of_task(task: Task) -> TaskKind:
    """Return the kind of a registry task.

    It follows from the task's type; for free text from its category, where that is known. A
    task may say it itself: `settings.crosscode.type`. Raises `UsageError` where that is no type.
    """
    if stated := list(task_settings(task).type):
        kind = find_kind(stated)
        if kind is None:
            raise UsageError(
                f"{task.name}: settings.crosscode.type: {stated} is not a type with its sub-type",
                f"The types are {', '.join(known_types())}",
            )
        return kind
    if task.type == "text-generation" and (by_category := kind_of_category(task.category)):
        return by_category
    return next(entry.kind for entry in _entries() if task.type in entry.task_types)


@cache
def _shipped_numbers() -> Mapping[str, int]:
    values = read_toml(files(__package__) / "numbering.toml").values
    return {name: number for number, name in enumerate(values["tasks"], values["first"])}


def number_tasks(tasks: Iterable[Task], stored: Mapping[str, int]) -> dict[str, int]:
    """Return the number of each task by name, and of all others that have one stored.

    A task that came out of the public benchmark keeps its number there.
    """
    shipped = _shipped_numbers()
    numbers, new = dict(stored), []
    for task in sorted(tasks, key=lambda task: task.name):
        own_number = shipped.get(task.name) or task_settings(task).number
        if own_number is not None:
            numbers[task.name] = own_number
        elif task.name not in numbers:
            new.append(task.name)
    last = max([max(shipped.values()) + _FREE, *numbers.values()])
    return {**numbers, **{name: number for number, name in enumerate(new, last + 1)}}
