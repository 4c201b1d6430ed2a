"""Runs a recipe's commands in isolation, and reads what they report."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from goldpan.execution.command import CommandLimits, Finished, SandboxCommand
from goldpan.execution.isolation import Isolation
from goldpan.execution.network import BuildNetwork
from goldpan.execution.python_env import EnvironmentBuildError
from goldpan.execution.recipe import RunRecipe
from goldpan.execution.records import Run, Verdict
from goldpan.execution.reports import (
    PROBE,
    VARIABLE,
    Imports,
    ReportError,
    ReportFormat,
    import_roots,
    read_imports,
    read_report,
    report_content,
)


class EndedError(Exception):
    """The verdict is clear before all runs were made."""

    def __init__(self, verdict: Verdict, detail: str = "") -> None:
        super().__init__(verdict)
        self.verdict, self.detail = verdict, detail


@dataclass(frozen=True, slots=True)
class Conditions:
    """What is otherwise than usual while tests run."""

    variables: Mapping[str, str] = field(default_factory=dict)
    prefix: tuple[str, ...] = ()
    """A command that runs the one behind it, such as one that binds it to a processor."""
    seconds: float | None = None
    """A lower limit of time."""


USUAL = Conditions()


class Runner:
    """Runs a recipe's commands in isolation."""

    def __init__(
        self,
        recipe: RunRecipe,
        isolation: Isolation,
        limits: CommandLimits,
        directory: Path,
        scratch: Path,
    ) -> None:
        self._recipe = recipe
        self._isolation = isolation
        self._limits = limits
        self._directory = directory
        self._command: int | None = None
        is_own = isolation.is_own_system
        self.python = os.path.realpath(sys.executable) if is_own else "python3"
        interpreter = (Path(self.python).parent.parent,) if is_own else ()
        self.readable: tuple[Path, ...] = (*interpreter, *recipe.scripts, *recipe.readable)
        self.files: frozenset[str] = frozenset()
        """The project's Python files, as they were before anything was built."""
        self.copied: frozenset[str] = frozenset()
        """The project's files that its environment holds as a copy."""
        self.imports = Imports((), ())
        """What the last run imported of the project, where it is one of Python."""
        self._settle(scratch)

    def _settle(self, scratch: Path) -> None:
        self._home = scratch / "home"
        self._reports = scratch / "reports"
        self.variables = {"HOME": str(self._home), **self._recipe.variables(str(self._home))}
        """What is set when tests run."""
        for path in (self._home, self._reports):
            path.mkdir()

    def beside(self, scratch: Path) -> Self:
        """Return a runner of the same environment whose home, reports and logs are its own."""
        other = copy(self)
        other._directory = scratch
        other._settle(scratch)
        return other

    def build(self, testbed: Path, date: str, network: BuildNetwork, log: Path) -> bool:
        """Run the recipe's own commands of building; say whether those of the fallback were needed.

        `date` is the moment of the base commit, in ISO 8601. Raises `EnvironmentBuildError`.
        """
        inner_testbed = self._isolation.testbed(testbed)
        for number, commands in enumerate(
            self._recipe.builds(inner_testbed, str(self._home), date)
        ):
            if number:
                with log.open("a", encoding="utf-8") as file:
                    file.write(f"goldpan: this failed, so packages are not limited to {date}\n")
            finished = self._build_by(commands, testbed, network, log)
            if finished.code == 0:
                return number > 0
            if finished.exceeded:
                break
        raise EnvironmentBuildError(finished.exceeded)

    def _build_by(
        self, commands: Sequence[Sequence[str]], testbed: Path, network: BuildNetwork, log: Path
    ) -> Finished:
        finished = Finished(0)
        for arguments in commands:
            command = SandboxCommand(
                arguments, testbed, (self._home,), self.readable, self.variables
            )
            finished = self._isolation.run(network.through(command), self._limits, log)
            if finished.code != 0:
                break
        return finished

    def run(
        self, testbed: Path, files: Sequence[str], name: str, conditions: Conditions = USUAL
    ) -> Run:
        """Run the tests of those files that are there, all where none is for the runner.

        Raises `EndedError` where they take more than they may.
        """
        seconds = min(self._limits.seconds, conditions.seconds or self._limits.seconds)
        limits = replace(self._limits, seconds=seconds)
        runnable = self._recipe.runnable(files)
        present = [path for path in runnable if (testbed / path).is_file()]
        if runnable and not present:
            return {}
        log = self._directory / f"{name}.log"
        for number in range(len(self._recipe.fields.tests)):
            if self._command not in (None, number):
                continue  # all states run in the way in which the first reported a test
            # Foreign code writes here, so no command has the folder of another.
            reports = self._reports / f"{name}-{number}"
            reports.mkdir()
            report = reports / "report"
            command = self._recipe.test_commands(self.python, str(report), present)[number]
            writable, readable = (reports, self._home), self.readable
            roots = import_roots(self.files, self.copied)
            variables, inner = self.variables, self._isolation.testbed(testbed)
            if self._recipe.is_python:
                # A copy must not be found before the files under test.
                first = [os.path.normpath(f"{inner}/{root}") for root in roots if self.copied]
                readable = (*readable, PROBE)
                path = ":".join((str(PROBE), *first))
                variables = {**variables, "PYTHONPATH": path, VARIABLE: str(reports)}
            command = [*conditions.prefix, *command]
            variables = {**variables, **conditions.variables}
            finished = self._isolation.run(
                SandboxCommand(command, testbed, writable, readable, variables), limits, log
            )
            self.imports = read_imports(reports, inner, self.files, self.copied, roots)
            if finished.exceeded:
                raise EndedError("limit-exceeded", f"{finished.exceeded}, {name}")
            form = self._recipe.format_of(number)
            if outcomes := self._read(report, form, self._directory / f"{name}.report"):
                self._command = number
                return outcomes
        return {}

    def _read(self, report: Path, form: ReportFormat, copy: Path) -> Run:
        """Return what a report says, and keep those bytes where they say anything."""
        try:
            content = report_content(report)
            if content is None:
                return {}
            outcomes = read_report(content, form)
        except ReportError as error:
            raise EndedError("no-tests-run", str(error)) from None
        if outcomes:
            copy.write_bytes(content)
        return outcomes
