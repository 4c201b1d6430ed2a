"""Tells of the units of a plan while it runs: plain lines, one screen, or a JSON event a line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Protocol

import orjson

from goldpan.commands.planning_json import event_json
from goldpan.commands.shared import is_silent, stoppable
from goldpan.core.progress import Reporter, Task
from goldpan.core.sanitize import for_json
from goldpan.core.secrets import mask
from goldpan.core.terminal import Terminal

if TYPE_CHECKING:  # it takes long to import
    from goldpan.plan.results import Event


class Screen(Protocol):
    """What hears of units."""

    shows_stages: bool
    """Whether the stages may tell of themselves beside it."""

    def tell(self, event: Event) -> None:
        """Show one event."""


class _Nothing:
    shows_stages = False

    def tell(self, event: Event) -> None:
        """Show nothing."""


class _JsonLines:
    shows_stages = False

    def tell(self, event: Event) -> None:
        """Write an event as one line."""
        if event.kind == "fresh":
            return
        sys.stderr.write(for_json(mask(orjson.dumps(event_json(event)).decode())) + "\n")
        sys.stderr.flush()


class Lines:
    """A line when a unit begins, and one when it ended; those up to date are not told."""

    shows_stages = True

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter

    def tell(self, event: Event) -> None:
        """Print a line."""
        title = f"[{event.number:,}/{event.total:,}] {event.unit.name}"
        if event.kind == "begin":
            self._reporter.note(f"{title}: {_reasons(event)}")
        elif event.kind != "fresh":
            self._reporter.note(f"{title} {_ending(event)}")


class Display:
    """One screen: a bar a stage, and one a unit at work; what fails stays above it."""

    shows_stages = False

    def __init__(self, reporter: Reporter, stack: ExitStack) -> None:
        self._reporter = reporter
        self._stack = stack
        self._stages: dict[str, Task] = {}
        self._units: dict[str, ExitStack] = {}

    def tell(self, event: Event) -> None:
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
def listen(form: str, *, silent: bool) -> Iterator[tuple[Screen, Reporter]]:
    """Give what tells of units, and what tells of anything else."""
    silent = is_silent(silent)
    as_json = form == "json"
    with stoppable(), ExitStack() as stack:
        reporter = stack.enter_context(Reporter(quiet=silent or as_json))
        screen: Screen
        if as_json:
            screen = _JsonLines()
        elif silent:
            screen = _Nothing()
        elif Terminal(stderr=True).is_terminal:
            screen = Display(reporter, stack.enter_context(ExitStack()))
        else:
            screen = Lines(reporter)
        yield screen, reporter


def _reasons(event: Event) -> str:
    from goldpan.plan.record import named_changes

    return named_changes(event.why)


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
