"""What runs of the tests before and after a fix prove (SWE-bench, section 2.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from goldpan.execution.reports import Outcome

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
    "no-test-passes-after": "no test of these files passes with the fix",
    "no-test-fails-before": "every test that passes with the fix also passes without it",
    "flaky": "the tests that fail before and pass after do not do so each time",
}
"""What each verdict means, for people."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What the runs prove."""

    verdict: Verdict
    fail_to_pass: tuple[str, ...] = ()
    pass_to_pass: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    """Tests that pass before the fix and fail after it, each time."""
    flaky: tuple[str, ...] = ()
    """Tests whose outcome differs between runs of the same state."""


def prove(before: Sequence[Run], after: Sequence[Run]) -> Proof:
    """Compare runs with the test patch alone to runs with the fix as well.

    Tests that a run lacks did not pass: a module that cannot be imported reports none of them.
    Only what was the same in all runs of a state counts.
    """
    if not any(after):
        return Proof("no-tests-run")
    tests = sorted(set().union(*before, *after))
    differing = {test for test in tests if _differs(test, before) or _differs(test, after)}
    flaky = tuple(sorted(differing))
    steady = [test for test in tests if test not in differing]
    passing = {test for test in steady if after[0].get(test) == "passed"}
    passed = {test for test in steady if before and before[0].get(test) == "passed"}
    skipped = {test for test in steady if before and before[0].get(test) == "skipped"}
    fail_to_pass = tuple(test for test in steady if test in passing - passed - skipped)
    pass_to_pass = tuple(test for test in steady if test in passing & passed)
    failing = {test for test in steady if after[0].get(test) == "failed"}
    broken = tuple(test for test in steady if test in passed & failing)
    if not any(outcome == "passed" for run in after for outcome in run.values()):
        return Proof("no-test-passes-after", flaky=flaky)
    if fail_to_pass:
        return Proof("verified", fail_to_pass, pass_to_pass, broken, flaky)
    passes = any(run.get(test) == "passed" for test in flaky for run in after)
    verdict: Verdict = "flaky" if passes else "no-test-fails-before"
    return Proof(verdict, (), pass_to_pass, broken, flaky)


def _differs(test: str, runs: Sequence[Run]) -> bool:
    return len({run.get(test) for run in runs}) > 1
