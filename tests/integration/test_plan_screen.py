"""Units are told in lines, one when each begins and one when it ended."""

from __future__ import annotations

from typing import Any

from goldpan.plan.record import State, StepResult
from goldpan.plan.run import reported_to
from tests.mining import Notes


def unit(name: str, state: State, **about: Any) -> StepResult:
    stage, _, subject = name.partition("/")
    return StepResult(unit=name, stage=stage, subject=subject, state=state, **about)


def test_lines() -> None:
    notes = Notes()
    tell = reported_to(notes)
    why = ("setting rules: old → new",)
    tell(unit("mine/a/good", "due", why=why), 1, 3)
    tell(unit("mine/a/good", "done", summary="9 rows"), 1, 3)
    tell(unit("mine/a/bad", "due", why=why), 2, 3)
    tell(unit("mine/a/bad", "failed", problem="It is gone", remedy="Look elsewhere"), 2, 3)
    tell(unit("pair/a/bad", "skipped", summary="needs mine/a/bad, which failed"), 3, 3)
    assert notes.lines == [
        "[1/3] mine/a/good: setting rules: old → new",
        "[1/3] mine/a/good done in 1 s: 9 rows",
        "[2/3] mine/a/bad: setting rules: old → new",
        "[2/3] mine/a/bad failed: It is gone. Look elsewhere.",
        "[3/3] pair/a/bad skipped: needs mine/a/bad, which failed",
    ]
