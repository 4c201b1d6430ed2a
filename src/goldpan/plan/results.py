"""What a run of a plan tells: its events while it goes on, and its result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from goldpan.plan.record import Change
from goldpan.plan.unit import Unit

Ended = Literal["done", "fresh", "partial", "failed", "skipped"]


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
    """The unit that failed, or was left out, where this one was skipped for it."""


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


Listener = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class PlanResult:
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
    def ran(self) -> int:
        """How many units were run."""
        return sum(unit.ran for unit in self.units)


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
        kinds: dict[tuple[str, bool], Literal["end", "fail", "skip", "fresh"]] = {
            ("failed", True): "fail",
            ("failed", False): "fail",
            ("skipped", False): "skip",
        }
        kind = kinds.get((result.state, result.ran), "end" if result.ran else "fresh")
        self._listener(Event(kind, self._unit, *self._position, now(), result.why, result))


def now() -> str:
    """Return the time as records tell it."""
    return datetime.now(UTC).isoformat(timespec="seconds")
