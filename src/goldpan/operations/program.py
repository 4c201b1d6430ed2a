"""The program `goldpan`: its own options, its help, then the command that the words name."""

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
from typing import TYPE_CHECKING

from goldpan._version import __version__
from goldpan.core.errors import UnknownNameError, UsageError, choices, question, suggested
from goldpan.core.log import LogFormat, start_log
from goldpan.core.plugins.loading import names_of, removed, use
from goldpan.core.plugins.parts import PANELS
from goldpan.core.plugins.parts import Kind as PartKind
from goldpan.operations.signature import (
    JSON_HELP,
    Operation,
    Parameter,
    fields_of,
    read_operation,
    returns_result,
    title_of,
)
from goldpan.operations.table import (
    OWN,
    children,
    every_command,
    first_words,
    function_of,
    is_group,
    summary_of,
)
from goldpan.operations.workspace import COMMON, opening_parameters

if TYPE_CHECKING:
    import cyclopts


_HELP = ("-h", "--help")
_EXTENDED = ("build",)
"""Groups of which plugins of a workspace are asked."""


def program(
    *,
    version: bool = False,
    verbose: bool = False,
    quiet: bool = False,
    log_format: LogFormat = "plain",
    log_file: Path | None = None,
    plugin: tuple[Path, ...] = (),
    install_completion: bool = False,
    show_completion: bool = False,
) -> None:
    """Turn GitHub history into curated, published, evaluated datasets.

    Args:
        version: Print the version and stop.
        verbose: Also print each request with its status.
        quiet: Print no progress.
        log_format: Progress and errors as plain lines, or as one JSON object per line.
        log_file: Append messages and requests to this file, with secrets masked.
        plugin: A Python file or folder that registers parts (docs/plugins.md).
        install_completion: Install completion for the current shell, and stop.
        show_completion: Print the script that completes in the current shell, and stop.
    """
    if version:
        sys.stdout.write(f"goldpan {__version__}\n")
    elif install_completion:
        sys.stdout.write(f"Installed in {whole_program().install_completion()}\n")
    elif show_completion:
        sys.stdout.write(whole_program().generate_completion())
    if version or install_completion or show_completion:
        raise SystemExit
    start_log(log_file, verbose=verbose, as_json=log_format == "json")
    for file in plugin:
        use(file)


def global_options() -> dict[str, Parameter]:
    """Return the options of `goldpan` itself, which stand before or after the command, by name."""
    return {f"--{option.option}": option for option in read_operation(program).parameters}


def run_words(words: Sequence[str]) -> int:
    """Run what a command line names and return its exit code; raises what it raises."""
    first, others = split_words(words)
    if first:
        from goldpan.operations.command import make_command, run_command

        run_command(make_command(read_operation(program), "goldpan"), first)
    if not others or others[0] in _HELP:
        from goldpan.core.settings.config import use_plugins

        use_plugins(named_workspace(others))
        sys.stdout.write(program_help(read_operation(program)))
        return 0
    name, remaining = named_command(others)
    before_end = remaining[: remaining.index("--")] if "--" in remaining else remaining
    if is_group(name) or any(word in before_end for word in _HELP):
        sys.stdout.write(command_help(name, others))
        return 0
    from goldpan.operations.command import make_command, run_command

    return run_command(
        make_command(read_operation(function_of(name)), f"goldpan {name}"), remaining
    )


def whole_program() -> cyclopts.App:
    """Return the program with all its commands, those of plugins, too."""
    from goldpan.core.settings.config import use_plugins
    from goldpan.operations.command import make_command, make_group

    use_plugins(None)
    apps = {"": make_group("goldpan", read_operation(program).summary)}
    for name in every_command():
        above, _, last = name.rpartition(" ")
        if is_group(name):
            apps[name] = make_group(last, summary_of(name))
        else:
            apps[name] = make_command(read_operation(function_of(name)), last)
        apps[above].command(apps[name])
    return apps[""]


def named_command(words: Sequence[str]) -> tuple[str, list[str]]:
    """Return the command that the first words name, and the other words.

    Loads the plugins that may bring it; raises `UsageError` where none has such a name.
    """
    if words[0] not in OWN or words[0] in _EXTENDED:
        from goldpan.core.settings.config import use_plugins

        use_plugins(named_workspace(words))
    commands = first_words()
    if words[0] not in commands:
        if missing := removed("command", words[0]):
            raise missing
        remedy = question(words[0], commands) or "Run goldpan -h for help"
        if words[0].startswith("-"):
            remedy = "Options of a command stand behind it; run goldpan -h for help"
        raise UsageError(f"There is no command {words[0]!r}", remedy)
    name, *remaining = words
    while remaining and f"{name} {remaining[0]}" in children(name):
        name = f"{name} {remaining.pop(0)}"
    if not is_group(name) or not remaining or remaining[0].startswith("-"):
        return name, remaining
    word, known = remaining[0], [child.rpartition(" ")[2] for child in children(name)]
    if missing := removed("command", f"{name} {word}"):
        raise missing
    near, remedy = suggested(word, known), f"Choose {choices(known)}"
    if name in _EXTENDED:
        raise UnknownNameError(f"There is no dataset {word!r}{near}", remedy)
    raise UsageError(f"There is no command '{name} {word}'{near}", remedy)


def split_words(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the options of `goldpan` itself, which people write anywhere, and the other words.

    What follows `--` stays.
    """
    end = words.index("--") if "--" in words else len(words)
    first: list[str] = []
    others: list[str] = []
    options, left = global_options(), iter(words[:end])
    for word in left:
        name, has_value, _ = word.partition("=")
        if name not in options:
            others.append(word)
            continue
        first.append(word)
        if not options[name].is_flag and not has_value:
            first += [value for value in [next(left, None)] if value is not None]
    return first, [*others, *words[end:]]


_SHOW_HELP = ("-h, --help", "Show this and stop.")
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
    parts.append(_panel("Options, before or after the command", [*options, _SHOW_HELP]))
    return _joined(parts)


def command_help(name: str, words: Sequence[str]) -> str:
    """Return the help of a command, or a group of commands; other words may name a workspace."""
    commands = [(child.rpartition(" ")[2], summary_of(child)) for child in children(name)]
    if is_group(name):
        parts = [f"Usage: goldpan {name} COMMAND [OPTIONS]", _filled(summary_of(name))]
        return _joined([*parts, _panel("Commands", commands), _panel("Options", [_SHOW_HELP])])
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
    yield COMMON, [*rows, *as_json, _SHOW_HELP]


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
    lines = [f"\033[1m{title}\033[0m" if sys.stdout.isatty() else title]
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


def _joined(parts: Iterable[str]) -> str:
    return "\n\n".join(parts) + "\n"
