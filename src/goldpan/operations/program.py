"""The program `goldpan`: its own options, then the command that the words name."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import cyclopts

from goldpan import __version__
from goldpan.core.config import use_plugins
from goldpan.core.errors import UnknownNameError, UsageError
from goldpan.core.log import LogFormat, start_log
from goldpan.core.plugins import registered, use
from goldpan.core.suggest import choices, question, suggested
from goldpan.core.terminal import Terminal
from goldpan.operations.command import (
    PROGRAM,
    command_function,
    find_function,
    make_command,
    make_group,
    run_command,
)
from goldpan.operations.signature import read_operation
from goldpan.operations.table import COMMANDS, EXAMPLES, GROUPS, OPERATIONS, PANELS

_WITH_VALUE = ("--log-file", "--log-format", "--plugin")
_HELP = ("-h", "--help")
_BUILD = "build"
"""The group to which plugins add commands."""
GLOBAL_OPTIONS = (
    *_WITH_VALUE,
    "--install-completion",
    "--quiet",
    "--show-completion",
    "--verbose",
    "--version",
)
"""The options of `goldpan` itself, which stand before or after the command."""


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
        plugin: A Python file that registers criteria, models and the like (docs/plugins.md); may be
            given several times.
        install_completion: Install completion for the current shell, and stop.
        show_completion: Print the script that completes in the current shell, and stop.
    """
    if version:
        Terminal().print(f"goldpan {__version__}")
    elif install_completion:
        Terminal().print(f"Installed in {whole().install_completion()}")
    elif show_completion:
        sys.stdout.write(whole().generate_completion())
    if version or install_completion or show_completion:
        raise SystemExit
    start_log(log_file, verbose=verbose, as_json=log_format == "json")
    for file in plugin:
        use(file)


def run_words(words: Sequence[str]) -> int:
    """Run what a command line names and return its exit code; raises what it raises."""
    first, others = split_words(words)
    own = make_command(read_operation(program), PROGRAM)
    if not others or others[0] in _HELP:
        run_command(own, first)
        root().help_print([])
        return 0
    run_command(own, first)
    return run_command(branch(others), others)


def root() -> cyclopts.App:
    """Return the program as its help shows it: a line for each command, and its own options."""
    app = make_group(PROGRAM, read_operation(program).summary)
    app.default(command_function(read_operation(program)))
    panels = {name: cyclopts.Group(name, sort_key=n) for n, name in enumerate(PANELS)}
    for number, (name, panel) in enumerate(COMMANDS.items()):
        app.command(
            cyclopts.App(name=name, help=summary_of(name), group=panels[panel], sort_key=number)
        )
    return app


def whole() -> cyclopts.App:
    """Return the program with all its commands."""
    app = make_group(PROGRAM, read_operation(program).summary)
    use_plugins(None)
    for name in COMMANDS:
        _add(app, name)
    return app


def branch(words: Sequence[str]) -> cyclopts.App:
    """Return the program with the commands that the first words lead to, and only names besides.

    Raises `UsageError` where no command has such a name.
    """
    app = make_group(PROGRAM, read_operation(program).summary)
    if words[0] not in COMMANDS:
        remedy = question(words[0], COMMANDS) or "goldpan -h lists the commands"
        raise UsageError(f"There is no command {words[0]!r}", remedy)
    if words[0] == _BUILD:  # a plugin brings commands
        use_plugins(_workspace(words))
        _check_family(words[1:])
    _add(app, words[0], list(words[1:]))
    return app


def _add(above: cyclopts.App, name: str, words: list[str] | None = None) -> None:
    """Add a command or a group; those of its commands that no word leads to are only names.

    Without words, all commands are added whole.
    """
    last = name.rpartition(" ")[2]
    if name in GROUPS and name not in OPERATIONS:
        app = make_group(last, summary_of(name))
    else:
        app = make_command(read_operation(function_of(name)), last, EXAMPLES.get(name, ""))
    above.command(app)
    for other in children(name):
        last = other.rpartition(" ")[2]
        if words is None or words[:1] == [last]:
            _add(app, other, words and words[1:])
        else:
            app.command(cyclopts.App(name=last, help=summary_of(other)))


def children(name: str) -> list[str]:
    """Return the commands and groups that a group of commands holds, each by all its words."""
    plugins = [f"{_BUILD} {family}" for family in registered("dataset")]
    named = dict.fromkeys((*OPERATIONS, *GROUPS, *plugins))
    return [other for other in named if other.rpartition(" ")[0] == name]


def function_of(name: str) -> Callable[..., Any]:
    """Return the function of a command; that of a plugin's family is made as Goldpan's own are."""
    if name in OPERATIONS:
        return find_function(OPERATIONS[name])
    from goldpan.operations.building import family_function

    return family_function(name.removeprefix(f"{_BUILD} "))


def summary_of(name: str) -> str:
    """Return the first line that a command or a group of commands says of itself."""
    documented = find_function(GROUPS[name]) if name in GROUPS else function_of(name)
    return (inspect.getdoc(documented) or "").partition("\n\n")[0].replace("\n", " ")


def _workspace(words: Sequence[str]) -> str | None:
    """Return the workspace that a command line names."""
    named = [word.partition("=")[2] for word in words if word.startswith("--workspace=")]
    named += [after for word, after in pairwise(words) if word == "--workspace"]
    return named[-1] if named else None


def _check_family(words: Sequence[str]) -> None:
    """Raise `UsageError` for a family that nobody brings; a plugin might."""
    known = [name.rpartition(" ")[2] for name in children(_BUILD)]
    if words and not words[0].startswith("-") and words[0] not in known:
        raise UnknownNameError(
            f"There is no dataset {words[0]!r}{suggested(words[0], known)}",
            f"Choose {choices(known)}",
        )


def split_words(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the options of `goldpan` itself, which people write anywhere, and the other words.

    What follows `--` stays.
    """
    end = words.index("--") if "--" in words else len(words)
    first: list[str] = []
    others: list[str] = []
    left = iter(words[:end])
    for word in left:
        name, has_value, _ = word.partition("=")
        if name not in GLOBAL_OPTIONS:
            others.append(word)
            continue
        first.append(word)
        if name in _WITH_VALUE and not has_value:
            first += [value for value in [next(left, None)] if value is not None]
    return first, [*others, *words[end:]]
