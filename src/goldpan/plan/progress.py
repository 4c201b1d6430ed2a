"""Reports units of a plan while it runs: plain lines, one screen, or a JSON event a line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import orjson

from goldpan.core.log import is_json
from goldpan.core.progress import ProgressTask, Reporter, Terminal
from goldpan.core.sanitize import for_json
from goldpan.core.secrets import mask
from goldpan.plan.record import named_changes
from goldpan.plan.results import Event, Listener


def write_json(event: Event) -> None:
    """Write an event as one line; units that are up to date have none."""
    if event.kind != "fresh":
        sys.stderr.write(for_json(mask(orjson.dumps(event.plain()).decode())) + "\n")
        sys.stderr.flush()


class Lines:
    """A line when a unit begins, and one when it ended; none for those up to date."""

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter

    def __call__(self, event: Event) -> None:
        """Print a line."""
        title = f"[{event.number:,}/{event.total:,}] {event.unit.name}"
        if event.kind == "begin":
            self._reporter.note(f"{title}: {named_changes(event.why)}")
        elif event.kind != "fresh":
            self._reporter.note(f"{title} {_ending(event)}")


class Display:
    """One screen: a bar a stage, and one a unit at work; what fails stays above it."""

    def __init__(self, reporter: Reporter, stack: ExitStack) -> None:
        self._reporter = reporter
        self._stack = stack
        self._stages: dict[str, ProgressTask] = {}
        self._units: dict[str, ExitStack] = {}

    def __call__(self, event: Event) -> None:
        """Move the bars."""
        if event.kind == "begin":
            unit = self._units[event.unit.name] = ExitStack()
            unit.enter_context(self._reporter.task(f"  {event.unit.subject}", 1))
            return
        if event.unit.name in self._units:
            self._units.pop(event.unit.name).close()
        if event.kind in ("fail", "skip") or (event.result and event.result.lacks):
            self._reporter.note(f"{event.unit.name} {_ending(event)}")
        stage = event.unit.stage
        if stage not in self._stages:
            bar = self._reporter.task(stage, event.of_stage)
            self._stages[stage] = self._stack.enter_context(bar)
        self._stages[stage].advance()


@contextmanager
def listening(*, progress: bool) -> Iterator[tuple[Listener, Reporter, bool]]:
    """Give what hears of units, what reports anything else, and whether stages report too."""
    with ExitStack() as stack:
        reporter = stack.enter_context(Reporter(quiet=not progress))
        if is_json():
            yield write_json, reporter, False
        elif not progress:
            yield lambda _: None, reporter, False
        elif Terminal(stderr=True).is_terminal:
            yield Display(reporter, stack.enter_context(ExitStack())), reporter, False
        else:
            yield Lines(reporter), reporter, True


def _ending(event: Event) -> str:
    from goldpan.miners.mine import duration

    result = event.result
    assert result is not None
    if event.kind == "fail":
        return f"failed: {result.problem}. {result.remedy}."
    if event.kind == "skip":
        return f"skipped: {result.said}"
    lacks = f"; missing: {'; '.join(result.lacks)}" if result.lacks else ""
    return f"done in {duration(result.seconds)}: {result.said}{lacks}"
