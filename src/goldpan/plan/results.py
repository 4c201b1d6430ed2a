"""What a run of a plan reports: its events while it goes on, and its result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

from goldpan.core.result import Block, Line, Result, Table
from goldpan.plan.record import Change
from goldpan.plan.unit import Unit

Ended = Literal["done", "fresh", "partial", "failed", "skipped"]
_ENDS: tuple[Ended, ...] = ("done", "fresh", "partial", "failed", "skipped")
_OF_REPOSITORIES = ("mine", "pair", "clone", "duplicates", "filter")
_MOST = 20


@dataclass(frozen=True, slots=True)
class UnitResult:
    """What became of a unit in a run."""

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
    """Whether what needs it is skipped while something is missing."""
    results: tuple[Result, ...] = ()
    """What its operation returned, where it ran on this machine."""

    @property
    def blocks_others(self) -> bool:
        """Whether what needs it is skipped."""
        return self.state in ("failed", "skipped") or (self.waits and bool(self.lacks))

    @property
    def trouble(self) -> str:
        """What is wrong with it, and what to do."""
        if self.problem:
            return f"{self.problem}. {self.remedy}."
        return "; ".join(self.lacks) or self.said

    def plain(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "unit": self.unit.name,
            "stage": self.unit.stage,
            "subject": self.unit.subject,
            "state": self.state,
            "ran": self.ran,
            "why": [str(change) for change in self.why],
            "seconds": round(self.seconds, 3),
            "said": self.said,
            "lacks": list(self.lacks),
            "problem": self.problem,
            "remedy": self.remedy,
            "because": self.because,
        }


@dataclass(frozen=True, slots=True)
class Event:
    """A unit begins, ends, fails, is skipped or is up to date."""

    kind: Literal["begin", "end", "fail", "skip", "fresh"]
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
            "unit": self.unit.name,
            "stage": self.unit.stage,
            "subject": self.unit.subject,
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
    """What a run of a plan did."""

    plan: str
    workspace: Path
    repositories: tuple[str, ...]
    units: tuple[UnitResult, ...]
    seconds: float

    @property
    def complete(self) -> bool:
        """Whether nothing failed, was skipped or is missing."""
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
            counts = [sum(unit.state == name for unit in units) or None for name in _ENDS]
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


class UnitNotifier:
    """Tells a listener of one unit."""

    def __init__(self, listener: Listener, unit: Unit, position: tuple[int, int, int]) -> None:
        self._listener = listener
        self._unit = unit
        self._position = position

    def on_begin(self, why: tuple[Change, ...]) -> None:
        """Say that the unit begins."""
        self._listener(Event("begin", self._unit, *self._position, now(), why))

    def on_end(self, result: UnitResult) -> None:
        """Say what became of it."""
        kinds: dict[Ended, Literal["fail", "skip"]] = {"failed": "fail", "skipped": "skip"}
        kind = kinds.get(result.state) or ("end" if result.ran else "fresh")
        self._listener(Event(kind, self._unit, *self._position, now(), result.why, result))


def now() -> str:
    """Return the time as records have it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def units_text(count: int) -> str:
    """Return a number of units in words."""
    return f"{count:,} unit" if count == 1 else f"{count:,} units"


def nothing_to_do(count: int) -> Line:
    """Return what people see where all is up to date."""
    return Line(f"Nothing to do: all {units_text(count)} are up to date.")
