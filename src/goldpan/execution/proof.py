"""What runs of tests before and after a fix prove."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from goldpan.execution.outcomes import Outcome

Run = Mapping[str, Outcome]
Verdict = Literal[
    "verified",
    "no-recipe",
    "lost-base",
    "does-not-apply",
    "needs-rebuild",
    "does-not-build",
    "limit-exceeded",
    "no-tests-run",
    "outside-checkout",
    "not-collected",
    "no-test-passes-after",
    "no-test-fails-before",
    "flaky",
]
EXPLAINED: Mapping[Verdict, str] = {
    "verified": "tests fail before the fix and pass after it, each time",
    "no-recipe": "no recipe fits the repository's files, so its tests cannot be run",
    "lost-base": "the history lacks files of the base commit",
    "does-not-apply": "git does not apply the patch to the base commit",
    "needs-rebuild": "the fix changes compiled code, which is built only for the base commit",
    "does-not-build": "the environment cannot be built from what the repository declares",
    "limit-exceeded": "building or testing exceeded a limit (time, memory, disk, processes)",
    "no-tests-run": "the runner reported no test, so nothing is proved",
    "outside-checkout": "the tests imported an installed copy of the project, not the patched code",
    "not-collected": "a test file of the fix fails as a whole (cannot be collected), even with it",
    "no-test-passes-after": "no test of these files passes with the fix",
    "no-test-fails-before": "every test that passes with the fix also passes without it",
    "flaky": "the tests that fail before and pass after do not do so each time",
}
"""Meaning of each verdict, for people."""


@dataclass(frozen=True, slots=True)
class Proof:
    """The verdict of runs, and the tests that show it."""

    verdict: Verdict
    fail_to_pass: tuple[str, ...] = ()
    pass_to_pass: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    """Tests that pass before the fix and fail after it, each time."""
    flaky: tuple[str, ...] = ()
    """Tests whose outcome differs between runs of the same state."""
    uncollected_before: tuple[str, ...] = ()
    """Test files of the fix that fail as a whole without it, as where they cannot be collected."""
    uncollected_after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Origins:
    """What tells why a test is absent before a fix."""

    base: Run = field(default_factory=dict)
    """The base commit's tests."""
    fix: Run = field(default_factory=dict)
    """Tests with the fix but without its tests."""
    broke_off: bool = False
    """True where the run before the fix ended early, so that it may lack any test."""


def prove(
    before: Sequence[Run],
    after: Sequence[Run],
    files: Sequence[str] = (),
    origins: Origins = Origins(),
) -> Proof:
    """Compare runs with the test patch alone to runs with the fix as well.

    `files` are the test files of the fix. A test that is absent before failed there if its file or
    package did or the run broke off, or if it is new in these files. One that comes with the fix
    itself, as documentation's do, proves nothing. Only what was the same in all runs of a state
    counts.
    """
    if not any(after):
        return Proof("no-tests-run")
    tests = sorted(set().union(*before, *after))
    flaky = tuple(test for test in tests if _differs(test, before) or _differs(test, after))
    first = before[0] if before else {}
    differing = set(flaky)
    same = [test for test in tests if test not in differing]
    steady = {test: (_was(test, first, origins), after[0].get(test)) for test in same}

    def which(was: Outcome, now: Outcome) -> tuple[str, ...]:
        return tuple(test for test, both in steady.items() if both == (was, now))

    rest = which("passed", "passed"), which("passed", "failed"), flaky
    lost = uncollected(first, files), uncollected(after[0], files)
    if not any(outcome == "passed" for run in after for outcome in run.values()):
        return Proof("no-test-passes-after", (), (), (), flaky, *lost)
    fail_to_pass = which("failed", "passed")
    if lost[1]:
        return Proof("not-collected", fail_to_pass, *rest, *lost)
    if fail_to_pass:
        return Proof("verified", fail_to_pass, *rest, *lost)
    passes = any(run.get(test) == "passed" for test in flaky for run in after)
    return Proof("flaky" if passes else "no-test-fails-before", (), *rest, *lost)


def _was(test: str, before: Run, origins: Origins) -> Outcome | None:
    """Return the outcome of a test before the fix, None where nothing tells it."""
    if test in before:
        return before[test]
    if test in origins.base:
        # What failed as a whole stands for its tests.
        wholes = (test[: at.start()] for at in _PARTS.finditer(test))
        failed = not before or origins.broke_off or "failed" in map(before.get, wholes)
        return "failed" if failed else "passed" if origins.base[test] == "passed" else None
    return None if test in origins.fix else "failed"


def uncollected(run: Run, files: Iterable[str]) -> tuple[str, ...]:
    """Return those test files that failed as a whole, without a test of their own."""
    lost = []
    for file in files:
        module = file.removesuffix(".py").replace("/", ".")  # as pytest names it in `xunit2`
        if "failed" in (run.get(file), run.get(module)):
            ran = tuple(f"{file}{sign}" for sign in (" > ", "::"))
            lost += [] if any(test.startswith(ran) for test in run) else [file]
    return tuple(lost)


def _differs(test: str, runs: Sequence[Run]) -> bool:
    return len({run.get(test) for run in runs}) > 1


_PARTS = re.compile(r" > |::|[. ]")
