"""The types and sub-types of tasks (CrossCodeBench, section III-B3), from `types.toml`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from goldpan.core.errors import UsageError
from goldpan.core.settings_file import read_toml
from goldpan.datasets.task import Task
from goldpan.papers.crosscodebench.task_settings import task_settings


@dataclass(frozen=True, slots=True)
class Kind:
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
class _Entry:
    kind: Kind
    task_types: frozenset[str]
    categories: frozenset[str]


@cache
def _entries() -> tuple[_Entry, ...]:
    return tuple(
        _Entry(
            Kind(entry["type"], entry.get("subtype", "")),
            frozenset(entry.get("task_types", ())),
            frozenset(map(plain_name, entry.get("categories", ()))),
        )
        for entry in read_toml(files(__package__) / "types.toml").values["kind"]
    )


def plain_name(name: str) -> str:
    """Return a name as names are compared: case, hyphens and underscores do not count.

    Of a path such as ``Code Modification -> Bug Fixing`` every part stays.
    """
    parts = name.replace("_", " ").replace("-", " ").casefold().split(">")
    return " > ".join(" ".join(part.split()) for part in parts)


def same_category(name: str, other: str) -> bool:
    """Say whether two categories are one, where one may be written without its path."""
    left, right = plain_name(name), plain_name(other)
    return left == right or left.endswith(f"> {right}") or right.endswith(f"> {left}")


def known_types() -> tuple[str, ...]:
    """Return the names of all types, the paper's seven first."""
    return tuple(dict.fromkeys(entry.kind.type for entry in _entries()))


def known_subtypes(type_name: str) -> tuple[str, ...]:
    """Return the names of a type's sub-types."""
    kinds = (entry.kind for entry in _entries())
    return tuple(kind.subtype for kind in kinds if kind.type == type_name and kind.subtype)


def find_kind(names: list[str]) -> Kind | None:
    """Return the kind that the field Type names, however it is written; None for no such kind."""
    if not 1 <= len(names) <= 2:
        return None
    plain_names = [plain_name(name) for name in names]
    for type_name in known_types():
        if plain_name(type_name) != plain_names[0]:
            continue
        if len(plain_names) == 1:
            return Kind(type_name)
        for subtype in known_subtypes(type_name):
            if plain_name(subtype) == plain_names[1]:
                return Kind(type_name, subtype)
    return None


def kind_of_category(category: str) -> Kind | None:
    """Return the kind that a category belongs to; None for a category that is not known.

    A category that is not known belongs to the type with which its path begins, if any.
    """
    name = plain_name(category)
    for entry in _entries():
        if name in entry.categories:
            return entry.kind
    for entry in _entries():
        if any(same_category(category, path) for path in entry.categories):
            return entry.kind
    return find_kind([category.partition("->")[0]])


def kind_of_task(task: Task) -> Kind:
    """Return the kind of a registry task.

    It follows from the task's type; for free text from its category, where that is known. A
    task may say it itself: `settings.crosscode.type`. Raises `UsageError` where that is no type.
    """
    stated = list(task_settings(task).type)
    if stated:
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
