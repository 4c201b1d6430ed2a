"""The command that runs a plan, and what people see of plans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from rich.table import Table

from goldpan.commands.planning_json import assessment_json, result_json
from goldpan.commands.shared import (
    PARTIAL,
    Address,
    Directory,
    Engine,
    EngineChoice,
    Json,
    print_result,
    reporting,
)
from goldpan.core.log import is_json
from goldpan.core.terminal import Terminal, clean

if TYPE_CHECKING:  # these take long to import
    from goldpan.core.progress import Reporter
    from goldpan.miners.coverage import Coverage
    from goldpan.plan.assess import Assessment
    from goldpan.plan.results import PlanResult, UnitResult
    from goldpan.plan.run import OpenPlan
    from goldpan.plan.unit import Cost

_MOST = 20
K = TypeVar("K")


def run(
    plan: Annotated[Path, typer.Argument(help="The plan, a TOML file (docs/plans.md).")],
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="Only these units: a stage, OWNER/NAME or both, such as filter/OWNER/NAME; may "
            "be given several times."
        ),
    ] = None,
    update: Annotated[
        bool, typer.Option("--update", help="Mine what changed, regardless of the refresh setting.")
    ] = False,
    select: Annotated[
        bool, typer.Option("--select", help="Search again for the selected repositories.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Also run units that are up to date.")
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Only show what would run, why, and what it would cost."),
    ] = False,
    engine: Engine = EngineChoice.LOCAL,
    address: Address = "",
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Run a plan: the whole pipeline, declared in one file. Only what changed runs.

    A unit is a stage of one repository, a dataset, an evaluation or a publication. It runs if an
    input, a setting or Goldpan's version has changed since its last run. A unit that fails stops
    only those that need it. Exits with 3 if one failed or something is missing; the same command
    resumes.
    """
    from goldpan.commands.planning_screen import listen
    from goldpan.plan.assess import Wish
    from goldpan.plan.cluster import open_cluster

    wish = Wish(tuple(only or ()), update, force)
    with reporting(json) as reporter:
        if dry_run:
            opened = open_plan(plan, workspace, reporter, select=select, keep=False)
            judged = opened.assess(wish, price=True)
            described = [assessment_json(assessment) for assessment in judged]
            print_result(json, described, lambda: print_dry_run(opened, judged))
            return
    with listen("json" if is_json() else "plain", silent=json) as (listener, reporter):
        opened = open_plan(plan, workspace, reporter, select=select, progress=listener.shows_stages)
        with open_cluster(engine.value, address) as cluster:
            result = opened.run(wish, listener.tell, cluster)
    print_result(json, result_json(result), lambda: print_ran(result))
    raise typer.Exit(0 if result.complete else PARTIAL)


def open_plan(
    plan: Path,
    workspace: Path | None,
    reporter: Reporter,
    *,
    select: bool = False,
    progress: bool = False,
    keep: bool = True,
) -> OpenPlan:
    """Read a plan and open its workspace; what it selects is stored where `keep` says so."""
    from goldpan.plan.file import load_plan
    from goldpan.plan.make import open_workspace
    from goldpan.plan.run import OpenPlan

    file = load_plan(plan)
    lab = open_workspace(file, workspace, progress=progress)
    return OpenPlan(file, lab, reporter, select=select, keep=keep)


def status_of_plan(plan: Path, workspace: Path | None, page: Path | None, json: bool) -> None:
    """Tell of each unit of a plan whether it is up to date; exits with 3 where one is not."""
    from goldpan.plan.assess import Wish

    with reporting(json) as reporter:
        opened = open_plan(plan, workspace, reporter, keep=False)
        judged = opened.assess(Wish(refresh=False))  # which says when, not whether all is well
        if page is not None:
            write_overview(opened.lab.path, page, judged)
    described = [assessment_json(assessment) for assessment in judged]
    print_result(json, described, lambda: print_status(opened, judged))
    raise typer.Exit(0 if all(assessment.state == "fresh" for assessment in judged) else PARTIAL)


def write_overview(
    workspace: Path,
    page: Path,
    judged: Sequence[Assessment] = (),
    coverages: Sequence[Coverage] = (),
) -> None:
    """Write the HTML page on a workspace's repositories."""
    from goldpan.core.workspace import Workspace as Layout
    from goldpan.plan.overview import write_workspace_overview

    write_workspace_overview(Layout(workspace), page, judged, coverages)


def print_ran(result: PlanResult) -> None:
    """Show what became of the units of a plan: numbers by stage, then what is not well."""
    from goldpan.miners.mine import duration

    console = Terminal(soft_wrap=False)
    if result.complete and not result.ran:
        console.print(f"Nothing to do: all {_units(len(result.units))} are up to date.")
        return
    names = ("done", "fresh", "partial", "failed", "skipped")
    table = Table("stage", *names, "time", box=None, header_style="dim")
    for stage, units in groupby(result.units, lambda unit: unit.unit.stage):
        rows = list(units)
        counts = [sum(row.state == name for row in rows) for name in names]
        spent = sum(row.seconds for row in rows)
        shown = [f"{count:,}" if count else "" for count in counts]
        table.add_row(stage, *shown, duration(spent) if spent else "")
    console.print(table)
    for unit in result.units:
        if (
            unit.unit.stage not in ("mine", "pair", "clone", "duplicates", "filter")
            and unit.state == "done"
        ):
            console.print(clean(f"{unit.unit.name}: {unit.said}"))
    skipped = Counter(unit.because for unit in result.units)
    bad = [
        unit for unit in result.units if unit.state not in ("done", "fresh") and not unit.because
    ]
    for unit in bad[:_MOST]:
        line = f"{unit.unit.name} {unit.state}: {_trouble(unit)}"
        if count := skipped[unit.unit.name]:
            line = f"{line.removesuffix('.')}. Skipped for it: {_units(count)}."
        console.print(clean(line), soft_wrap=True)
    if len(bad) > _MOST:
        console.print(f"and {len(bad) - _MOST:,} more: --json lists them")


def _trouble(unit: UnitResult) -> str:
    if unit.problem:
        return f"{unit.problem}. {unit.remedy}."
    return "; ".join(unit.lacks) or unit.said


def print_dry_run(opened: OpenPlan, judged: Sequence[Assessment]) -> None:
    """Show what would run, why, and what it would take."""
    console = Terminal(soft_wrap=False)
    due = [assessment for assessment in judged if assessment.why or assessment.after]
    if not due:
        console.print(f"Nothing to do: all {_units(len(judged))} are up to date.")
        return
    console.print(f"{_units(len(due))} of {len(judged):,} would run in {opened.lab.path}:")
    table = Table("stage", "units", "why", box=None, header_style="dim")
    for stage, reason, names in _grouped(due, _reason):
        table.add_row(stage, _names(names), clean(reason))
    console.print(table)
    _print_costs(console, due, opened)


def print_status(opened: OpenPlan, judged: Sequence[Assessment]) -> None:
    """Show which units of a plan are up to date, and why the others are not."""
    console = Terminal(soft_wrap=False)
    fresh = sum(assessment.state == "fresh" for assessment in judged)
    console.print(f"{fresh:,} of {_units(len(judged))} of {opened.file.path} are up to date.")
    table = Table("stage", "state", "units", "why", box=None, header_style="dim")
    rows = [assessment for assessment in judged if assessment.state != "fresh"]
    for stage, (state, reason), names in _grouped(
        rows, lambda assessment: (assessment.state, _reason(assessment))
    ):
        table.add_row(stage, state, _names(names), clean(reason))
    if rows:
        console.print(table)


def _grouped(
    judged: Iterable[Assessment], key: Callable[[Assessment], K]
) -> list[tuple[str, K, list[str]]]:
    """Return units of one stage of which the same is true, together."""
    groups: dict[tuple[str, K], list[str]] = {}
    for assessment in judged:
        groups.setdefault((assessment.unit.stage, key(assessment)), []).append(
            assessment.unit.subject
        )
    return [(stage, state, names) for (stage, state), names in groups.items()]


def _reason(assessment: Assessment) -> str:
    from goldpan.plan.record import named_changes

    if assessment.why:
        return named_changes(assessment.why)
    if assessment.after:
        stages = dict.fromkeys(name.partition("/")[0] for name in assessment.after)
        return f"perhaps, after {' and '.join(stages)}"
    return "; ".join(assessment.record.lacks) if assessment.record is not None else ""


def _names(names: Sequence[str]) -> Any:
    shown = ", ".join(names[:3])
    return clean(f"{shown} and {len(names) - 3:,} more" if len(names) > 3 else shown)


def _print_costs(console: Terminal, due: Sequence[Assessment], opened: OpenPlan) -> None:
    from shutil import disk_usage

    from goldpan.miners.mine import duration

    names = ("requests", "points", "model calls", "money", "time", "disk")
    rows: list[tuple[str, ...]] = []
    for stage, group in groupby(due, lambda assessment: assessment.unit.stage):
        costs = [assessment.cost for assessment in group]
        seconds = _sum(costs, "seconds")
        cells = (
            *(_number(_sum(costs, name)) for name in ("requests", "points", "calls")),
            _number(_sum(costs, "money"), 2),
            "" if seconds is None else duration(seconds),
            _size(_sum(costs, "bytes")),
        )
        if any(cells):
            rows.append((stage, *cells))
    if rows:
        known = [number for number in range(1 + len(names)) if any(row[number] for row in rows)]
        head = ("stage", *names)
        table = Table(*(head[number] for number in known), box=None, header_style="dim")
        for row in rows:
            table.add_row(*(row[number] for number in known))
        console.print(table)
    notes: dict[str, dict[str, None]] = {}
    for assessment in due:
        if assessment.cost.note:
            notes.setdefault(assessment.cost.note, {})[assessment.unit.stage] = None
    for note, stages in list(notes.items())[:_MOST]:
        console.print(clean(f"Not known of {', '.join(stages)}: {note}"), soft_wrap=True)
    above = (opened.lab.path, *opened.lab.path.absolute().parents)
    folder = next(path for path in above if path.exists())
    console.print(
        f"Time and disk are those of past runs; {_size(disk_usage(folder).free)} are free."
    )


def _sum(costs: Sequence[Cost], name: str) -> float | None:
    values = [value for cost in costs if (value := getattr(cost, name)) is not None]
    return sum(values) if values else None


def _number(value: float | None, digits: int = 0) -> str:
    return "" if value is None else f"{value:,.{digits}f}"


def _size(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value / 1e9:,.1f} GB" if value >= 1e9 else f"{max(value / 1e6, 0.1):,.1f} MB"


def _units(count: int) -> str:
    return f"{count:,} unit" if count == 1 else f"{count:,} units"
