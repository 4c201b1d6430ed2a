"""Runs `goldpan` in this process, for tests that look at what it prints and how it ends."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import cyclopts

from goldpan.cli import main
from goldpan.operations.command import misuse
from goldpan.operations.program import branch, split_words


def check_typed(*words: str) -> None:
    """Raise `UsageError` where the program does not understand a command line; nothing runs."""
    _, others = split_words(words)
    try:
        branch(others).parse_args(others, exit_on_error=False, print_error=False)
    except cyclopts.CycloptsError as error:
        raise misuse(error) from None


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
