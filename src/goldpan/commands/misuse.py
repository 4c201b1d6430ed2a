"""Runs a program of commands, and says what is wrong with how it was called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import typer

MISUSE: Any = typer.BadParameter.__base__
"""What typer raises for a command line that it does not understand; its own module is private."""
_WITH_VALUE = ("--log-file", "--log-format", "--plugin")
GLOBAL_OPTIONS = (*_WITH_VALUE, "--quiet", "--verbose", "--version")
"""The options of `goldpan` itself."""


def global_options_first(words: Sequence[str]) -> list[str]:
    """Return the words of a command line with the options of `goldpan` before the command.

    People write them anywhere; the parser takes them there alone. What follows `--` stays.
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
            value = next(left, None)
            if value is None:  # which the parser then says
                return [word]
            first.append(value)
    return [*first, *others, *words[end:]]


def run_program(program: Callable[..., Any]) -> int:
    """Run a program and return its exit code; what is wrong is JSON where that was asked for."""
    try:
        code = program(standalone_mode=False)
    except MISUSE as error:
        return _complain(error)
    except typer.Abort:
        return 1
    return code if isinstance(code, int) else 0


def _complain(error: Any) -> int:
    from typer import rich_utils

    from goldpan.commands.shared import complain, wants_json
    from goldpan.core.errors import UsageError

    path = error.ctx.command_path if error.ctx else "goldpan"
    if wants_json():
        complain(UsageError(error.format_message(), f"Run {path} -h for help"))
    else:
        rich_utils.rich_format_error(error)
    return int(error.exit_code)
