"""What people see of plans: what a run did, what one would do, and a new workspace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby

from goldpan.core.result import Piece, Table, count, first_lines, names_text, renders
from goldpan.miners.mine import duration
from goldpan.plan.initial import NewWorkspace
from goldpan.plan.record import DryRun, PlanResult, StepResult, named

_MOST = 20
_ENDS = ("done", "fresh", "partial", "failed", "skipped")
_OF_REPOSITORIES = ("mine", "pair", "clone", "filter")


@renders(PlanResult)
def _ran(result: PlanResult) -> Iterator[Piece]:
    if result.complete and not result.ran:
        yield _nothing_to_do(len(result.units))
        return
    rows = []
    for stage, group in groupby(result.units, lambda unit: unit.stage):
        units = list(group)
        ends = Counter[str](unit.state for unit in units)
        spent = sum(unit.seconds for unit in units if unit.ran)
        rows.append(
            (stage, *(ends[name] or None for name in _ENDS), duration(spent) if spent else "")
        )
    yield Table(("stage", *_ENDS, "time"), rows)
    for unit in result.units:
        if unit.stage not in _OF_REPOSITORIES and unit.state == "done":
            yield f"{unit.unit}: {unit.summary}"
    yield from _troubles(result)


def _troubles(result: PlanResult) -> Iterator[Piece]:
    """Yield what is not well, with what was skipped for it."""
    skipped = Counter(unit.because for unit in result.units)
    others = [unit for unit in result.units if unit.state not in ("done", "fresh")]
    lines = []
    for unit in (unit for unit in others if not unit.because):
        text = f"{unit.unit} {unit.state}: {unit.trouble}"
        if number := skipped[unit.unit]:
            text = f"{text.removesuffix('.')}. Skipped for it: {count(number, 'unit')}."
        lines.append(text)
    yield from first_lines(lines, _MOST, ": --json lists them")


@renders(DryRun)
def _would_run(result: DryRun) -> Iterator[Piece]:
    due = [unit for unit in result if unit.why]
    if not due:
        yield _nothing_to_do(len(result))
        return
    yield f"{count(len(due), 'unit')} of {len(result):,} would run in {result.workspace}:"
    yield Table(("stage", "units", "why"), list(_grouped(due)))


def _grouped(units: Iterable[StepResult]) -> Iterator[tuple[str, str, str]]:
    """Yield the units of one stage of which the same is true, together."""
    groups: dict[tuple[str, str], list[str]] = {}
    for unit in units:
        groups.setdefault((unit.stage, named(unit.why)), []).append(unit.subject)
    for (stage, reason), subjects in groups.items():
        yield stage, names_text(subjects), reason


def _nothing_to_do(units: int) -> str:
    return f"Nothing to do: all {count(units, 'unit')} are up to date."


@renders(NewWorkspace)
def _begun(result: NewWorkspace) -> Iterator[Piece]:
    for file in result.files:
        yield f"{file} lists all settings with their defaults."
    yield f"Next: goldpan mine --workspace {result.workspace} --repo OWNER/NAME"
