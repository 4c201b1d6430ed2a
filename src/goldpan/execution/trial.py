"""One instance laid out and built, so that its tests can be run in any state of its files."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from goldpan.code.patch import split_patch
from goldpan.core.errors import GitError
from goldpan.core.secrets import mask
from goldpan.core.storage.workspace import write_whole
from goldpan.execution.checkout import (
    check_out,
    committed_at,
    copied_tree,
    lay_out_submodules,
    make_accessible,
    nearest_version,
    submodules,
)
from goldpan.execution.command import CommandLimits, SandboxCommand
from goldpan.execution.imports import (
    NOTHING_IMPORTED,
    PROBE,
    VARIABLE,
    Imports,
    import_roots,
    python_files,
    read_imports,
)
from goldpan.execution.isolation import Container, Isolation, find_isolation
from goldpan.execution.network import REQUESTS, BuildNetwork, open_network
from goldpan.execution.outcomes import ReportError
from goldpan.execution.proof import Run, uncollected
from goldpan.execution.python_env import EnvironmentBuildError, build_python_env
from goldpan.execution.recipe import RunRecipe, choose_recipe, load_recipes
from goldpan.execution.records import (
    USUAL,
    Conditions,
    EndedError,
    TrialJob,
    TrialRecord,
    package_cache,
)
from goldpan.execution.reports import read_report, report_content
from goldpan.git.apply import apply_in

_ANSWER_SECONDS = 60


@dataclass(frozen=True, slots=True)
class _Reported:
    """What came of one run of the tests."""

    outcomes: Run = field(default_factory=dict)
    imports: Imports = NOTHING_IMPORTED
    broke_off: bool = True
    problem: str = ""
    """Why the report cannot be believed."""


class Trial:
    """An instance's base commit with its environment, from which each run starts anew."""

    def __init__(self, job: TrialJob, isolation: Isolation, scratch: Path, logs: Path) -> None:
        self._job, self._instance, self._isolation = job, job.instance, isolation
        self._clone = job.workspace.clone(job.instance.repo)
        self._limits: CommandLimits = job.settings
        self._scratch, self._logs = scratch, logs
        self.base = scratch / "base"
        """The base commit's files as building left them."""
        self.recipe: RunRecipe
        self._command: int | None = None
        """The recipe's command of tests that the first run found to report any."""
        self.takes_all = False
        """True where all tests run, not those of the changed files alone."""
        self._files: frozenset[str] = frozenset()
        """The project's Python files, as they were before anything was built."""
        self._copied: frozenset[str] = frozenset()
        """The project's files that its environment holds as a copy."""
        self.imports = NOTHING_IMPORTED
        """The files of the project that the last run imported, where it is one of Python."""
        self.broke_off = False
        """True where the last run ended before it had reported all of its tests."""
        self.environment: dict[str, Any] = {}
        """The environment that the tests run in, as records state it."""
        self._testbed = scratch / "testbed"
        """The folder where all runs: what is installed refers to files by their whole path."""
        self._home, self._reports = scratch / "home", scratch / "reports"
        for path in (self._home, self._reports):
            path.mkdir()

    def prepare(self) -> None:
        """Lay out the base commit, try the patches, build the environment.

        Raises `EndedError` with the verdict where one of these fails.
        """
        self._lay_out()
        self._files = python_files(self._testbed)
        date = committed_at(self._clone, self._instance.base_commit)
        version = nearest_version(self._clone, self._instance.base_commit)
        log = self._logs / "build.log"
        try:
            is_fallback = self._build_as_declared(date, version, log)
        except EnvironmentBuildError as error:
            if error.exceeded:
                raise EndedError("limit-exceeded", f"{error.exceeded}, build") from None
            raise EndedError("does-not-build", f"see {log.name}") from None
        finally:
            make_accessible(self._testbed)
            if log.exists():  # what builds sees the address of the index
                write_whole(log, mask(log.read_bytes()))
        self._check_out()  # building may have written files of the commit, such as its README
        self._testbed.rename(self.base)
        is_limited = self.recipe.is_dated and not is_fallback
        self.environment |= {"newest_packages": date if is_limited else "", "version": version}
        if is_fallback:
            self.environment["fallback"] = True

    def run(
        self,
        name: str,
        change: Callable[[Path], None],
        conditions: Conditions = USUAL,
        *,
        is_partial: bool = False,
    ) -> Run:
        """Run the tests on the base commit's files after a change, where these were built.

        With `is_partial`, what a report says that breaks off is taken. Raises `EndedError` where
        they take more than they may, or their report cannot be believed.
        """
        with copied_tree(self.base, self._testbed):
            change(self._testbed)
            reported = self._run_tests(name, conditions)
        if reported.problem and not is_partial:
            raise EndedError("no-tests-run", reported.problem)
        self.imports, self.broke_off = reported.imports, reported.broke_off
        return reported.outcomes

    @property
    def has_more_tests(self) -> bool:
        """True where tests that did not change may read what did: files that no runner takes.

        In Python `RunRecipe.given` decides what runs, by what the changed files hold.
        """
        listed = self._instance.test_files
        return not self.recipe.is_python and 0 < len(self.recipe.runnable(listed)) < len(listed)

    def take_all(self) -> None:
        """Run all tests from now on, in whichever way reports any."""
        self.takes_all, self._command = True, None

    def answer(self, script: str) -> list[str]:
        """Return the lines that a shell script of ours prints where the tests run."""
        command = ("/bin/sh", "-c", script)
        return self._isolation.printed_lines(command, CommandLimits(_ANSWER_SECONDS))

    def _check_out(self) -> None:
        clone, commit = self._clone, self._instance.base_commit
        try:
            check_out(clone, commit, self._testbed, self._scratch / "index")
        except GitError as error:
            raise EndedError("lost-base", error.problem) from None

    def _lay_out(self) -> None:
        """Write the base commit, choose the recipe that fits, and try the patches on a copy."""
        self._testbed.mkdir()
        self._check_out()
        modules = submodules(self._clone, self._instance.repo, self._instance.base_commit)
        without_submodules = lay_out_submodules(
            self._job.workspace, modules, self._testbed, self._scratch
        )
        if without_submodules:
            self.environment["lacking_submodules"] = list(without_submodules)
        names = {path.name for path in self._testbed.iterdir()}
        recipe = choose_recipe(load_recipes(self._job.recipes), names, self._instance.test_files)
        if recipe is None:
            raise EndedError("no-recipe")
        if missing := self._isolation.lacking(recipe.fields.programs):
            raise EndedError("no-recipe", f"{', '.join(missing)} not installed")
        is_own = self._isolation.is_own_system
        self.recipe = recipe = recipe if is_own else recipe.in_image()
        self._python = os.path.realpath(sys.executable) if is_own else "python3"
        interpreter = (Path(self._python).parent.parent,) if is_own else ()
        self._readable: tuple[Path, ...] = (*interpreter, *recipe.scripts, *recipe.readable)
        self.environment |= {"recipe": recipe.name, "recipe_digest": recipe.digest}
        patches = {"the test patch": self._instance.test_patch, "the fix": self._instance.patch}
        with copied_tree(self._testbed, self._scratch / "trial") as trial:
            for kind, patch in patches.items():
                apply_or_end(trial, patch, kind)
        if recipe.rebuilds(part.path for part in split_patch(self._instance.patch)):
            raise EndedError("needs-rebuild")

    def _build_as_declared(self, date: str, version: str, log: Path) -> bool:
        """Build what the fix declares that it needs or, where that fails, what its base does."""
        instance = self._instance
        declared = [
            part
            for part in (*split_patch(instance.patch), *split_patch(instance.test_patch))
            if self.recipe.declares(part.path) and (self._testbed / part.path).is_file()
        ]
        if not declared:
            return self._build(date, version, log)
        apply_or_end(self._testbed, "".join(part.text for part in declared))
        try:
            is_fallback = self._build(date, version, log)
        except EnvironmentBuildError as error:
            if error.exceeded:
                raise
            with log.open("a", encoding="utf-8") as file:
                file.write("goldpan: this failed, so what the base declares is built\n")
            self._check_out()
            return self._build(date, version, log)
        self.environment["declared_by_fix"] = [part.path for part in declared]
        return is_fallback

    def _build(self, date: str, version: str, log: Path) -> bool:
        """Build, and say whether only the recipe's fallback did it.

        `date` is the moment of the base commit, in ISO 8601. Raises `EnvironmentBuildError`.
        """
        recipe, isolation = self.recipe, self._isolation
        if not recipe.is_python and not recipe.fields.build:
            return False
        with open_network(
            self._job.settings.network, isolation, recipe, self._logs / REQUESTS
        ) as network:
            try:
                if not recipe.is_python:
                    return self._build_by_recipe(date, network, log)
                python_env = build_python_env(
                    recipe,
                    isolation,
                    network,
                    self._testbed,
                    self._scratch / "environment",
                    package_cache(self._job.workspace, self._instance.repo),
                    date,
                    version,
                    self._limits,
                    log,
                )
            finally:
                self.environment |= network.described()
        self._python, self._readable = python_env.python, python_env.readable
        self._copied = python_env.copied
        self.environment |= {
            "python": python_env.version,
            "python_wanted": python_env.requested_version,
            "packages": list(python_env.packages),
            "in_place": not python_env.copied,
        }
        return False

    def _build_by_recipe(self, date: str, network: BuildNetwork, log: Path) -> bool:
        """Run the recipe's own commands of building, those of the fallback where they fail."""
        testbed, variables = self._isolation.testbed(self._testbed), self._variables
        ways = self.recipe.builds(testbed, str(self._home), date)
        for number, commands in enumerate(ways):
            if number:
                with log.open("a", encoding="utf-8") as file:
                    file.write(f"goldpan: this failed, so packages are not limited to {date}\n")
            for arguments in commands:
                seen = (self._testbed, (self._home,), self._readable, variables)
                command = network.through(SandboxCommand(arguments, *seen))
                finished = self._isolation.run(command, self._limits, log)
                if finished.code != 0:
                    break
            else:
                return number > 0
            if finished.exceeded:
                break
        raise EnvironmentBuildError(finished.exceeded)

    @property
    def _variables(self) -> dict[str, str]:
        """Environment variables that are set when tests run."""
        return {"HOME": str(self._home), **self.recipe.variables(str(self._home))}

    def _run_tests(self, name: str, conditions: Conditions) -> _Reported:
        """Run the test files that are there, all tests where none is for the runner."""
        listed = () if self.takes_all else self._instance.test_files
        given = self.recipe.given(self._testbed, listed)
        present = [path for path in given if (self._testbed / path).is_file()]
        if given and not present and self.recipe.takes_files:
            return _Reported()
        # All states run in the way in which the first reported tests of all files, or else any.
        every = range(len(self.recipe.fields.tests))
        chosen = _Reported()
        for number in every if self._command is None else (self._command,):
            reported = self._run_command(name, number, present, conditions)
            missing = uncollected(reported.outcomes, self._instance.test_files)
            if (reported.outcomes or reported.problem) and not (chosen.outcomes and missing):
                chosen, best = reported, number
            if chosen.problem or (reported.outcomes and not missing):
                break
        if chosen.outcomes:
            self._command = best
            report = self._reports / f"{name}-{best}" / "report"
            shutil.copyfile(report, self._logs / f"{name}.report")
        return chosen

    def _run_command(
        self, name: str, number: int, present: Sequence[str], conditions: Conditions
    ) -> _Reported:
        """Run the tests in one of the recipe's ways."""
        seconds = min(self._limits.seconds, conditions.seconds or self._limits.seconds)
        limits = replace(self._limits, seconds=seconds)
        # Foreign code writes here, so no command has the folder of another.
        reports = self._reports / f"{name}-{number}"
        reports.mkdir()
        report = reports / "report"
        command = self.recipe.test_commands(self._python, str(report), present)[number]
        writable, readable = (reports, self._home), self._readable
        roots = import_roots(self._files, self._copied)
        variables, inner = self._variables, self._isolation.testbed(self._testbed)
        if self.recipe.is_python:
            # A copy must not be found before the files under test.
            first = [os.path.normpath(f"{inner}/{root}") for root in roots if self._copied]
            readable = (*readable, PROBE)
            path = ":".join((str(PROBE), *first))
            variables = {**variables, "PYTHONPATH": path, VARIABLE: str(reports)}
        command = [*conditions.prefix, *command]
        variables = {**variables, **conditions.variables}
        log = self._logs / f"{name}.log"
        finished = self._isolation.run(
            SandboxCommand(command, self._testbed, writable, readable, variables), limits, log
        )
        imports = read_imports(reports, inner, self._files, self._copied, roots)
        if finished.exceeded:
            raise EndedError("limit-exceeded", f"{finished.exceeded}, {name}")
        try:
            content = report_content(report)
            outcomes = read_report(content, self.recipe.format_of(number)) if content else {}
        except ReportError as error:
            return _Reported(error.outcomes, imports, problem=str(error))
        # A runner that fails though no test did ended before others.
        is_whole = bool(outcomes) and (not finished.code or "failed" in outcomes.values())
        return _Reported(outcomes, imports, broke_off=not is_whole)


@contextmanager
def open_trial(job: TrialJob, logs: Path, record: TrialRecord | None = None) -> Iterator[Trial]:
    """Open a trial in directories of its own, to run the tests that an earlier record is of.

    Raises `IsolationError` where nothing isolates.
    """
    isolation = find_isolation(job.settings.isolation, job.settings.image)
    with job.workspace.scratch() as scratch:
        trial = Trial(job, isolation, scratch, logs)
        trial.takes_all = record is not None and record.takes_all
        trial.environment["isolation"] = isolation.name
        if isinstance(isolation, Container):
            trial.environment["image_id"] = isolation.image_id
        try:
            yield trial
        finally:
            make_accessible(scratch)


def apply_or_end(
    testbed: Path, patch: str, kind: str = "files left by the build are in the way"
) -> None:
    """Apply a git diff; raises `EndedError` where it does not apply."""
    if not patch:
        return
    try:
        apply_in(testbed, patch.encode("utf-8", "surrogateescape"))
    except GitError:
        raise EndedError("does-not-apply", kind) from None
