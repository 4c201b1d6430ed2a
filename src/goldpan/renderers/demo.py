"""What people see of the demo."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from goldpan.core.result import Block, Line, Title, blocks_of, renders
from goldpan.demo.pipeline import REPO, REPORT, DemoResult

_TRACED = f"qa:{REPO}#56"
_LACKS = {
    "verify": "No tests were run.",
    "evaluate": "No second baseline.",
    "compare": "No comparison with it.",
}
"""Notes on what the demo lacks where an optional stage cannot do its work."""
_TITLES = {"verify": "Fixes proved by running their tests", "evaluate": "A baseline evaluated"}


@renders(DemoResult)
def shown(result: DemoResult) -> Iterator[Block]:
    """Yield what each stage printed, and what to try next."""
    yield Line(f"{REPO} is an invented repository that ships with Goldpan; no network is used.")
    yield from blocks_of(result.coverage)
    stage = ""
    for unit in result.plan.units:
        if unit.stage != stage and (title := _TITLES.get(unit.stage)):
            yield Title(title)
        stage = unit.stage
        if stage == "mine":  # whose coverage stands above
            continue
        for each in unit.results:
            yield from blocks_of(each)
        if unit.state not in ("done", "fresh"):
            lacks = _LACKS.get(unit.stage, f"{unit.unit} {unit.state}:")
            yield Line(f"{lacks} {unit.trouble}")
        if unit.stage == "filter" and not result.is_reviewed:
            reviews = result.root / "reviews"
            yield Line(f"No review: {reviews} has none of the demo's answers.")
    yield Title("One issue explained")
    yield from blocks_of(result.explanation)
    yield Title("The report")
    yield from blocks_of(result.report)
    yield from _way_on(result)


def _way_on(result: DemoResult) -> Iterator[Block]:
    where = f"--workspace {shlex.quote(str(result.root))}"
    questions = shlex.quote(str(result.root / "datasets" / "qa"))
    yield Title("Try next")
    for command in (
        f"status {where}",
        f"why {REPO}#31 {where}",
        f"filter --profile faun-eval {where}",
        f"build qa --require question-answer {where}",
        f"trace {_TRACED} {where}",
        f"publish {questions} --repo-id me/questions --dry-run",
    ):
        yield Line(f"  goldpan {command}")
    yield Line("")
    is_whole = all(unit.state in ("done", "fresh") for unit in result.plan.units)
    yield Line(
        f"{REPO} went from raw replies to datasets and an evaluated baseline; "
        f"{result.root} has {'every step' if is_whole else 'the steps that were done'}. "
        f"Open {result.root / REPORT} in a browser, or run goldpan open {where}."
    )
