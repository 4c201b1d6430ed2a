"""Tests that would pass a wrong fix: they are run on variants of the true one.

A variant is killed where a test of FAIL_TO_PASS or PASS_TO_PASS does not pass, or the tests take
several times as long. Some variants that survive behave as the fix does, so the share that is
killed is a lower bound of how strong the tests are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Literal

from goldpan.audit.finding import Finding, FindingName, Span, Verdict
from goldpan.audit.trials.mutations import Kind
from goldpan.audit.trials.trial import RerunTrial, UndecidedError
from goldpan.audit.trials.variants import FixedFile, Variant, make_variants
from goldpan.code.languages import language_of
from goldpan.core.proportions import wilson
from goldpan.execution.records import EndedError

NAME: FindingName = "weak-tests"
VERSION = 2
"""Raised where the same variants would give another finding."""
_LONGEST = 1_000
"""Characters of a survivor's diff that evidence shows."""
_HAND = "Judge its tests by hand"
_PACKAGING = ("setup.py", "conf.py", "noxfile.py")
"""Files that no test runs: the environment is built for the base commit."""
_EXAMPLES = frozenset({"example", "examples"})
"""Folders of code that few tests run."""


@dataclass(frozen=True, slots=True)
class VariantRun:
    """The outcome of the tests on a variant."""

    kind: Kind
    path: str
    line: int
    diff: str
    outcome: Literal["survived", "killed", "not-built"]
    by: str
    """The first test that does not pass, or the limit that was exceeded."""


def run_variants(trial: RerunTrial, count: int, seed: int) -> tuple[VariantRun, ...]:
    """Run the tests of a fix with variants of it, at most `count`.

    Raises `UndecidedError` without any.
    """
    files = [file for file in trial.fixed if _may_be_tested(trial, file.path)]
    variants = make_variants(files, count, seed)
    if not variants:
        raise _undecided(files)

    runs = tuple(_run(trial, number, variant) for number, variant in enumerate(variants, 1))
    if all(run.outcome == "not-built" for run in runs):
        raise UndecidedError("no variant of the fix can be built", _HAND)
    return runs


def _run(trial: RerunTrial, number: int, variant: Variant) -> VariantRun:
    ended = partial(VariantRun, variant.kind, variant.path, variant.line, variant.diff)

    def change(testbed: Path) -> None:
        trial.apply_fix(testbed)
        (testbed / variant.path).write_bytes(variant.content)

    run = trial.trial.run
    try:
        outcomes = run(f"variant-{number}", change, trial.limited(trial.until_failure))
        failed = trial.failed(outcomes)
        if trial.until_failure and failed and outcomes.keys().isdisjoint(failed):
            # They stopped at a test that does not count.
            outcomes = run(f"variant-{number}-whole", change, trial.limited())
    except EndedError as error:
        return ended("killed", error.detail)
    if outcomes.keys().isdisjoint(trial.tests) and not trial.is_python:
        return ended("not-built", "")  # what does not compile is no wrong fix
    failed = trial.failed(outcomes)
    ran = [test for test in failed if test in outcomes]
    return ended("killed", (ran or failed)[0]) if failed else ended("survived", "")


def _may_be_tested(trial: RerunTrial, path: str) -> bool:
    """Tell whether tests may run a file; pytest runs an example where tests import or name it."""
    file = PurePosixPath(path)
    is_example = trial.is_python and not _EXAMPLES.isdisjoint(file.parent.parts)
    is_used = path in trial.imported or file.name in trial.record.instance.test_patch
    return file.name not in _PACKAGING and (is_used or not is_example)


def _undecided(files: Sequence[FixedFile]) -> UndecidedError:
    languages = [language for file in files if (language := language_of(file.path))]
    if languages and not any(language.grammar for language in languages):
        name = languages[0].name
        return UndecidedError(f"variants need a grammar, and there is none of {name}", _HAND)
    return UndecidedError("no variant of the code of the fix parses and differs from it", _HAND)


def find_weak_tests(runs: Sequence[VariantRun], tests: int, seconds: float) -> Finding:
    """Return whether a variant passes all tests of the row, with the diffs of those that do."""
    counted = [run for run in runs if run.outcome != "not-built"]
    survivors = [run for run in counted if run.outcome == "survived"]
    strength = wilson(len(counted) - len(survivors), len(counted))
    passes = "passes" if len(survivors) == 1 else "pass"
    those = "test" if tests == 1 else f"{tests:,} tests"
    why = f"{len(survivors):,} of {len(counted):,} variants of the fix {passes} its {those}"
    spans = tuple(Span("patch", None, run.kind, 0, 0, run.diff[:_LONGEST]) for run in survivors)
    verdict: Verdict = "found" if survivors else "not-found"
    share = strength.value, strength.low, strength.high
    return Finding(NAME, verdict, why, spans, "", "", *share, seconds)
