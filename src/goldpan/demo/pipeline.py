"""The whole pipeline, offline, on a small repository that ships with Goldpan.

The repository is made up, yet its replies are as GitHub gives them and its history is a real git
bundle, so everything from the tables on is the work of an ordinary plan, `plan.toml`.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldpan.core.errors import WorkspaceError
from goldpan.core.result import Block, Line, Result, Title, blocks_of
from goldpan.core.storage.archive import Archive
from goldpan.core.storage.workspace import WorkspaceLayout, publish
from goldpan.git.process import check_version
from goldpan.miners.coverage import Coverage, measure_coverage
from goldpan.plan.due import RunSelection
from goldpan.plan.file import load_plan
from goldpan.plan.results import PlanResult, listening
from goldpan.plan.run import OpenPlan

if TYPE_CHECKING:
    from goldpan.workspace.workspace import Workspace

REPO = "prospector/sluice"
REPLIES = "run-0001.zst"
ANSWERS = "reviews/run-0001.zst"
REPORT = "report.html"
DEMO = "demo"
"""The key by which the first record of the shipped replies says that nobody mined them."""
_EXAMPLE = f"{REPO}#1"
_TRACED = f"qa:{REPO}#56"
_OPTIONAL = ("verify", "evaluate", "compare")
"""The stages that need what a machine may lack: an isolation, or an extra."""
_LACKS = {
    "verify": "No tests were run.",
    "evaluate": "No second baseline.",
    "compare": "No comparison with it.",
}
"""Notes on what the demo lacks where an optional stage cannot do its work."""
_TITLES = {"verify": "Fixes proved by running their tests", "evaluate": "A baseline evaluated"}


@dataclass(frozen=True, slots=True)
class DemoResult(Result):
    """The result of the demo: its plan, an explained issue and a report."""

    plan: PlanResult
    coverage: Coverage
    explanation: Result
    report: Result
    root: Path
    is_reviewed: bool
    """True where the workspace holds the reviews that ship with the demo."""

    @property
    def exit_code(self) -> int:
        """3 where a stage failed that every machine can do."""
        units = [unit for unit in self.plan.units if unit.unit.stage not in _OPTIONAL]
        return 0 if all(unit.state in ("done", "fresh") for unit in units) else 3

    def plain(self) -> dict[str, Any]:
        """Return the result of the plan as plain data, and where the report is."""
        return {**self.plan.plain(), "report": str(self.root / REPORT)}

    def blocks(self) -> Iterator[Block]:
        """Yield what each stage printed, and what to try next."""
        yield Line(f"{REPO} is an invented repository that ships with Goldpan; no network is used.")
        yield from blocks_of(self.coverage)
        stage = ""
        for unit in self.plan.units:
            if unit.unit.stage != stage and (title := _TITLES.get(unit.unit.stage)):
                yield Title(title)
            stage = unit.unit.stage
            if stage == "mine":  # whose coverage stands above
                continue
            for result in unit.results:
                yield from blocks_of(result)
            if unit.state not in ("done", "fresh"):
                lacks = _LACKS.get(unit.unit.stage, f"{unit.unit.name} {unit.state}:")
                yield Line(f"{lacks} {unit.trouble}")
            if unit.unit.stage == "filter" and not self.is_reviewed:
                reviews = self.root / "reviews"
                yield Line(f"No review: {reviews} has none of the demo's answers.")
        yield Title("One issue explained")
        yield from blocks_of(self.explanation)
        yield Title("The report")
        yield from blocks_of(self.report)
        yield from self._way_on()

    def _way_on(self) -> Iterator[Block]:
        where = f"--workspace {shlex.quote(str(self.root))}"
        questions = shlex.quote(str(self.root / "datasets" / "qa"))
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
        is_whole = all(unit.state in ("done", "fresh") for unit in self.plan.units)
        yield Line(
            f"{REPO} went from raw replies to datasets and an evaluated baseline; "
            f"{self.root} has {'every step' if is_whole else 'the steps that were done'}. "
            f"Open {self.root / REPORT} in a browser, or run goldpan open {where}."
        )


def run_demo(lab: Workspace, *, progress: bool = False) -> DemoResult:
    """Put the shipped replies into a workspace, run the demo's plan in it, and write a report.

    Raises `WorkspaceError` where the workspace holds a repository of that name from elsewhere,
    `GitError` where git is missing.
    """
    check_version()
    layout = lab.layout
    shipped = files("goldpan.demo")
    with layout.lock(REPO):
        _refuse_others(layout)
        _put(layout, (shipped / "replies" / REPLIES).read_bytes(), layout.raw(REPO) / REPLIES)
    answers, target = (shipped / ANSWERS).read_bytes(), layout.root / ANSWERS
    if not target.exists():
        _put(layout, answers, target)
    is_reviewed = target.read_bytes() == answers
    with as_file(shipped) as folder, listening(progress=progress) as (listener, reporter, _):
        file = load_plan(folder / "plan.toml")
        if not is_reviewed:
            file = replace(file, plan=file.plan.replaced(review=None))
        ran = OpenPlan(file, lab, reporter).run(RunSelection(force=True), listener)
    return DemoResult(
        ran,
        measure_coverage(layout, REPO),
        lab.why(_EXAMPLE),
        lab.report(REPO, output=layout.root / REPORT),
        layout.root,
        is_reviewed,
    )


def _put(layout: WorkspaceLayout, content: bytes, target: Path) -> None:
    with layout.scratch() as scratch:
        copy = scratch / target.name
        copy.write_bytes(content)
        publish({copy: target})


def _refuse_others(layout: WorkspaceLayout) -> None:
    runs = [
        record for record in Archive(layout.raw(REPO)).records if record.meta["part"] == "begin"
    ]
    exists = layout.tables(REPO).exists() or layout.clone(REPO).exists()
    if not all(record.meta.get(DEMO) for record in runs) or (exists and not runs):
        raise WorkspaceError(
            f"{layout.root} holds a {REPO} that is not the demo's",
            "Use another --workspace for the demo",
        )
