"""Runs the tests of one instance before and after its fix, and keeps what that proves."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from goldpan.code.split_patch import split_patch
from goldpan.core.errors import GitError
from goldpan.core.workspace import Workspace, make_directory
from goldpan.execution.checkout import (
    applies,
    check_out,
    committed_at,
    copy_tree,
    nearest_version,
)
from goldpan.execution.isolation import (
    Command,
    Isolation,
    Limits,
    find_isolation,
)
from goldpan.execution.outcome import Proof, Run, Verdict, prove
from goldpan.execution.python_env import EnvironmentBuildError, build_python_env
from goldpan.execution.recipe import Recipe, load_recipes
from goldpan.execution.records import (
    Instance,
    Record,
    Settings,
    read_record,
    record_directory,
    run_digest,
    write_record,
)
from goldpan.execution.reports import ReportError, read_reports

_TAIL = 300  # characters of a log that are told


@dataclass(frozen=True, slots=True)
class Job:
    """One instance to be proved; it travels to other processes and machines."""

    workspace: Workspace
    instance: Instance
    settings: Settings
    recipes: tuple[Path, ...] = ()
    """Recipes of one's own."""
    again: bool = False
    """Whether it is run although a record is there."""

    def __str__(self) -> str:
        return self.instance.id


class _EndedError(Exception):
    """The verdict is clear before all runs were made."""

    def __init__(self, verdict: Verdict, detail: str = "") -> None:
        super().__init__(verdict)
        self.verdict, self.detail = verdict, detail


def verify_instance(job: Job) -> Record:
    """Prove one instance, or return the record of an earlier run with the same settings.

    Raises `IsolationError` where nothing isolates foreign code, and `GoldpanError` where a tool is
    missing; whatever the repository's own code does ends as a verdict.
    """
    instance = job.instance
    directory = record_directory(job.workspace, instance.repo, instance.issue, instance.pull)
    recipes = load_recipes(job.recipes)
    run = run_digest(job.settings, {recipe.name: recipe.digest for recipe in recipes})
    known = None if job.again else read_record(directory, instance, run)
    if known and known.proof.verdict != "lost-base":  # it may have been cloned meanwhile
        return known
    isolation = find_isolation(job.settings.isolation, job.settings.image)
    shutil.rmtree(directory, ignore_errors=True)
    make_directory(directory)
    with job.workspace.scratch() as scratch:
        trial = _Trial(job, recipes, isolation, scratch, directory)
        try:
            proof, detail = trial.prove(), ""
        except _EndedError as ended:
            proof, detail = Proof(ended.verdict), ended.detail
    environment = {**trial.environment, "isolation": isolation.name, **_described(job.settings)}
    return write_record(directory, instance, run, proof, detail, environment)


def _described(settings: Settings) -> dict[str, Any]:
    return {name: value for name, value in asdict(settings).items() if name != "isolation"}


class _Trial:
    """The runs of one instance, in directories of their own."""

    def __init__(
        self,
        job: Job,
        recipes: Sequence[Recipe],
        isolation: Isolation,
        scratch: Path,
        directory: Path,
    ) -> None:
        self._instance = job.instance
        self._clone = job.workspace.clone(job.instance.repo)
        self._cache = job.workspace.root / "tmp" / "packages" / job.instance.repo.lower()
        self._settings = job.settings
        self._recipes = recipes
        self._isolation = isolation
        self._scratch = scratch
        self._directory = directory
        self._base = scratch / "testbed"
        self.environment: dict[str, Any] = {}

    def prove(self) -> Proof:
        """Run the tests; raises `_EndedError` where nothing can be proved."""
        recipe = self._lay_out()
        runner = self._build(recipe)
        first_after = self._run(runner, "after", 1)
        if not first_after:
            raise _EndedError("no-tests-run", runner.tail("after-1.log"))
        first_before = self._run(runner, "before", 1)
        self._run(runner, "base", 1)
        early = prove([first_before], [first_after])
        if early.verdict != "verified":
            return early
        more = range(2, self._settings.repeats + 1)
        after = [first_after, *(self._run(runner, "after", number) for number in more)]
        before = [first_before, *(self._run(runner, "before", number) for number in more)]
        return prove(before, after)

    def _lay_out(self) -> Recipe:
        """Write the base commit, try the patches on a copy, and return the recipe that fits."""
        self._base.mkdir()
        try:
            check_out(self._clone, self._instance.base_commit, self._base)
        except GitError as error:
            raise _EndedError("lost-base", error.problem) from None
        names = {path.name for path in self._base.iterdir()}
        recipe = next((recipe for recipe in self._recipes if recipe.fits(names)), None)
        if recipe is None:
            raise _EndedError("no-recipe")
        self.environment = {"recipe": recipe.name, "recipe_digest": recipe.digest}
        with self._copy("trial") as trial:
            for kind, patch in (("test patch", self._instance.test_patch), self._fix):
                if not applies(trial, patch):
                    raise _EndedError("does-not-apply", f"the {kind}")
        if recipe.rebuilds(part.path for part in split_patch(self._instance.patch)):
            raise _EndedError("needs-rebuild")
        return recipe

    @property
    def _fix(self) -> tuple[str, str]:
        return "fix", self._instance.patch

    def _build(self, recipe: Recipe) -> _Runner:
        limits = Limits(self._settings.seconds, self._settings.memory, self._settings.processes)
        runner = _Runner(recipe, self._isolation, limits, self._directory, self._scratch)
        date = committed_at(self._clone, self._instance.base_commit)
        version = nearest_version(self._clone, self._instance.base_commit)
        log = self._directory / "build.log"
        try:
            if recipe.fields.environment == "uv":
                made = build_python_env(
                    recipe,
                    self._isolation,
                    self._base,
                    self._scratch / "environment",
                    self._cache,
                    date,
                    version,
                    limits,
                    log,
                )
                runner.python, runner.readable = made.python, made.readable
                self.environment |= {
                    "python": made.version,
                    "python_wanted": made.wanted,
                    "packages": list(made.packages),
                }
            else:
                runner.build(self._base, log)
        except EnvironmentBuildError:
            raise _EndedError("does-not-build", runner.tail(log.name)) from None
        self.environment |= {"newest_packages": date, "version": version}
        return runner

    def _run(self, runner: _Runner, state: str, number: int) -> Run:
        """Run the tests once in a fresh copy of the state: base, before or after the fix."""
        patches = {
            "base": (),
            "before": (self._instance.test_patch,),
            "after": (self._instance.test_patch, self._instance.patch),
        }[state]
        with self._copy("testbed-of-a-run") as testbed:
            for patch in patches:
                if not applies(testbed, patch):
                    raise _EndedError("does-not-apply", "what building left is in the way")
            return runner.run(testbed, self._instance.test_files, f"{state}-{number}")

    def _copy(self, name: str) -> _Copy:
        return _Copy(self._base, self._scratch / name)


class _Copy:
    """A copy of a directory that vanishes with its block."""

    def __init__(self, source: Path, target: Path) -> None:
        self._source, self._target = source, target

    def __enter__(self) -> Path:
        copy_tree(self._source, self._target)
        return self._target

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._target, ignore_errors=True)


class _Runner:
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

        Raises `_EndedError` where they take more than they may.
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
                raise _EndedError("limit-exceeded", f"{ended.exceeded}, {name}")
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
            raise _EndedError("no-tests-run", str(error)) from None

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
