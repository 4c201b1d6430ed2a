"""One instance laid out and built, so that its tests can be run in any state of its files."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from goldpan.code.patch import split_patch
from goldpan.code.paths import is_test_file
from goldpan.core.errors import GitError
from goldpan.core.secrets import mask
from goldpan.core.workspace import Workspace, write_whole
from goldpan.execution.checkout import (
    applies,
    check_out,
    committed_at,
    copy_tree,
    lay_out_submodules,
    leaves,
    make_accessible,
    nearest_version,
    submodules,
)
from goldpan.execution.command import CommandLimits, printed_lines
from goldpan.execution.isolation import Isolation, find_isolation
from goldpan.execution.network import REQUESTS, open_network
from goldpan.execution.packages import package_cache
from goldpan.execution.python_env import EnvironmentBuildError, build_python_env
from goldpan.execution.recipe import RunRecipe, choose_recipe, load_recipes
from goldpan.execution.records import FixInstance, Run, TrialSettings
from goldpan.execution.reports import Imports, python_files
from goldpan.execution.runner import USUAL, Conditions, EndedError, Runner

_ANSWER_SECONDS = 60


@dataclass(frozen=True, slots=True)
class TrialJob:
    """One instance whose tests are run; it travels to other processes and machines."""

    workspace: Workspace
    instance: FixInstance
    settings: TrialSettings
    recipes: tuple[Path, ...] = ()
    """Recipes of one's own, tried before the shipped ones."""
    again: bool = False
    """Whether it is run although what came of it is known."""

    def __str__(self) -> str:
        return self.instance.id


class Trial:
    """An instance's base commit with its environment, from which each run starts anew."""

    def __init__(self, job: TrialJob, isolation: Isolation, scratch: Path, logs: Path) -> None:
        self._instance = job.instance
        self._workspace = job.workspace
        self._clone = job.workspace.clone(job.instance.repo)
        self._cache = package_cache(job.workspace, job.instance.repo)
        self._settings = job.settings
        self._recipes = load_recipes(job.recipes)
        self._isolation = isolation
        self._scratch = scratch
        self._logs = logs
        self._testbed = scratch / "testbed"
        """Where all happens: what is installed refers to files by their whole path."""
        self._base = scratch / "base"
        """The base commit's files as building left them."""
        self._recipe: RunRecipe | None = None
        self._runner: Runner | None = None
        self.environment: dict[str, Any] = {}
        """What the tests run in."""

    def prepare(self) -> None:
        """Lay out the base commit, try the patches, build the environment.

        Raises `EndedError` with the verdict where one of these fails.
        """
        recipe = self._lay_out()
        settings = self._settings
        limits = CommandLimits(settings.seconds, settings.memory, settings.processes, settings.disk)
        runner = Runner(recipe, self._isolation, limits, self._logs, self._scratch)
        runner.files = python_files(self._testbed)
        date = committed_at(self._clone, self._instance.base_commit)
        version = nearest_version(self._clone, self._instance.base_commit)
        log = self._logs / "build.log"
        try:
            is_fallback = self._build(recipe, runner, date, version, limits, log)
        except EnvironmentBuildError as error:
            if error.exceeded:
                raise EndedError("limit-exceeded", f"{error.exceeded}, build") from None
            raise EndedError("does-not-build", f"see {log.name}") from None
        finally:
            make_accessible(self._testbed)
            if log.exists():  # what builds sees the address of the index
                write_whole(log, mask(log.read_bytes()))
        self._check_out()  # building may have written files of the commit, such as its README
        self._testbed.rename(self._base)
        is_limited = recipe.is_dated and not is_fallback
        self.environment |= {"newest_packages": date if is_limited else "", "version": version}
        if is_fallback:
            self.environment["fallback"] = True
        self._runner = runner

    def _build(
        self,
        recipe: RunRecipe,
        runner: Runner,
        date: str,
        version: str,
        limits: CommandLimits,
        log: Path,
    ) -> bool:
        """Build, and say whether only the recipe's fallback did it."""
        if not recipe.is_python and not recipe.fields.build:
            return False
        requests = self._logs / REQUESTS
        with open_network(self._settings.network, self._isolation, recipe, requests) as network:
            try:
                if not recipe.is_python:
                    return runner.build(self._testbed, date, network, log)
                python_env = build_python_env(
                    recipe,
                    self._isolation,
                    network,
                    self._testbed,
                    self._scratch / "environment",
                    self._cache,
                    date,
                    version,
                    limits,
                    log,
                )
            finally:
                self.environment |= network.described()
        runner.python, runner.readable = python_env.python, python_env.readable
        runner.copied = python_env.copied
        self.environment |= {
            "python": python_env.version,
            "python_wanted": python_env.requested_version,
            "packages": list(python_env.packages),
            "in_place": not python_env.copied,
        }
        return False

    def run(self, name: str, change: Callable[[Path], None], conditions: Conditions = USUAL) -> Run:
        """Run the tests on the base commit's files, changed as told, where these were built."""
        assert self._runner is not None, "it is prepared"
        with _copy(self._base, self._testbed):
            change(self._testbed)
            return self._runner.run(self._testbed, self._instance.test_files, name, conditions)

    def beside(self, name: str) -> Self | None:
        """Return a trial of the same base and environment whose tests run beside this one's.

        Its logs go with its scratch folder. None where what is installed refers to this trial's
        folder, or where what was built lies in the home directory.
        """
        assert self._runner is not None, "it is prepared"
        folder = self._scratch / name
        testbed = folder / "testbed"
        if not self.is_python or self._isolation.testbed(testbed) == str(testbed):
            return None
        folder.mkdir()
        other = copy(self)
        other._testbed, other._runner = testbed, self._runner.beside(folder)
        return other

    @property
    def is_python(self) -> bool:
        """Whether the tests are run by pytest, in an environment that was built for the project."""
        return self._recipe is not None and self._recipe.is_python

    def answer(self, script: str) -> list[str]:
        """Return the lines that a shell script of ours prints where the tests run."""
        command = ("/bin/sh", "-c", script)
        return printed_lines(self._isolation, command, CommandLimits(_ANSWER_SECONDS))

    @property
    def imports(self) -> Imports:
        """What the last run imported of the project."""
        assert self._runner is not None, "it is prepared"
        return self._runner.imports

    def restore_tests(self, testbed: Path, changed: Iterable[str]) -> tuple[str, ...]:
        """Give the tests the state that the fix brings, whatever a patch did to them.

        `changed` are the files that the patch wrote. Those among them that are tests, or steer the
        runner as a `conftest.py` does, become the base commit's, unless the fix changes them as
        well. Returns these.
        """
        parts = split_patch(self._instance.test_patch)
        moved = {part.moved_from for part in parts if part.moved_from}
        fixed = {part.path for part in split_patch(self._instance.patch)}
        steering = {path for path in changed if path not in fixed and self._steers(testbed, path)}
        for path in sorted({*self._instance.test_files, *moved, *steering}):
            target, source = testbed / path, self._base / path
            if leaves(testbed, path) or leaves(self._base, path):
                raise EndedError("does-not-apply", f"{path} leads out of the repository")
            if target.is_dir() and not target.is_symlink():
                shutil.rmtree(target)
            target.unlink(missing_ok=True)
            if source.is_file() and not source.is_symlink():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target)
        apply_or_end(testbed, self._instance.test_patch)
        return tuple(sorted(steering))

    def _steers(self, testbed: Path, path: str) -> bool:
        """Say whether a file decides what tests find, as tests and their settings do."""
        assert self._recipe is not None, "it is prepared"
        if self._recipe.steers(path) or is_test_file(path, ""):
            return True
        if leaves(testbed, path) or not (testbed / path).is_file():
            return is_test_file(path)
        return is_test_file(path, (testbed / path).read_text("utf-8", "replace"))

    def _check_out(self) -> None:
        clone, commit = self._clone, self._instance.base_commit
        try:
            check_out(clone, commit, self._testbed, self._scratch / "index")
        except GitError as error:
            raise EndedError("lost-base", error.problem) from None

    def _lay_out(self) -> RunRecipe:
        """Write the base commit, try the patches on a copy, and return the recipe that fits."""
        self._testbed.mkdir()
        self._check_out()
        modules = submodules(self._clone, self._instance.repo, self._instance.base_commit)
        without_submodules = lay_out_submodules(
            self._workspace, modules, self._testbed, self._scratch
        )
        if without_submodules:
            self.environment["lacking_submodules"] = list(without_submodules)
        names = {path.name for path in self._testbed.iterdir()}
        recipe = choose_recipe(self._recipes, names, self._instance.test_files)
        if recipe is None:
            raise EndedError("no-recipe")
        if missing := self._isolation.lacking(recipe.fields.programs):
            raise EndedError("no-recipe", f"{', '.join(missing)} not installed")
        recipe = recipe if self._isolation.is_own_system else recipe.in_image()
        self._recipe = recipe
        self.environment |= {"recipe": recipe.name, "recipe_digest": recipe.digest}
        patches = {"the test patch": self._instance.test_patch, "the fix": self._instance.patch}
        with _copy(self._testbed, self._scratch / "trial") as trial:
            for kind, patch in patches.items():
                apply_or_end(trial, patch, kind)
        if recipe.rebuilds(part.path for part in split_patch(self._instance.patch)):
            raise EndedError("needs-rebuild")
        return recipe


@contextmanager
def open_trial(job: TrialJob, logs: Path) -> Iterator[Trial]:
    """Give a trial in directories of its own; raises `IsolationError` where nothing isolates."""
    isolation = find_isolation(job.settings.isolation, job.settings.image)
    with job.workspace.scratch() as scratch:
        trial = Trial(job, isolation, scratch, logs)
        trial.environment["isolation"] = isolation.name
        if isolation.image_id:
            trial.environment["image_id"] = isolation.image_id
        try:
            yield trial
        finally:
            make_accessible(scratch)


@contextmanager
def _copy(source: Path, target: Path) -> Iterator[Path]:
    """Copy files for as long as they are needed."""
    copy_tree(source, target)
    try:
        yield target
    finally:
        make_accessible(target)
        shutil.rmtree(target, ignore_errors=True)


def apply_or_end(testbed: Path, patch: str, kind: str = "what building left is in the way") -> None:
    """Apply a git diff; raises `EndedError` where it does not apply."""
    if not applies(testbed, patch):
        raise EndedError("does-not-apply", kind)
