"""What --help prints: read off the operations, as plain text, without what parses and runs them."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from goldpan.core.plugin_parts import PANELS
from goldpan.core.plugin_parts import Kind as PartKind
from goldpan.core.plugins import names_of
from goldpan.operations.signature import (
    Kind,
    Operation,
    Parameter,
    fields_of,
    read_operation,
    title_of,
)
from goldpan.operations.table import (
    children,
    every_command,
    function_of,
    is_group,
    summary_of,
)

COMMON, SETTINGS = "Workspace and output", "Settings for this run (goldpan.toml)"
OPEN = "path"
"""The parameter of `Workspace` that is ``--workspace`` on the command line."""
JSON_HELP = "Print the result as JSON."
_HELP = ("-h, --help", "Show this and stop.")
_WIDEST = 100
Rows = Iterable[tuple[str, str]]
_KINDS: dict[str, PartKind] = {
    "form": "annotation form",
    "protocol": "protocol",
    "steps": "step order",
}
_OF_PAIRS: dict[str, PartKind] = {"profile": "profile", "rules": "rules"}
"""The kinds of what parameters name; a profile is the filters' where rules are asked for, too."""


def program_help(program: Operation) -> str:
    """Return the help of `goldpan`: a line for each command, and its own options."""
    parts = ["Usage: goldpan COMMAND [OPTIONS]", _filled(program.summary)]
    commands = [command for name, command in every_command().items() if " " not in name]
    width = max(len(command.name) for command in commands)
    for title in dict.fromkeys((*PANELS, *(command.panel for command in commands))):
        members = [command for command in commands if command.panel == title]
        parts.append(_panel(title, [(member.name, member.summary) for member in members], width))
    options = [(_left(parameter), parameter.about) for parameter in program.parameters]
    parts.append(_panel("Options, before or after the command", [*options, _HELP]))
    return _joined(parts)


def command_help(words: Sequence[str]) -> str:
    """Return the help of the command, or the group of commands, that words name."""
    name = words[0]
    for word in words[1:]:
        if f"{name} {word}" not in children(name):
            break
        name = f"{name} {word}"
    commands = [(child.rpartition(" ")[2], summary_of(child)) for child in children(name)]
    if is_group(name):
        parts = [f"Usage: goldpan {name} COMMAND [OPTIONS]", _filled(summary_of(name))]
        return _joined([*parts, _panel("Commands", commands), _panel("Options", [_HELP])])
    operation = read_operation(function_of(name))
    panels = dict(_panels(operation, words))
    arguments = [left for left, _ in panels.get("Arguments", ())]
    usage = " ".join(["Usage: goldpan", name, *arguments, "[OPTIONS]"])
    about = [operation.summary, *operation.description.split("\n\n")]
    parts = [usage, *map(_filled, filter(None, about))]
    if command := every_command().get(name):
        parts.append(f"Example: {command.whole_example}")
    if commands:
        parts.append(_panel("Commands", commands))
    return _joined([*parts, *(_panel(title, rows) for title, rows in panels.items())])


def opening_parameters(operation: Operation) -> Iterator[tuple[Parameter, str]]:
    """Yield the parameters that open an operation's workspace, each with its panel of help."""
    from goldpan.operations.workspace import Workspace

    if not operation.owner:
        return
    opening = {item.name: item for item in read_operation(Workspace.__init__).parameters}
    kind: Kind = "argument" if OPEN in operation.opening else "option"
    yield replace(opening[OPEN], name="workspace", kind=kind), COMMON
    yield opening["tasks"], COMMON
    for name in operation.opening:
        if name != OPEN:
            yield opening[name], SETTINGS


def returns_result(operation: Operation) -> bool:
    """Tell whether the command prints a result, which it can print as JSON."""
    return operation.returns != "None"


def named_workspace(words: Sequence[str]) -> str | None:
    """Return the workspace that a command line names."""
    named = [word.partition("=")[2] for word in words if word.startswith("--workspace=")]
    named += [after for word, after in pairwise(words) if word == "--workspace"]
    return named[-1] if named else None


def with_what_is_registered(
    parameters: Iterable[Parameter], stored: Mapping[str, set[str]] | None = None
) -> list[Parameter]:
    """Return parameters whose help also names what papers and plugins bring, and what is stored."""
    named = {parameter.name: parameter for parameter in parameters}
    kinds = _KINDS | (_OF_PAIRS if "rules" in named else {})
    for name in named.keys() & kinds:
        here = {*names_of(kinds[name]), *(stored or {}).get(name, ())}
        told = set(re.findall(r"[\w-]+", named[name].help))
        if others := sorted(here - told):
            about = f"{named[name].help} Also here: {', '.join(others)}."
            named[name] = replace(named[name], help=about)
    return [*named.values()]


def _stored(words: Sequence[str]) -> dict[str, set[str]]:
    """Return the profiles and rules of which the workspace has verdicts."""
    workspace = named_workspace(words) or os.environ.get("GOLDPAN_WORKSPACE", "goldpan-workspace")
    found = Path(workspace).glob("verdicts/*/*/*/*.parquet")
    verdicts = [path for path in found if "." not in path.stem]
    return {
        "profile": {path.stem for path in verdicts},
        "rules": {path.parent.name for path in verdicts},
    }


def _panels(
    operation: Operation, words: Sequence[str]
) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield the parameters in the order in which people need them."""
    named: dict[str, list[Parameter]] = {"Arguments": [], "Options": []}
    for parameter in with_what_is_registered(operation.parameters, _stored(words)):
        if parameter.kind == "group":
            named[title_of(parameter.type)] = list(fields_of(parameter.type))
        else:
            named["Arguments" if parameter.kind == "argument" else "Options"].append(parameter)
    for parameter, title in opening_parameters(operation):
        place = "Arguments" if parameter.kind == "argument" else title
        named.setdefault(place, []).append(parameter)
    common = named.pop(COMMON, [])
    for title, parameters in named.items():
        if parameters:
            yield title, [(_left(parameter), parameter.about) for parameter in parameters]
    rows = [(_left(parameter), parameter.about) for parameter in common]
    as_json = [("--json", JSON_HELP)] if returns_result(operation) else []
    yield COMMON, [*rows, *as_json, _HELP]


def _left(parameter: Parameter) -> str:
    if parameter.kind == "argument":
        shown = parameter.placeholder or parameter.name.upper()
        return shown if parameter.is_required else f"[{shown}]"
    if parameter.is_flag:
        other = "" if parameter.default is False else f", --no-{parameter.option}"
        return f"--{parameter.option}{other}"
    return f"--{parameter.option} {parameter.placeholder}"


def _panel(title: str, rows: Rows, width: int = 0) -> str:
    """Return a title and two columns; what is long on the left stands on a line of its own."""
    rows = list(rows)
    short = [len(left) for left, _ in rows if len(left) <= 28]
    width = width or max(short, default=0)
    lines = [_bold(title)]
    for left, right in rows:
        indent = " " * (width + 4)
        first = f"  {left:<{width}}  " if len(left) <= width else indent
        if len(left) > width:
            lines.append(f"  {left}")
        lines += textwrap.wrap(
            right, _width(), initial_indent=first, subsequent_indent=indent, break_long_words=False
        ) or [first.rstrip()]
    return "\n".join(lines)


def _filled(text: str) -> str:
    return textwrap.fill(" ".join(text.replace("`", "").split()), _width())


def _width() -> int:
    return min(shutil.get_terminal_size().columns, _WIDEST)


def _bold(text: str) -> str:
    return f"\033[1m{text}\033[0m" if sys.stdout.isatty() else text


def _joined(parts: Iterable[str]) -> str:
    return "\n\n".join(parts) + "\n"
