"""Which units of a plan are up to date: `goldpan status --plan`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldpan.commands.planning_json import assessment_json
from goldpan.core.result import Block, Line, Result, Table
from goldpan.plan.assess import Assessment, Wish
from goldpan.plan.record import named_changes

if TYPE_CHECKING:
    from goldpan.core.progress import Reporter
    from goldpan.operations.workspace import Workspace

_MOST_NAMES = 3


@dataclass(frozen=True, slots=True)
class PlanStatus(Result):
    """The units of a plan, each with its state and what is due."""

    plan: Path
    units: tuple[Assessment, ...]

    def plain(self) -> list[dict[str, Any]]:
        """Return what is known of each unit as plain data."""
        return [assessment_json(unit) for unit in self.units]

    def blocks(self) -> Iterator[Block]:
        """Yield which units are up to date, and why the others are not."""
        due = [unit for unit in self.units if unit.state != "fresh"]
        count, noun = len(self.units), "unit" if len(self.units) == 1 else "units"
        yield Line(f"{count - len(due):,} of {count:,} {noun} of {self.plan} are up to date.")
        groups: dict[tuple[str, str, str], list[str]] = {}
        for unit in due:
            key = unit.unit.stage, unit.state, _reason(unit)
            groups.setdefault(key, []).append(unit.unit.subject)
        if groups:
            cells = [
                (stage, state, _names(names), reason)
                for (stage, state, reason), names in groups.items()
            ]
            yield Table(("stage", "state", "units", "why"), cells)

    @property
    def exit_code(self) -> int:
        """3 where a unit is not up to date."""
        return 0 if all(unit.state == "fresh" for unit in self.units) else 3


def status_of_plan(lab: Workspace, plan: Path, page: Path | None, reporter: Reporter) -> PlanStatus:
    """Judge the units of a plan, in its own workspace where `lab` was opened without a path."""
    from goldpan.plan.file import load_plan
    from goldpan.plan.make import open_workspace
    from goldpan.plan.overview import write_workspace_overview
    from goldpan.plan.run import OpenPlan

    file = load_plan(plan)
    named = lab.path if "workspace" in lab.given else None
    opened = OpenPlan(file, open_workspace(file, named), reporter, keep=False)
    units = tuple(opened.assess(Wish(refresh=False)))  # which says when, not whether all is well
    if page is not None:
        write_workspace_overview(opened.lab.layout, page, units)
    return PlanStatus(file.path, units)


def _reason(unit: Assessment) -> str:
    if unit.why:
        return named_changes(unit.why)
    if unit.after:
        stages = dict.fromkeys(name.partition("/")[0] for name in unit.after)
        return f"perhaps, after {' and '.join(stages)}"
    return "; ".join(unit.record.lacks) if unit.record is not None else ""


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MOST_NAMES])
    more = len(names) - _MOST_NAMES
    return f"{shown} and {more:,} more" if more > 0 else shown
