"""Runs the tests of instances before and after their fixes, in parallel, and keeps the proofs."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

from goldpan.core.errors import GitError, UsageError
from goldpan.core.result import Result
from goldpan.core.storage.workspace import WorkspaceLayout, make_directory
from goldpan.core.terminal import Reporter
from goldpan.core.values import ONE_PROCESS, Execution
from goldpan.execution.checkout import submodules
from goldpan.execution.isolation import find_isolation
from goldpan.execution.proof import Origins, Proof, Run, Verdict, prove
from goldpan.execution.recipe import load_recipes
from goldpan.execution.records import (
    ALL_TESTS,
    BROKE_OFF,
    RECORD,
    EndedError,
    FixInstance,
    TrialJob,
    TrialRecord,
    TrialSettings,
    changed_files,
    read_record,
    record_directory,
    run_digest,
    run_trials,
    write_record,
)
from goldpan.execution.trial import Trial, apply_or_end, open_trial
from goldpan.git.clone import clone, prefetch, promisor
from goldpan.git.objects import Objects

_MOST_LISTED = 1_000
_ACTUAL = ("isolation", "network")
"""Settings in whose place a record has what was used."""


def verify_instance(job: TrialJob) -> TrialRecord:
    """Prove one instance, or return the record of an earlier run with the same settings.

    Raises `IsolationError` where nothing isolates foreign code, and `GoldpanError` where a tool is
    missing; whatever the repository's own code does ends as a verdict.
    """
    instance = job.instance
    directory = record_directory(job.workspace, instance)
    run = run_digest(job.settings, job.recipes)
    stored = None if job.again else read_record(directory, instance, run)
    if stored and not _has_more_by_now(job, stored) and not changed_files(directory, RECORD):
        return stored
    with open_trial(job, directory) as trial:
        shutil.rmtree(directory, ignore_errors=True)
        make_directory(directory)
        seconds: dict[str, float] = {}
        started = time.monotonic()
        try:
            trial.prepare()
            built = time.monotonic()
            proof = _prove(trial, job)
            detail = ", ".join(proof.uncollected_after) if proof.verdict == "not-collected" else ""
            seconds = {"build": built - started, "tests": time.monotonic() - built}
        except EndedError as ended:
            proof, detail = Proof(ended.verdict), ended.detail
        missing = trial.environment.get("lacking_submodules")
        if missing and proof.verdict != "verified":
            without = f"without submodule {', '.join(missing)}"
            detail = f"{detail}; {without}" if detail else without
    described = {name: value for name, value in asdict(job.settings).items() if name not in _ACTUAL}
    environment = {**described, **trial.environment}
    return write_record(directory, instance, run, proof, detail, environment, seconds)


def _has_more_by_now(job: TrialJob, stored: TrialRecord) -> bool:
    """Return whether a base or submodule that a row failed without may have been cloned since."""
    if stored.proof.verdict in ("lost-base", "verified"):
        return stored.proof.verdict == "lost-base"
    lacked = stored.environment.get("lacking_submodules", ())
    if not lacked:
        return False
    clone_of, instance = job.workspace.clone, job.instance
    with suppress(GitError):  # the base was lost since
        listed = submodules(clone_of(instance.repo), instance.repo, instance.base_commit)
        needed = [submodule for submodule in listed if submodule.path in lacked and submodule.repo]
        return any(clone_of(submodule.repo).exists() for submodule in needed)
    return False


def _prove(trial: Trial, job: TrialJob) -> Proof:
    """Run the tests of the changed files, and all where these do not show the fix."""
    proof = _compare(trial, job)
    if proof.verdict != "verified" and trial.has_more_tests:
        trial.take_all()
        with suppress(EndedError):
            whole = _compare(trial, job, "all-")
            if whole.verdict == "verified":
                trial.environment[ALL_TESTS] = True
                return whole
    if proof.verdict == "no-tests-run":
        raise EndedError(proof.verdict, "see after-1.log")
    return proof


def _compare(trial: Trial, job: TrialJob, kind: str = "") -> Proof:
    """Run the tests before and after the fix; `kind` begins the names of the logs."""
    files = job.instance.test_files
    first_after = _run(trial, job, "after", f"{kind}after-1")
    if not first_after:
        return Proof("no-tests-run")
    first_before = _run(trial, job, "before", f"{kind}before-1")
    broke_off = trial.broke_off
    origins = Origins(_run(trial, job, "base", f"{kind}base-1"), {}, broke_off)
    early = prove([first_before], [first_after], files, origins)
    if any(test not in first_before and test not in origins.base for test in early.fail_to_pass):
        with suppress(EndedError):  # other tests than the fix's may not end with it
            origins = replace(origins, fix=_run(trial, job, "fix", f"{kind}fix-1"))
        early = prove([first_before], [first_after], files, origins)
    if early.verdict != "verified":
        skipped = [test for test, outcome in first_after.items() if outcome == "skipped"]
        trial.environment |= {"skipped": skipped[:_MOST_LISTED]} if skipped else {}
        return early
    more = range(2, job.settings.repeats + 1)
    after = [first_after, *(_run(trial, job, "after", f"{kind}after-{at}") for at in more)]
    before = [first_before, *(_run(trial, job, "before", f"{kind}before-{at}") for at in more)]
    return prove(before, after, files, origins)


_State = Literal["base", "before", "fix", "after"]


def _run(trial: Trial, job: TrialJob, state: _State, name: str) -> Run:
    """Run the tests on the base commit, with the test patch, with the fix, or with both."""
    instance = job.instance
    patches = {
        "base": (),
        "before": (instance.test_patch,),
        "fix": (instance.patch,),
        "after": (instance.test_patch, instance.patch),
    }[state]

    def change(testbed: Path) -> None:
        for patch in patches:
            apply_or_end(testbed, patch)

    run = trial.run(name, change, is_partial=state != "after")
    if trial.imports.outside:
        raise EndedError("outside-checkout", trial.imports.outside[0])
    if state == "after" and trial.imports.inside:
        trial.environment["imported"] = list(trial.imports.inside[:_MOST_LISTED])
    if state == "after" and run and trial.broke_off:
        trial.environment[BROKE_OFF] = True
    return run


@dataclass(frozen=True, slots=True)
class Verification(Result):
    """The result of running the tests of a dataset's rows."""

    schema = 2
    shown_in_json = ("counts",)

    records: tuple[TrialRecord, ...]
    """One an instance, in the order of rows."""
    isolation: str
    """The isolation that kept foreign code apart."""
    dataset: str = ""
    """The dataset of the rows and how it was built, in a few words."""
    choice: str = ""
    """The options that choose its rules and profile."""

    @property
    def counts(self) -> dict[Verdict, int]:
        """How many instances have each verdict, the most first."""
        return dict(Counter(record.proof.verdict for record in self.records).most_common())


def verify_all(
    workspace: WorkspaceLayout,
    instances: Iterable[FixInstance],
    settings: TrialSettings,
    reporter: Reporter,
    *,
    recipes: Sequence[Path] = (),
    execution: Execution = ONE_PROCESS,
    again: bool = False,
    token: str | None = None,
    host: str = "github.com",
) -> Verification:
    """Prove instances whose repositories were cloned into the workspace.

    `recipes` are the user's own files, tried before the shipped ones. Instances that were proved
    with the same settings are not run again unless `again`. Files of base commits that a partial
    clone lacks are fetched first, from `host` with `token`. Submodules are fetched without it: a
    repository names them, and its code runs beside them. Raises `IsolationError`, `UsageError`
    where a history is missing.
    """
    all_instances = tuple(instances)
    workspace = replace(workspace, root=workspace.root.absolute())  # commands run elsewhere
    isolation = find_isolation(settings.isolation, settings.image)
    load_recipes(recipes)  # a wrong one is an error before anything runs
    jobs = [
        TrialJob(workspace, instance, settings, tuple(recipes), again) for instance in all_instances
    ]
    bases: dict[str, set[str]] = {}
    for instance in all_instances:
        bases.setdefault(instance.repo, set()).add(instance.base_commit)
    records = []
    for repo, commits in sorted(bases.items()):
        _fetch_base_history(workspace, repo, commits, reporter, token, host)
    for record in run_trials(workspace, verify_instance, jobs, execution, reporter):
        reporter.note(f"{record.instance.id}: {record.proof.verdict}")
        records.append(record)
    return Verification(tuple(records), isolation.name)


def _fetch_base_history(
    workspace: WorkspaceLayout,
    repo: str,
    bases: Iterable[str],
    reporter: Reporter,
    token: str | None,
    host: str,
) -> None:
    """Fetch the files of base commits that a partial clone lacks, and clone their submodules."""
    path = workspace.clone(repo)
    if not path.exists():
        raise UsageError(
            f"The history of {repo} is not in {workspace.root}", f"Run goldpan clone --repo {repo}"
        )
    _fetch_files(path, bases, reporter, token, host)
    for other, commits in _submodule_commits(path, repo, bases).items():
        try:
            if not workspace.clone(other).exists():
                clone(workspace, other, reporter, host=host)
            _fetch_files(workspace.clone(other), commits, reporter, None, host)
        except GitError as error:  # their rows run without it, and say so
            reporter.note(f"The submodule {other} of {repo} is left out: {error.problem}")


def _submodule_commits(path: Path, repo: str, commits: Iterable[str]) -> dict[str, set[str]]:
    """Return the commits of other repositories that are submodules of these, by repository."""
    commits_of: dict[str, set[str]] = {}
    for commit in sorted(commits):
        with suppress(GitError):
            for submodule in submodules(path, repo, commit):
                if submodule.repo:
                    commits_of.setdefault(submodule.repo, set()).add(submodule.commit)
    return commits_of


def _fetch_files(
    path: Path, commits: Iterable[str], reporter: Reporter, token: str | None, host: str
) -> None:
    """Fetch the files of commits that a partial clone lacks."""
    if promisor(path) is None:
        return
    files: set[str] = set()
    with Objects(path) as objects:
        for commit in sorted(commits):
            with suppress(GitError):  # a lost commit is a verdict on its rows alone
                files |= {file.id for file in objects.files(commit) if file.kind != "submodule"}
    prefetch(path, files, reporter, token=token, host=host)
