"""Reports of a plan's run: its events as they come, and its result."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, get_args

import orjson

from goldpan.core.log import is_json
from goldpan.core.result import Block, Line, Result, Table
from goldpan.core.sanitize import for_json
from goldpan.core.secrets import mask
from goldpan.core.terminal import ProgressTask, Reporter, Terminal
from goldpan.plan.unit import Change, Unit, named_changes

Ended = Literal["done", "fresh", "partial", "failed", "skipped"]
_ENDS: tuple[Ended, ...] = get_args(Ended)
Kind = Literal["begin", "end", "fail", "skip", "fresh"]
"""A unit begins, ends, fails, is skipped or is up to date."""
_OF_REPOSITORIES = ("mine", "pair", "clone", "duplicates", "filter")
_MOST = 20


@dataclass(frozen=True, slots=True)
class UnitResult:
    """The result of a unit in a run."""

    unit: Unit
    state: Ended
    ran: bool
    why: tuple[Change, ...] = ()
    seconds: float = 0.0
    said: str = ""
    lacks: tuple[str, ...] = ()
    problem: str = ""
    remedy: str = ""
    because: str = ""
    """The unit that failed, waits or was left out, where this one was skipped for it."""
    waits: bool = False
    """True where units that need it are skipped while something is missing."""
    results: tuple[Result, ...] = ()
    """Results of its operation, where it ran on this machine."""

    @property
    def blocks_others(self) -> bool:
        """True where units that need it are skipped."""
        return self.state in ("failed", "skipped") or (self.waits and bool(self.lacks))

    @property
    def trouble(self) -> str:
        """The problem with its remedy, or what is missing."""
        if self.problem:
            return f"{self.problem}. {self.remedy}."
        return "; ".join(self.lacks) or self.said

    def plain(self) -> dict[str, Any]:
        """Return it as plain data."""
        names = ("state", "ran", "why", "seconds", "said", "lacks", "problem", "remedy", "because")
        plain = {name: getattr(self, name) for name in names}
        texts = {"why": [str(change) for change in self.why], "lacks": list(self.lacks)}
        return {**_named(self.unit), **plain, **texts, "seconds": round(self.seconds, 3)}


def _named(unit: Unit) -> dict[str, str]:
    return {"unit": unit.name, "stage": unit.stage, "subject": unit.subject}


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happens to a unit."""

    kind: Kind
    unit: Unit
    number: int
    """From 1."""
    total: int
    of_stage: int
    """How many units the stage has."""
    at: str
    why: tuple[Change, ...] = ()
    result: UnitResult | None = None

    def plain(self) -> Mapping[str, Any]:
        """Return it as a line of a log."""
        line: dict[str, Any] = {
            "event": self.kind,
            "at": self.at,
            **_named(self.unit),
            "number": self.number,
            "total": self.total,
            "why": [str(change) for change in self.why],
        }
        if self.result is not None:
            ended = self.result.plain()
            names = ("state", "seconds", "said", "lacks", "problem", "remedy")
            line |= {name: ended[name] for name in names}
        return line


Listener = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class PlanResult(Result):
    """The result of a plan's run."""

    plan: str
    workspace: Path
    repositories: tuple[str, ...]
    units: tuple[UnitResult, ...]
    seconds: float

    @property
    def complete(self) -> bool:
        """True where nothing failed, was skipped or is missing."""
        return all(unit.state in ("done", "fresh") for unit in self.units)

    @property
    def exit_code(self) -> int:
        """3 where it is not complete."""
        return 0 if self.complete else 3

    @property
    def ran(self) -> int:
        """How many units were run."""
        return sum(unit.ran for unit in self.units)

    def plain(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "plan": self.plan,
            "workspace": str(self.workspace),
            "repositories": list(self.repositories),
            "ran": self.ran,
            "complete": self.complete,
            "seconds": round(self.seconds, 3),
            "units": [unit.plain() for unit in self.units],
        }

    def blocks(self) -> Iterator[Block]:
        """Yield numbers by stage, then what was made, then what is not well."""
        from goldpan.miners.mine import duration

        if self.complete and not self.ran:
            yield nothing_to_do(len(self.units))
            return
        rows = []
        for stage, group in groupby(self.units, lambda unit: unit.unit.stage):
            units = list(group)
            ends = Counter(unit.state for unit in units)
            counts = [ends[name] or None for name in _ENDS]
            spent = sum(unit.seconds for unit in units)
            rows.append((stage, *counts, duration(spent) if spent else ""))
        yield Table(("stage", *_ENDS, "time"), rows)
        for unit in self.units:
            if unit.unit.stage not in _OF_REPOSITORIES and unit.state == "done":
                yield Line(f"{unit.unit.name}: {unit.said}")
        yield from self.troubles()

    def troubles(self) -> Iterator[Block]:
        """Yield what is not well, with what was skipped for it."""
        skipped = Counter(unit.because for unit in self.units)
        bad = [
            unit for unit in self.units if unit.state not in ("done", "fresh") and not unit.because
        ]
        for unit in bad[:_MOST]:
            line = f"{unit.unit.name} {unit.state}: {unit.trouble}"
            if count := skipped[unit.unit.name]:
                line = f"{line.removesuffix('.')}. Skipped for it: {units_text(count)}."
            yield Line(line)
        if len(bad) > _MOST:
            yield Line(f"and {len(bad) - _MOST:,} more: --json lists them")


def now() -> str:
    """Return the time as records have it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def units_text(count: int) -> str:
    """Return a number of units in words."""
    return f"{count:,} unit" if count == 1 else f"{count:,} units"


def nothing_to_do(count: int) -> Line:
    """Return what people see where all is up to date."""
    return Line(f"Nothing to do: all {units_text(count)} are up to date.")


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
