"""Dry runs and status of a plan: its units' states with reasons and costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from shutil import disk_usage
from typing import TYPE_CHECKING, Any

from goldpan.core.result import Block, Line, Result, Table
from goldpan.core.terminal import Reporter
from goldpan.plan.due import Assessment, RunSelection
from goldpan.plan.file import load_plan
from goldpan.plan.make import open_workspace
from goldpan.plan.results import nothing_to_do, units_text
from goldpan.plan.run import OpenPlan
from goldpan.plan.unit import STAGES
from goldpan.workspace.workspace import Workspace

if TYPE_CHECKING:  # these take long to import
    from goldpan.report.document import Cell, Content
    from goldpan.report.workspace_page import Addition

_MOST = 20
_RUN = ("at", "state", "seconds", "bytes", "spent", "said", "lacks", "problem", "remedy", "outputs")
"""Fields of the record that tell of the last run."""
_COSTS = ("requests", "points", "calls", "money", "seconds", "bytes")
_HEADS = ("requests", "points", "model calls", "money", "time", "disk")


@dataclass(frozen=True, slots=True)
class PlanOutlook(Result):
    """The units of a plan as a run of it would find them, in its order."""

    units: tuple[Assessment, ...]
    plan: Path
    workspace: Path

    def plain(self) -> list[dict[str, Any]]:
        """Return what is known of each unit as plain data."""
        return [_plain(unit) for unit in self.units]


@dataclass(frozen=True, slots=True)
class DryRun(PlanOutlook):
    """The units that would run, with reasons and costs."""

    def blocks(self) -> Iterator[Block]:
        """Yield all stages, with the costs of what would run."""
        due = [unit for unit in self.units if unit.is_open]
        if not due:
            yield nothing_to_do(len(self.units))
            return
        count = f"{units_text(len(due))} of {len(self.units):,}"
        yield Line(f"{count} would run in {self.workspace}:")
        rows = [
            (stage, _names(units), reason, *_costs(units))
            for stage, reason, units in _grouped(self.units, lambda unit: unit.reason)
        ]
        fresh = frozenset(number for number, row in enumerate(rows) if row[2] == "")
        known = [0, 1, 2, *(n for n in range(3, 9) if any(row[n] for row in rows))]
        heads = ("stage", "units", "why", *_HEADS)
        yield Table(
            tuple(heads[number] for number in known),
            [
                tuple((row[number] or ("up to date" if number == 2 else "")) for number in known)
                for row in rows
            ],
            dim=fresh,
        )
        notes: dict[str, dict[str, None]] = {}
        for unit in due:
            if unit.cost.note:
                notes.setdefault(unit.cost.note, {})[unit.unit.stage] = None
        for note, stages in list(notes.items())[:_MOST]:
            yield Line(f"Not known of {', '.join(stages)}: {note}")
        above = (self.workspace, *self.workspace.absolute().parents)
        free = disk_usage(next(path for path in above if path.exists())).free
        yield Line(f"Time and disk are those of past runs; {_size(free)} are free.")


@dataclass(frozen=True, slots=True)
class PlanStatus(PlanOutlook):
    """Which units of a plan are up to date."""

    @property
    def exit_code(self) -> int:
        """3 where a unit is not up to date."""
        return 0 if all(unit.state == "fresh" for unit in self.units) else 3

    def blocks(self) -> Iterator[Block]:
        """Yield how many units are up to date, and why the others are not."""
        fresh = sum(unit.state == "fresh" for unit in self.units)
        yield Line(f"{fresh:,} of {units_text(len(self.units))} of {self.plan} are up to date.")
        others = [unit for unit in self.units if unit.state != "fresh"]
        if others:
            rows = [
                (stage, state, _names(units), reason)
                for stage, (state, reason), units in _grouped(
                    others, lambda unit: (unit.state, unit.reason)
                )
            ]
            yield Table(("stage", "state", "units", "why"), rows)


def _plain(unit: Assessment) -> dict[str, Any]:
    record = unit.record
    return {
        "unit": unit.unit.name,
        "stage": unit.unit.stage,
        "subject": unit.unit.subject,
        "state": unit.state,
        "why": [asdict(change) for change in unit.why],
        "after": list(unit.after),
        "cost": asdict(unit.cost),
        "fingerprint": unit.recipe and unit.recipe.fingerprint,
        "last": record and {name: getattr(record, name) for name in _RUN},
    }


def _grouped(
    units: Sequence[Assessment], key: Callable[[Assessment], Any]
) -> list[tuple[str, Any, list[Assessment]]]:
    """Return units of one stage of which the same is true, together."""
    groups: dict[tuple[str, Any], list[Assessment]] = {}
    for unit in units:
        groups.setdefault((unit.unit.stage, key(unit)), []).append(unit)
    return [(stage, value, members) for (stage, value), members in groups.items()]


def _names(units: Sequence[Assessment]) -> str:
    names = [unit.unit.subject for unit in units]
    shown = ", ".join(names[:3])
    return f"{shown} and {len(names) - 3:,} more" if len(names) > 3 else shown


def _costs(units: Sequence[Assessment]) -> Iterator[str]:
    from goldpan.miners.mine import duration

    due = [unit.cost for unit in units if unit.is_open]
    for name in _COSTS:
        values = [value for cost in due if (value := getattr(cost, name)) is not None]
        match name:
            case _ if not values:
                yield ""
            case "seconds":
                yield duration(sum(values))
            case "bytes":
                yield _size(sum(values))
            case "money":
                yield f"{sum(values):,.2f}"
            case _:
                yield f"{sum(values):,}"


def _size(value: float) -> str:
    return f"{value / 1e9:,.1f} GB" if value >= 1e9 else f"{max(value / 1e6, 0.1):,.1f} MB"


def status_of_plan(
    lab: Workspace, plan: Path | str, page: Path | None, reporter: Reporter
) -> PlanStatus:
    """Return which units of a plan are up to date, and write a page on its repositories.

    The workspace is the plan's unless `lab` was opened by name.
    """
    from goldpan.report.workspace_page import write_workspace_page

    file = load_plan(plan)
    opened_lab = open_workspace(file, lab.path if "workspace" in lab.given else None)
    opened = OpenPlan(file, opened_lab, reporter, keep=False)
    judged = opened.assess(RunSelection(refresh=False))  # which says when, not whether all is well
    if page is not None:
        write_workspace_page(opened_lab.layout, page, addition=page_addition(judged))
    return PlanStatus(tuple(judged), file.path, opened_lab.path)


def page_addition(judged: Sequence[Assessment]) -> Addition:
    """Return what the page on a workspace says of a plan's units."""
    from goldpan.report.document import Section, listed
    from goldpan.report.workspace_page import Addition

    failed = [unit.unit.name for unit in judged if unit.state == "failed"]
    fresh = sum(unit.state == "fresh" for unit in judged)
    return Addition(
        Section("plan", "Plan", tuple(_page_tables(judged))),
        f"{fresh:,} of the {len(judged):,} units of the plan are up to date.",
        (f"{len(failed):,} units of the plan failed: {listed(failed)}.",) if failed else (),
    )


def _page_tables(judged: Sequence[Assessment]) -> Iterator[Content]:
    from goldpan.report.document import ReportTable, folded

    states = ("fresh", "partial", "due", "after", "stopped", "failed")
    counts: list[tuple[Cell, ...]] = []
    for stage in STAGES:
        of_stage = [unit.state for unit in judged if unit.unit.stage == stage]
        if of_stage:
            counts.append((stage, *(of_stage.count(state) for state in states)))
    yield ReportTable("", ("stage", *states), tuple(counts))
    rows: list[tuple[Cell, ...]] = [
        (unit.unit.name, unit.state, unit.reason, unit.record.at if unit.record else "")
        for unit in judged
        if unit.state != "fresh"
    ]
    if rows:
        columns = ("unit", "state", "why", "last run")
        yield folded(ReportTable("Units that are not up to date", columns, tuple(rows)), 40)
