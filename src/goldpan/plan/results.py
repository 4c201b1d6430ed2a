"""What a run of a plan did, and what one would do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from goldpan.core.result import Result, Results
from goldpan.plan.record import StepResult


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
