"""Runs the tests of one instance before and after its fix, and keeps what that proves."""

from __future__ import annotations

import shutil
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from goldpan.core.workspace import make_directory
from goldpan.execution.outcome import Proof, Run, prove
from goldpan.execution.recipe import load_recipes
from goldpan.execution.records import (
    RECORD,
    Settings,
    TrialRecord,
    changed_files,
    read_record,
    record_directory,
    run_digest,
    write_record,
)
from goldpan.execution.runner import EndedError
from goldpan.execution.trial import Trial, TrialJob, apply_or_end, open_trial

_MOST_IMPORTED = 1_000
_ACTUAL = ("isolation", "network")
"""Settings of which the trial tells what they came to."""


def verify_instance(job: TrialJob) -> TrialRecord:
    """Prove one instance, or return the record of an earlier run with the same settings.

    Raises `IsolationError` where nothing isolates foreign code, and `GoldpanError` where a tool is
    missing; whatever the repository's own code does ends as a verdict.
    """
    instance = job.instance
    directory = record_directory(job.workspace, instance.repo, instance.issue, instance.pull)
    recipes = load_recipes(job.recipes)
    run = run_digest(job.settings, {recipe.name: recipe.digest for recipe in recipes})
    stored = None if job.again else read_record(directory, instance, run)
    # A lost base may have been cloned meanwhile.
    if stored and stored.proof.verdict != "lost-base" and not changed_files(directory, RECORD):
        return stored
    with open_trial(job, directory) as trial:
        shutil.rmtree(directory, ignore_errors=True)
        make_directory(directory)
        seconds: dict[str, float] = {}
        started = time.monotonic()
        try:
            trial.prepare()
            built = time.monotonic()
            proof, detail = _prove(trial, job), ""
            seconds = {"build": built - started, "tests": time.monotonic() - built}
        except EndedError as ended:
            proof, detail = Proof(ended.verdict), ended.detail
        missing = trial.environment.get("lacking_submodules")
        if missing and proof.verdict != "verified":
            without = f"without submodule {', '.join(missing)}"
            detail = f"{detail}; {without}" if detail else without
    environment = {**_described(job.settings), **trial.environment}
    return write_record(directory, instance, run, proof, detail, environment, seconds)


def _prove(trial: Trial, job: TrialJob) -> Proof:
    first_after = _run(trial, job, "after", 1)
    if not first_after:
        raise EndedError("no-tests-run", "see after-1.log")
    first_before = _run(trial, job, "before", 1)
    _run(trial, job, "base", 1)
    early = prove([first_before], [first_after])
    if early.verdict != "verified":
        return early
    more = range(2, job.settings.repeats + 1)
    after = [first_after, *(_run(trial, job, "after", number) for number in more)]
    before = [first_before, *(_run(trial, job, "before", number) for number in more)]
    return prove(before, after)


def _run(
    trial: Trial, job: TrialJob, state: Literal["base", "before", "after"], number: int
) -> Run:
    """Run the tests on the base commit, with the test patch, or with the fix as well."""
    instance = job.instance
    patches = {
        "base": (),
        "before": (instance.test_patch,),
        "after": (instance.test_patch, instance.patch),
    }[state]

    def change(testbed: Path) -> None:
        for patch in patches:
            apply_or_end(testbed, patch)

    run = trial.run(f"{state}-{number}", change)
    if trial.imports.outside:
        raise EndedError("outside-checkout", trial.imports.outside[0])
    if state == "after" and trial.imports.inside:
        trial.environment["imported"] = list(trial.imports.inside[:_MOST_IMPORTED])
    return run


def _described(settings: Settings) -> dict[str, Any]:
    return {name: value for name, value in asdict(settings).items() if name not in _ACTUAL}
