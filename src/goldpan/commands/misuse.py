"""Runs a program of commands, and says what is wrong with how it was called."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import typer

MISUSE: Any = typer.BadParameter.__base__
"""What typer raises for a command line that it does not understand; its own module is private."""
_BEFORE_COMMANDS = ("--log-file", "--log-format", "--plugin", "--quiet", "--verbose", "--version")
"""The options of `goldpan` itself."""
_WITH_VALUE = _BEFORE_COMMANDS[:3]


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

    option = getattr(error, "option_name", "")
    path = error.ctx.command_path if error.ctx else "goldpan"
    if option in _BEFORE_COMMANDS:
        command = path.removeprefix("goldpan ")
        error.possibilities = ()
        error.message = f"{option} comes before the command: goldpan {_words(option)} {command}"
    if wants_json():
        complain(UsageError(error.format_message(), f"Run {path} -h for help"))
    else:
        rich_utils.rich_format_error(error)
    return int(error.exit_code)


def _words(option: str) -> str:
    """Return a misplaced option with the value that follows it."""
    after = sys.argv[sys.argv.index(option) + 1 :] if option in sys.argv else []
    return f"{option} {after[0]}" if option in _WITH_VALUE and after else option
