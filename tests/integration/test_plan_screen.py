"""Units are told on one screen on a terminal, in lines elsewhere."""

from __future__ import annotations

import io
from contextlib import ExitStack

from rich.console import Console

from goldpan.core.terminal import Reporter
from goldpan.plan.results import Display, Event, Lines, UnitResult
from goldpan.plan.unit import Change, Stage, Unit
from tests.mining import Notes

AT = "2026-01-01T00:00:00+00:00"


def events() -> list[Event]:
    """Return what a run with two repositories tells, one of which fails."""
    sequence = []
    stages: tuple[Stage, ...] = ("mine", "pair")
    units = [Unit(stage, repo) for stage in stages for repo in ("a/good", "a/bad")]
    for number, unit in enumerate(units, 1):
        common = (unit, number, 4, 2, AT)
        if unit.name == "pair/a/bad":
            skipped = UnitResult(unit, "skipped", False, said="needs mine/a/bad, which failed")
            sequence.append(Event("skip", *common, result=skipped))
            continue
        sequence.append(Event("begin", *common, (Change("setting rules", "old", "new"),)))
        if unit.name == "mine/a/bad":
            failed = UnitResult(unit, "failed", True, problem="It is gone", remedy="Look elsewhere")
            sequence.append(Event("fail", *common, result=failed))
        else:
            sequence.append(
                Event("end", *common, result=UnitResult(unit, "done", True, said="9 rows"))
            )
    return sequence


def test_lines() -> None:
    notes = Notes()
    lines = Lines(notes)
    for event in events():
        lines(event)
    assert notes.lines == [
        "[1/4] mine/a/good: setting rules: old → new",
        "[1/4] mine/a/good done in 1 s: 9 rows",
        "[2/4] mine/a/bad: setting rules: old → new",
        "[2/4] mine/a/bad failed: It is gone. Look elsewhere.",
        "[3/4] pair/a/good: setting rules: old → new",
        "[3/4] pair/a/good done in 1 s: 9 rows",
        "[4/4] pair/a/bad skipped: needs mine/a/bad, which failed",
    ]


def test_one_screen() -> None:
    terminal = io.StringIO()  # a pseudo-terminal holds no more than 4,096 bytes
    console = Console(file=terminal, force_terminal=True, width=100)
    with ExitStack() as stack:
        reporter = stack.enter_context(Reporter(console))
        display = Display(reporter, stack.enter_context(ExitStack()))
        for event in events():
            display(event)
    shown = terminal.getvalue()
    assert "mine/a/bad failed: It is gone. Look elsewhere." in shown
    assert "pair/a/bad skipped: needs mine/a/bad, which failed" in shown
    assert "2/2" in shown
    assert "setting rules" not in shown
