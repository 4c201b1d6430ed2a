"""Rows that depend on luck: verified rows whose tests give other results in other circumstances."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from goldpan.audit.finding import Finding, FindingName, Span
from goldpan.audit.trials.trial import RerunTrial, UndecidedError
from goldpan.execution.records import Conditions, EndedError

NAME: FindingName = "luck"
VERSION = 3
"""Raised where the same row would give another finding."""
RUNS = 4
"""How often the tests of a stable row run."""
_ALONE, _TOGETHER = "alone", "together"
_ZONE = "Asia/Kathmandu"
_YEAR = "+365d"
_LOOK = f"""
[ "$(TZ={_ZONE} date +%z)" = +0545 ] && echo zone
for file in /usr/lib/*/faketime/libfaketime.so.1 /usr/lib*/faketime/libfaketime.so.1; do
  [ -e "$file" ] && echo "clock $file"
done
command -v taskset > /dev/null && echo processor
"""
_UNABLE = {
    "order": "the runner is not pytest",
    "alone": "the runner is not pytest",
    "hash-seed": "the language has none",
    "time-zone": "where tests run there are no time zones",
    "clock": "libfaketime is not installed",
    "processor": "taskset is not installed",
    "network": "without isolation tests have this machine's network",
}
_CIRCUMSTANCES = {
    "again": "another run",
    "order": "the reversed order",
    "alone": "each test alone",
    "hash-seed": "another hash seed",
    "time-zone": "another time zone",
    "locale": "the locale C",
    "clock": "a clock a year later",
    "processor": "a single processor",
    "network": "no network",
    "together": "all of these together",
}


@dataclass(frozen=True, slots=True)
class Case:
    """A circumstance, and the tests whose results differ in it."""

    name: str
    tests: tuple[tuple[str, str], ...] = ()
    """Each with the difference."""
    times: int = 0
    """In how many of two runs they differ."""
    undecided: str = ""
    """Why it cannot be told."""


def run_cases(trial: RerunTrial) -> tuple[Case, ...]:
    """Run the tests before and after the fix, each alone, and in all other circumstances at once.

    Where results differ in these, each is tried by itself, and those that differ once more.
    """
    found = dict(_circumstances(trial))
    others = {name: conditions for name, conditions in found.items() if name != _ALONE}
    alone = {name: conditions for name, conditions in found.items() if name == _ALONE}
    variables = {key: value for each in others.values() for key, value in each.variables.items()}
    prefix = next((each.prefix for each in others.values() if each.prefix), ())
    first = {_TOGETHER: trial.limited(variables, prefix), **alone}
    together, *cases = (_case(trial, *one, 1) for one in first.items())
    if together.tests or together.undecided:
        apart = [_case(trial, *one, 2) for one in others.items()]
        changed = any(case.tests for case in apart) or not together.tests
        cases = [*apart, *cases, *(() if changed else (together,))]
        found[_TOGETHER] = first[_TOGETHER]
    else:
        cases = [*map(Case, others), *cases]
    cases = [_again(trial, case, found[case.name]) if case.tests else case for case in cases]
    if trial.trial.environment.get("isolation") != "none":
        cases.append(Case("network"))  # no run has one
    tried = {case.name for case in cases}
    unable = (Case(name, undecided=why) for name, why in _UNABLE.items() if name not in tried)
    return (*cases, *unable)


def _circumstances(trial: RerunTrial) -> Iterator[tuple[str, Conditions]]:
    lines = dict.fromkeys(trial.trial.answer(_LOOK))
    if trial.is_python:
        # Each test alone sets up again what its file sets up once.
        for name, order, repeats in (("order", "reversed", 1), (_ALONE, "alone", len(trial.tests))):
            variables = {"PYTEST_ADDOPTS": "-p goldpan_order", "GOLDPAN_ORDER": order}
            yield name, trial.limited(variables, repeats=repeats)
        yield "hash-seed", trial.limited({"PYTHONHASHSEED": "1729"})
    if "zone" in lines:
        yield "time-zone", trial.limited({"TZ": _ZONE})
    # Without these variables Python takes this locale for one with UTF-8.
    ascii_only = {"LC_ALL": "C", "LANG": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    yield "locale", trial.limited(ascii_only)
    if clock := next((line for line in lines if line.startswith("clock ")), ""):
        later = {"FAKETIME": _YEAR, "NO_FAKE_STAT": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        yield "clock", trial.limited({"LD_PRELOAD": clock.removeprefix("clock "), **later})
    if "processor" in lines:
        processor = str(min(os.sched_getaffinity(0)))
        prefix = ("taskset", "--cpu-list", processor)
        yield "processor", trial.limited({"PYTHON_CPU_COUNT": "1"}, prefix)


def _case(trial: RerunTrial, name: str, conditions: Conditions, time: int) -> Case:
    try:
        before = trial.trial.run(f"{name}-before-{time}", trial.apply_tests, conditions)
        after = trial.trial.run(f"{name}-after-{time}", trial.apply_fix, conditions)
    except EndedError as ended:
        return Case(name, undecided=f"it exceeded a limit ({ended.detail})")
    if not after:
        return Case(name, undecided="the runner reported no test")
    expected = trial.record.proof.fail_to_pass
    tests = [(test, "does not pass with the fix") for test in trial.failed(after)]
    tests += [(test, "passes without the fix") for test in expected if before.get(test) == "passed"]
    return Case(name, tuple(tests), int(bool(tests)))


def _again(trial: RerunTrial, first: Case, conditions: Conditions) -> Case:
    """Repeat a case in which tests differ."""
    second = _case(trial, first.name, conditions, 3)
    both = tuple(test for test in first.tests if test in second.tests)
    return replace(first, tests=both or first.tests, times=2 if both else 1)


def check_again(trial: RerunTrial, failed: Sequence[str]) -> tuple[Case, ...]:
    """Run the tests with the fix once more where some failed that passed for `verify`.

    Raises `UndecidedError` where they fail again.
    """
    if still := trial.failed(trial.run_fix("after-2")):
        raise UndecidedError(
            f"{still[0]} does not pass with the fix any more", "Run goldpan verify with --again"
        )
    return (Case("again", tuple((test, "does not pass with the fix") for test in failed), 1),)


def find_luck(cases: Sequence[Case], seconds: float) -> Finding:
    """Return whether the row depends on luck, and which circumstances change its verdict."""
    changing = [case for case in cases if case.tests]
    stable = [case for case in cases if not case.tests and not case.undecided]
    undecided = [
        f"{_CIRCUMSTANCES[case.name]}: {case.undecided}" for case in cases if case.undecided
    ]
    names = ", ".join(_CIRCUMSTANCES[case.name] for case in changing or stable)
    verb = "changes" if len(changing) == 1 else "change"
    why = f"{names} {verb} what its tests say" if changing else f"stable with {names}"
    if undecided:
        why += f"; cannot tell {'; '.join(undecided)}"
    spans = tuple(
        Span("FAIL_TO_PASS", None, case.name, 0, 0, f"{test} {change}, {case.times} of 2 times")
        for case in changing
        for test, change in case.tests
    )
    case = ", ".join(case.name for case in changing)
    return Finding(NAME, "found" if changing else "not-found", why, spans, case, seconds=seconds)
