"""Runs a recipe's commands in isolation, and reads what they report."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from goldpan.execution.isolation import Command, Isolation, Limits
from goldpan.execution.outcome import Run, Verdict
from goldpan.execution.python_env import EnvironmentBuildError
from goldpan.execution.recipe import Recipe
from goldpan.execution.reports import ReportError, read_reports

_TAIL = 300  # characters of a log that are told


class EndedError(Exception):
    """The verdict is clear before all runs were made."""

    def __init__(self, verdict: Verdict, detail: str = "") -> None:
        super().__init__(verdict)
        self.verdict, self.detail = verdict, detail


class Runner:
    """Runs a recipe's commands in isolation."""

    def __init__(
        self, recipe: Recipe, isolation: Isolation, limits: Limits, directory: Path, scratch: Path
    ) -> None:
        self._recipe = recipe
        self._isolation = isolation
        self._limits = limits
        self._directory = directory
        self._home = scratch / "home"
        self._reports = scratch / "reports"
        self._command = 0
        self.python = os.path.realpath(sys.executable)
        self.readable: tuple[Path, ...] = (
            Path(self.python).parent.parent,
            *recipe.scripts,
            *recipe.fields.readable,
        )
        for path in (self._home, self._reports):
            path.mkdir()

    def build(self, testbed: Path, log: Path) -> None:
        """Run the recipe's own commands of building; raises `EnvironmentBuildError`."""
        values = {"testbed": self._isolation.testbed(testbed), "home": str(self._home)}
        for command in self._recipe.fields.build:
            arguments = [part.format(**values) for part in command]
            ended = self._isolation.run(
                Command(
                    arguments,
                    testbed,
                    (self._home,),
                    self.readable,
                    self._variables(),
                    network=True,
                ),
                self._limits,
                log,
            )
            if ended.code != 0:
                raise EnvironmentBuildError

    def run(self, testbed: Path, files: Sequence[str], name: str) -> Run:
        """Run the tests of those files that are there, all where none is for the runner.

        Raises `EndedError` where they take more than they may.
        """
        runnable = self._recipe.runnable(files)
        there = [path for path in runnable if (testbed / path).is_file()]
        if runnable and not there:
            return {}
        report = self._reports / f"{name}.report"
        commands = self._recipe.test_commands(self.python, str(report), there)
        log = self._directory / f"{name}.log"
        outcomes: Mapping[str, Any] = {}
        for number, command in enumerate(commands[self._command :], self._command):
            report.unlink(missing_ok=True)
            writable = (self._reports, self._home)
            ended = self._isolation.run(
                Command(command, testbed, writable, self.readable, self._variables()),
                self._limits,
                log,
            )
            if ended.exceeded:
                raise EndedError("limit-exceeded", f"{ended.exceeded}, {name}")
            outcomes = self._read(report)
            if outcomes:
                self._command = number  # the others run in the same way
                shutil.copyfile(report, self._directory / f"{name}.report")
                break
        return outcomes

    def _read(self, report: Path) -> Run:
        if not report.is_file():
            return {}
        try:
            return read_reports([report], self._recipe.fields.format)
        except ReportError as error:
            raise EndedError("no-tests-run", str(error)) from None

    def _variables(self) -> dict[str, str]:
        return {"HOME": str(self._home)}

    def tail(self, name: str) -> str:
        """Return the end of a log."""
        path = self._directory / name
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _TAIL * 4))
            return file.read().decode("utf-8", "replace").strip()[-_TAIL:]
