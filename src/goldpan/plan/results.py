"""What a run of a plan did, and what one would do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from goldpan.core.result import NOT_IN_JSON, Result, Results

State = Literal["fresh", "partial", "due", "after", "stopped", "failed", "done", "skipped"]
"""Up to date, in part; due, perhaps due after others, stopped on the way; how it ended."""


@dataclass(frozen=True, kw_only=True)
class StepResult(Result):
    """A unit of a plan: whether it is due and why, or what became of it."""

    unit: str
    stage: str
    subject: str
    state: State
    why: tuple[str, ...] = ()
    """Why it is due, or ran."""
    after: tuple[str, ...] = ()
    """The units that are due and run before it."""
    ran: bool = False
    seconds: float = 0.0
    at: str = ""
    """When it last ran."""
    summary: str = ""
    missing: tuple[str, ...] = ()
    problem: str = ""
    remedy: str = ""
    because: str = ""
    """The unit that failed, waits or was left out, where this one was skipped for it."""
    stops: bool = field(default=False, metadata=NOT_IN_JSON)
    """True where units that need it are skipped while something is missing."""
    results: tuple[Any, ...] = field(default=(), metadata=NOT_IN_JSON, repr=False)
    """What its method returned."""

    @property
    def is_open(self) -> bool:
        """True where it would run, or may have to."""
        return bool(self.why or self.after)

    @property
    def stops_others(self) -> bool:
        """True where units that need it are skipped."""
        return self.state in ("failed", "skipped") or (self.stops and bool(self.missing))

    @property
    def reason(self) -> str:
        """Why it is not up to date, in a few words; empty where it is."""
        if self.why:
            return named(self.why)
        if self.after:
            stages = dict.fromkeys(name.partition("/")[0] for name in self.after)
            return f"perhaps, after {' and '.join(stages)}"
        return "; ".join(self.missing)

    @property
    def trouble(self) -> str:
        """The problem with its remedy, or what is missing."""
        if self.problem:
            return f"{self.problem}. {self.remedy}."
        return "; ".join(self.missing) or self.summary


@dataclass(frozen=True)
class PlanResult(Result):
    """The result of a plan's run."""

    schema = 2
    shown_in_json: ClassVar[tuple[str, ...]] = ("ran", "complete")

    plan: str
    workspace: Path
    repositories: tuple[str, ...]
    units: tuple[StepResult, ...]
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


class PlanStatus(Results[StepResult]):
    """The units of a plan as a run of it would find them, in its order."""

    __slots__ = ("plan", "workspace")
    schema = 2

    def __init__(self, units: Iterable[StepResult], plan: Path, workspace: Path) -> None:
        super().__init__(units)
        self.plan = plan
        self.workspace = workspace

    @property
    def exit_code(self) -> int:
        """3 where a unit is not up to date."""
        return 0 if all(unit.state == "fresh" for unit in self) else 3


class DryRun(PlanStatus):
    """The units that a run would take, and why."""

    __slots__ = ()

    @property
    def exit_code(self) -> int:
        """0: that units are due is no failure."""
        return 0


def named(reasons: tuple[str, ...], most: int = 3) -> str:
    """Return reasons as a line tells them."""
    shown = "; ".join(reasons[:most])
    return f"{shown} and {len(reasons) - most:,} more" if len(reasons) > most else shown
