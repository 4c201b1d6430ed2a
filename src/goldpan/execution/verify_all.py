"""Proves many instances: each once, in parallel, and again only where something changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from goldpan.core.engine import EngineName, open_engine
from goldpan.core.errors import GitError, UsageError
from goldpan.core.progress import Reporter
from goldpan.core.result import Block, Line, Result, Table
from goldpan.core.workspace import Workspace
from goldpan.execution.isolation import find_isolation
from goldpan.execution.outcome import EXPLAINED, Verdict
from goldpan.execution.packages import open_packages
from goldpan.execution.recipe import load_recipes
from goldpan.execution.records import FixInstance, Settings, TrialRecord, hold_verification
from goldpan.execution.submodules import submodules
from goldpan.execution.trial import TrialJob
from goldpan.execution.verify import verify_instance
from goldpan.git.clone import clone, prefetch, promisor
from goldpan.git.objects import Objects


@dataclass(frozen=True, slots=True)
class Verification(Result):
    """The result of running the tests of a dataset's rows."""

    records: tuple[TrialRecord, ...]
    """One an instance, in the order of rows."""
    isolation: str
    """What kept foreign code apart."""
    dataset: str = ""
    """The dataset of the rows and how it was built, in a few words."""
    choice: str = ""
    """The options that choose its rules and profile."""

    def plain(self) -> dict[str, Any]:
        """Return the verdicts, with the tests that stand behind each."""
        return {
            "isolation": self.isolation,
            "counts": self.counts,
            "instances": [
                {
                    "id": record.instance.id,
                    "verdict": record.proof.verdict,
                    "detail": record.detail,
                    "FAIL_TO_PASS": record.proof.fail_to_pass,
                    "PASS_TO_PASS": record.proof.pass_to_pass,
                    "broken": record.proof.broken,
                    "flaky": record.proof.flaky,
                }
                for record in self.records
            ],
        }

    def blocks(self) -> Iterator[Block]:
        """Yield how many rows have each verdict, and what limits it."""
        if self.dataset:
            yield Line(self.dataset)
        yield Table(
            ("verdict", "rows", "meaning"),
            [(verdict, count, EXPLAINED[verdict]) for verdict, count in self.counts.items()],
        )
        yield Line(f"Isolated by: {self.isolation}")
        if later := sum(bool(record.environment.get("fallback")) for record in self.records):
            yield Line(
                f"{later:,} rows have packages of any date, because those of their commit's date "
                "cannot be installed (build.log says why)"
            )
        if refused := sum(bool(record.environment.get("refused")) for record in self.records):
            yield Line(
                f"{refused:,} rows asked for hosts other than the package index's while they were "
                "built (refused in record.json); --network full lets them"
            )
        if self.counts.get("verified"):
            yield Line(f"Next: goldpan build issue-resolution{self.choice} --require verified")

    @property
    def counts(self) -> dict[Verdict, int]:
        """How many instances have each verdict, the most first."""
        return dict(Counter(record.proof.verdict for record in self.records).most_common())


def verify_all(
    workspace: Workspace,
    instances: Iterable[FixInstance],
    settings: Settings,
    reporter: Reporter,
    *,
    recipes: Sequence[Path] = (),
    workers: int = 1,
    engine: EngineName = "local",
    address: str = "",
    again: bool = False,
) -> Verification:
    """Prove instances whose repositories were cloned into the workspace.

    `recipes` are files of one's own, tried before the shipped ones. Instances that were proved with
    the same settings are not run again unless `again`. Of partial clones the files of each base
    commit are fetched first. Raises `IsolationError`, `UsageError` where a history is missing.
    """
    all_instances = tuple(instances)
    workspace = replace(workspace, root=workspace.root.absolute())  # commands run elsewhere
    isolation = find_isolation(settings.isolation, settings.image)
    load_recipes(recipes)  # a wrong one is told before anything runs
    jobs = [
        TrialJob(workspace, instance, settings, tuple(recipes), again) for instance in all_instances
    ]
    records = []
    with hold_verification(workspace):
        for repo in sorted({instance.repo for instance in all_instances}):
            bases = {instance.base_commit for instance in all_instances if instance.repo == repo}
            _fetch_base_history(workspace, repo, bases, reporter)
        with (
            open_packages(workspace, (instance.repo for instance in all_instances), reporter),
            open_engine(engine, workers, address) as running,
            reporter.task("Running tests", len(jobs)) as task,
        ):
            for record in running.map(verify_instance, jobs):
                reporter.note(f"{record.instance.id}: {record.proof.verdict}")
                records.append(record)
                task.advance()
    return Verification(tuple(records), isolation.name)


def _fetch_base_history(
    workspace: Workspace, repo: str, bases: Iterable[str], reporter: Reporter
) -> None:
    """Fetch what partial clones lack of base commits, and clone their submodules."""
    path = workspace.clone(repo)
    if not path.exists():
        raise UsageError(
            f"The history of {repo} is not in {workspace.root}", f"Run goldpan clone --repo {repo}"
        )
    _bring_files(path, bases, reporter)
    for other, commits in _of_submodules(path, repo, bases).items():
        try:
            if not workspace.clone(other).exists():
                clone(workspace, other, reporter)
            _bring_files(workspace.clone(other), commits, reporter)
        except GitError as error:  # their rows run without it, and say so
            reporter.note(f"The submodule {other} of {repo} is left out: {error.problem}")


def _of_submodules(path: Path, repo: str, commits: Iterable[str]) -> dict[str, set[str]]:
    """Return which commits of which other repositories lie in folders of these commits."""
    commits_of: dict[str, set[str]] = {}
    for commit in sorted(commits):
        with suppress(GitError):
            for submodule in submodules(path, repo, commit):
                if submodule.repo:
                    commits_of.setdefault(submodule.repo, set()).add(submodule.commit)
    return commits_of


def _bring_files(path: Path, commits: Iterable[str], reporter: Reporter) -> None:
    """Fetch the files of commits that a partial clone lacks."""
    if promisor(path) is None:
        return
    files: set[str] = set()
    with Objects(path) as objects:
        for commit in sorted(commits):
            with suppress(GitError):  # a lost commit is that row's verdict, and no other's
                files |= {file.id for file in objects.files(commit) if file.kind != "submodule"}
    prefetch(path, files, reporter)
