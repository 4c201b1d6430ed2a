"""What the demo prints: a line for each stage, a row of a dataset, and what to try next."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path

from goldpan.core.imports import EXTRAS
from goldpan.core.result import Hint, Line, Piece, Table, Title, renders
from goldpan.core.sanitize import line
from goldpan.demo.pipeline import OPTIONAL, SHOWN, DemoResult
from goldpan.plan.record import StepResult

_LONGEST = 180
"""The most characters that are shown of a text."""


@renders(DemoResult)
def demo(result: DemoResult) -> Iterator[Piece]:
    """Yield what each stage made, a row, and what to try next."""
    yield "Two invented repositories that ship with Goldpan; offline."
    yield Line("")
    yield Table(("stage", "what it made"), list(_stages(result)))
    if not result.is_reviewed:
        yield f"No review: the demo's answers are not in {result.workspace / 'reviews'}."
    for row in result.shown:
        yield Title(row.id, f", a row of {result.workspace / 'datasets' / 'qa'}")
        cells = [("title", line(row.title, _LONGEST)), ("answer", line(row.answer, _LONGEST))]
        yield Table(("column", "value"), cells)
    yield Title("Report", f": {result.report}")
    yield Title("Try next")
    where = f"--workspace {shlex.quote(str(result.workspace))}"
    for command in ("open", f"why {SHOWN.partition(':')[2]}", f"trace {SHOWN} --verify"):
        yield Hint(f"  {_program()} {command} {where}")


def _stages(result: DemoResult) -> Iterator[tuple[str, str]]:
    """Yield each stage with what it made, and what it lacks."""
    issues, pairs = result.funnels.issues, result.funnels.pairs
    known: Mapping[str, str] = {
        "mine": _mined(result),
        "pair": f"{pairs.rows:,} pull requests matched to the issue they fix",
        "clone": "",
        "filter": f"{issues.kept:,} of {issues.rows:,} issues and {pairs.kept:,} of "
        f"{pairs.rows:,} fixes kept, each verdict with its reason",
        "dataset": ", ".join(f"{name} {rows:,}" for name, rows in result.datasets.items()),
    }
    for stage, group in groupby(result.plan.units, lambda unit: unit.stage):
        units = list(group)
        ended = [unit for unit in units if unit.state in ("done", "partial")]
        named = (f"{unit.subject}: " * (len(units) > 1) + unit.summary for unit in ended)
        if made := known.get(stage, "; ".join(named)):
            yield stage, made
        troubles = (_trouble(unit) for unit in units if unit.state not in ("done", "fresh"))
        yield from ((stage, trouble) for trouble in dict.fromkeys(troubles))


def _trouble(unit: StepResult) -> str:
    """Return what a unit lacks, or why it failed."""
    wanted = (extra for extra in EXTRAS.values() if f'[{extra}]"' in unit.trouble)
    extra = next(wanted, None)
    if extra:
        return f"{'partly ' if unit.state == 'partial' else ''}skipped: needs [{extra}]"
    return f"{'skipped' if unit.stage in OPTIONAL else unit.state}: {unit.trouble}"


def _mined(result: DemoResult) -> str:
    stored = Counter[str]()
    for coverage in result.coverage:
        stored.update({count.kind: count.stored for count in coverage.counts})
    missing = "nothing" if all(coverage.complete for coverage in result.coverage) else "something"
    return f"{stored['issues']:,} issues and {stored['pulls']:,} pull requests, {missing} missing"


def _program() -> str:
    """Return the words by which the shell that started this program finds it."""
    started = Path(sys.argv[0])
    if started.name == "__main__.py":
        return shlex.join([sys.executable, "-m", "goldpan"])
    found = shutil.which(started.name)
    if not started.name.startswith("goldpan"):
        return "goldpan"
    if found and Path(found).resolve() == started.resolve():
        return started.name
    return shlex.quote(str(started))
