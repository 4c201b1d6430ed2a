"""Runs `goldpan` in this process, for tests that look at what it prints and how it ends."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from goldpan.cli import main
from goldpan.commands.program import run_words


def typed(*words: str) -> tuple[Callable[..., Any], Mapping[str, Any]]:
    """Return the method that words name, and the values that they give it; nothing runs.

    Raises `UsageError` where the program does not understand them.
    """
    found: list[tuple[Callable[..., Any], Mapping[str, Any]]] = []

    def take(method: Callable[..., Any], values: Mapping[str, Any]) -> int:
        found.append((method, values))
        return 0

    with redirect_stdout(io.StringIO()):  # of -h and the like, which name no method
        run_words(words, take)
    return found[0] if found else (run_words, {})


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
