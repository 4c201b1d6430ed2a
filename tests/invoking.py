"""Runs `goldpan` in this process, for tests that look at what it prints and how it ends."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import cyclopts

from goldpan.cli import main
from goldpan.operations.command import make_command, misuse
from goldpan.operations.program import named_command, split_words
from goldpan.operations.signature import read_operation
from goldpan.operations.table import function_of


def find_command(words: Sequence[str]) -> tuple[cyclopts.App, list[str]]:
    """Return the command that words name, and the words behind its own."""
    name, others = named_command(words)
    return make_command(read_operation(function_of(name)), f"goldpan {name}"), others


def check_typed(*words: str) -> None:
    """Raise `UsageError` where the program does not understand a command line; nothing runs."""
    _, others = split_words(words)
    app, remaining = find_command(others)
    try:
        app.parse_args(remaining, exit_on_error=False, print_error=False)
    except cyclopts.CycloptsError as error:
        raise misuse(error, app) from None


@dataclass(frozen=True, slots=True)
class Invoked:
    """How the program ended."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def output(self) -> str:
        """All that it printed."""
        return self.stdout + self.stderr


def invoke(*words: str | Path) -> Invoked:
    """Run `goldpan` with words; nothing of it is raised but what is a defect of its own."""
    out, err = io.StringIO(), io.StringIO()
    code: str | int | None = 0
    with (
        patch.object(sys, "argv", ["goldpan", *map(str, words)]),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as end:
            code = end.code
    return Invoked(code if isinstance(code, int) else 0, out.getvalue(), err.getvalue())
