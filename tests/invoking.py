"""Runs `goldpan` in this process, for tests that look at what it prints and how it ends."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from cyclopts import App

from goldpan.cli import main
from goldpan.commands import program
from goldpan.core.log import WORDS


def typed(*words: str) -> partial[Any]:
    """Return the method that words name, with the values that they give it; nothing runs.

    Raises `UsageError` where the program does not understand them.
    """
    found: list[partial[Any]] = []

    def take(app: App, words: Sequence[str], as_json: bool) -> int:
        method, given, _ = app.parse_args(list(words), exit_on_error=False, print_error=False)
        found.append(partial(method, *given.args, **given.kwargs))
        return 0

    with redirect_stdout(io.StringIO()), patch.object(program, "run_command", take):
        program.run_words(words)
    return found[0] if found else partial(main)


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
        finally:
            WORDS.set(())
    return Invoked(code if isinstance(code, int) else 0, out.getvalue(), err.getvalue())
