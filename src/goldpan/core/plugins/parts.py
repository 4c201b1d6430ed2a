"""The parts of a plugin: single values, files of a folder, commands, builders of datasets."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, Protocol

from goldpan.core.errors import PluginError, UsageError
from goldpan.core.sanitize import line

Kind = Literal[
    "annotation form",
    "builder",
    "command",
    "criterion",
    "dataset",
    "fine-tuning recipe",
    "importer",
    "metric",
    "model",
    "profile",
    "prompt rule",
    "protocol",
    "recipe",
    "report section",
    "review prompt",
    "rules",
    "signal",
    "step order",
    "task",
]


_MOST = 400
"""Characters of what a plugin's failure says."""


class Registrable(Protocol):
    """An object that a plugin registers; each of its parts is found by kind and name."""

    def parts(self) -> Iterable[tuple[Kind, str, object]]:
        """Return kind, name and value of each part."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a plugin by its kind: its value, or `module:name` to import when it is used."""

    kind: Kind
    name: str
    value: object

    def parts(self) -> Iterable[tuple[Kind, str, object]]:
        """Return itself."""
        return [(self.kind, self.name, self.value)]


@dataclass(frozen=True, slots=True)
class Files:
    """A folder whose files are parts of one kind, each by its name without the ending."""

    kind: Kind
    folder: Path

    def parts(self) -> Iterable[tuple[Kind, str, object]]:
        """Return a part for each file that is not hidden; raises `UsageError` without a folder."""
        if not self.folder.is_dir():
            raise UsageError(
                f"There is no folder {self.folder} of files of the kind {self.kind}",
                "Name it from the plugin's file on: Path(__file__).parent",
            )
        paths = sorted(path for path in self.folder.iterdir() if path.name[0] not in "._")
        return [(self.kind, path.name.partition(".")[0], path) for path in paths]


@dataclass(frozen=True, slots=True)
class Plugin:
    """A file or a folder that registered something."""

    name: str
    """The name of the file, of the folder, or of the module in a package and its version."""
    path: str
    sha256: str
    """Digest of the file, or of all files of the folder; empty for code typed at a prompt."""
    ships: bool = False
    """True for Goldpan's own papers."""
    folder: str = ""
    """Where all its files lie; empty for a single file."""

    def has(self, file: str) -> bool:
        """Tell whether a file is one of its own."""
        return file == self.path or bool(self.folder and Path(file).is_relative_to(self.folder))


def plugin_failure(what: str, plugin: Plugin, error: Exception) -> PluginError:
    """Return a failure as that of a plugin, with the file and line to fix."""
    file, number = place_in(error, plugin)
    where = f" at line {number}" if number else ""
    return PluginError(
        f"{what} failed{where}: {reason_of(error)}", f"Fix {file or plugin.path or plugin.name}"
    )


def folder_digest(folder: Path) -> str:
    """Return the SHA-256 of the paths and digests of all files below a folder."""
    from hashlib import sha256  # which help does without

    whole = sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        if "__pycache__" not in path.parts:
            digest = sha256(path.read_bytes()).hexdigest()
            whole.update(f"{digest}  {path.relative_to(folder).as_posix()}\n".encode())
    return whole.hexdigest()


def reason_of(error: Exception) -> str:
    """Return a failure in one line, without the mark that DuckDB puts below a query."""
    text = re.sub(r"\n *\^+\s*$", "", str(error))
    return f"{type(error).__name__}: {line(text, _MOST)}"


def place_in(error: Exception, plugin: Plugin) -> tuple[str, int]:
    """Return the plugin's file and the line at which a failure came up; nothing elsewhere."""
    if isinstance(error, SyntaxError) and error.filename and plugin.has(error.filename):
        return error.filename, error.lineno or 0
    places = [
        (at.filename, at.lineno or 0)
        for at in traceback.extract_tb(error.__traceback__)
        if plugin.has(at.filename)
    ]
    return places[-1] if places else ("", 0)


START, MINE, FILTER = "Start", "Mine and pair", "Filter and review"
BUILD, EVALUATE, LOOK = "Build and publish", "Evaluate", "Look and verify"
PANELS = (START, MINE, FILTER, BUILD, EVALUATE, LOOK)
PLUGINS = "From plugins"
"""The parts of the program's help, and the one of commands that name none."""
Reads = Literal["filtered", "mined", "cloned", "tasks"]
"""Source of a builder's rows: kept issues and pairs, tables, clones, or the rows of tasks."""


def imported(target: str) -> Any:
    """Return what ``module:name`` or ``module:Class.name`` names."""
    module, _, names = target.partition(":")
    found: Any = import_module(module)
    for name in names.split("."):
        found = getattr(found, name)
    return found


@dataclass(frozen=True, slots=True)
class Command:
    """A command, or a group of commands.

    It runs a function whose first parameter is a `Workspace`; its signature and its docstring are
    the command's options and help.
    """

    name: str
    """All its words, such as ``build issue-type``."""
    operation: str = ""
    """``module:function``; empty for a group that runs nothing."""
    about: str = ""
    """What help says of a group that runs nothing."""
    panel: str = PLUGINS
    """Panel of the program's help, for a command of one word."""

    def parts(self) -> Iterable[tuple[Kind, str, object]]:
        """Return itself, as a plugin registers it."""
        return [("command", self.name, self)]


@dataclass(frozen=True, slots=True)
class Builder:
    """A family of datasets with options of its own: a command, a method, and a place in plans.

    The function takes ``output``, and ``repos`` unless it reads tasks; it returns a `Dataset`.
    """

    family: str
    operation: str
    """``module:function``, as `Command` has it."""
    reads: Reads = "filtered"
    finders: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """By option, ``module:function`` that raises `UsageError` for a value that there is not."""
    fixed: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """Options that every plan gives."""
    settings: str = ""
    """``module:function`` from the options to what else tells its builds apart, as plain data."""

    def parts(self) -> Iterable[tuple[Kind, str, object]]:
        """Return the builder and its command."""
        name = f"build {self.family}"
        command = Command(name, self.operation)
        return [("builder", self.family, self), ("command", name, command)]
