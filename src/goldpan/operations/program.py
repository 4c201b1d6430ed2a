"""The program `goldpan`: its own options, then the command that the words name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import cyclopts

from goldpan import __version__
from goldpan.core.log import LogFormat, start_log
from goldpan.core.plugins import use
from goldpan.core.terminal import Terminal
from goldpan.operations.command import find_function, make_command, make_group, run_command
from goldpan.operations.signature import read_operation
from goldpan.operations.table import EXAMPLES, GROUPS, OPERATIONS

_WITH_VALUE = ("--log-file", "--log-format", "--plugin")
GLOBAL_OPTIONS = (*_WITH_VALUE, "--quiet", "--verbose", "--version")
"""The options of `goldpan` itself, which stand before or after the command."""


def program(
    *,
    version: bool = False,
    verbose: bool = False,
    quiet: bool = False,
    log_format: LogFormat = "plain",
    log_file: Path | None = None,
    plugin: tuple[Path, ...] = (),
) -> None:
    """Turn GitHub history into curated, published, evaluated datasets.

    Args:
        version: Print the version and stop.
        verbose: Also print each request with its status.
        quiet: Print no progress.
        log_format: Progress and errors as plain lines, or as one JSON object per line.
        log_file: Append messages and requests to this file, with secrets masked.
        plugin: A Python file that registers criteria, models and the like (docs/plugins.md); may
            be given several times.

    """
    if version:
        Terminal().print(f"goldpan {__version__}")
        raise SystemExit
    start_log(log_file, verbose=verbose, as_json=log_format == "json")
    for file in plugin:
        use(file)


def run_words(words: Sequence[str]) -> int:
    """Run what a command line names and return its exit code; raises what it raises."""
    first, others = split_words(words)
    if not _is_derived(others):
        from goldpan.commands.misuse import run_program
        from goldpan.commands.program import app

        return run_program(partial(app, [*first, *others], prog_name="goldpan"))
    start = make_command(read_operation(program), "goldpan")
    run_command(start, first)
    return run_command(program_of(others), others)


def _is_derived(words: Sequence[str]) -> bool:
    """Tell whether words name an operation, or a group of operations."""
    return _path(words) in OPERATIONS or bool(_group(words))


def program_of(words: Sequence[str]) -> cyclopts.App:
    """Return the program with the command, or the group of commands, that words name."""
    root = make_group("goldpan", read_operation(program).summary)
    path, group = _path(words), _group(words)
    groups = {"": root}
    for name, where in OPERATIONS.items():
        above, _, last = name.rpartition(" ")
        if above not in groups:
            groups[above] = make_group(above, GROUPS[above])
            root.command(groups[above])
        if name == path or (not path and group and above == group):
            operation = read_operation(find_function(where))
            groups[above].command(make_command(operation, last, EXAMPLES.get(name, "")))
    return root


def _path(words: Sequence[str]) -> str:
    """Return the words of the longest command that a command line begins with."""
    for count in (3, 2, 1):
        name = " ".join(words[:count])
        if name in OPERATIONS and len(words) >= count:
            return name
    return ""


def _group(words: Sequence[str]) -> str:
    """Return the words of the longest group of commands that a command line begins with."""
    return next((name for count in (2, 1) if (name := " ".join(words[:count])) in GROUPS), "")


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
