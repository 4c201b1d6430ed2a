"""What the program is told of a command before its operation is imported."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import MappingProxyType
from typing import Any, Literal

from goldpan.core.plugin_parts import Kind
from goldpan.core.plugins import find, names_of

START, MINE, FILTER = "Start", "Mine and pair", "Filter and review"
BUILD, EVALUATE, LOOK = "Build and publish", "Evaluate", "Look and verify"
PANELS = (START, MINE, FILTER, BUILD, EVALUATE, LOOK)
PLUGINS = "From plugins"
"""The parts of the program's help, and the one of commands that name none."""
Reads = Literal["filtered", "mined", "cloned", "tasks"]
"""What rows are made of: kept issues and pairs, tables, clones, or the rows of tasks."""


def imported(target: str) -> Any:
    """Return what ``module:name`` or ``module:Class.method`` names."""
    module, _, names = target.partition(":")
    found: Any = import_module(module)
    for name in names.split("."):
        found = getattr(found, name)
    return found


@dataclass(frozen=True, slots=True)
class Command:
    """A command, or a group of commands, and where the operation stands that it runs.

    An operation is a function whose first parameter is ``self: Workspace``; its signature and its
    docstring are the command's options and help, and a method of `Workspace` has its words.
    """

    name: str
    """All its words, such as ``build issue-type``."""
    operation: str = ""
    """``module:function`` or ``module:Class.method``; empty for a group that runs nothing."""
    example: str = ""
    """The words behind its own in the example of its help."""
    group: str = ""
    """``module:Class`` of a group of commands, a subclass of `Group`."""
    panel: str = PLUGINS
    """Of the program's help, for a command of one word."""
    is_made: bool = False
    """Whether what `operation` names returns the operation, given the last of the words."""

    def parts(self) -> Iterable[tuple[Kind, str, object]]:
        """Return itself, as a plugin registers it."""
        return [("command", self.name, self)]

    @property
    def whole_example(self) -> str:
        """The example as it is typed."""
        return f"goldpan {self.name} {self.example}".strip()

    @property
    def function(self) -> Callable[..., Any]:
        """The operation."""
        found: Callable[..., Any] = imported(self.operation)
        made: Callable[..., Any] = found(self.name.rpartition(" ")[2]) if self.is_made else found
        return made

    @property
    def summary(self) -> str:
        """The first line that it says of itself."""
        documented = imported(self.group) if self.group else self.function
        return (inspect.getdoc(documented) or "").partition("\n\n")[0].replace("\n", " ")


@dataclass(frozen=True, slots=True)
class Builder:
    """A family of datasets with options of its own: a command, a method, and a place in plans.

    The operation takes ``output``, and ``repos`` unless it reads tasks; it returns a `Dataset`.
    """

    family: str
    operation: str
    example: str
    """See `Command`."""
    reads: Reads = "filtered"
    group: str = ""
    """See `Command`."""
    finders: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """By option, ``module:function`` that raises `UsageError` for a value that there is not."""
    fixed: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """Options that every plan gives."""
    settings: str = ""
    """``module:function`` from the options to what else tells its builds apart, as plain data."""
    fetches: bool = False
    """Whether it asks GitHub for what is missing, so that no machine of a cluster runs it."""
    own_task: bool = False
    """Whether its options name the task that has its rows."""
    unscored: str = ""
    """Why no task has its rows, as a remedy; empty where one has."""

    def parts(self) -> Iterable[tuple[Kind, str, object]]:
        """Return the builder and its command."""
        name = f"build {self.family}"
        command = Command(name, self.operation, self.example, self.group)
        return [("builder", self.family, self), ("command", name, command)]


def find_builder(family: str) -> Builder | None:
    """Return the builder of a family that has options of its own; None of others."""
    builder: Builder | None = find("builder", family) if family in names_of("builder") else None
    return builder
