"""The whole pipeline, offline, on a small repository that ships with Goldpan.

The repository is made up, yet its replies are as GitHub gives them and its history is a real git
bundle, so everything from the tables on is the work of an ordinary plan, `plan.toml`.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

from goldpan.core.errors import WorkspaceError
from goldpan.core.result import Result
from goldpan.core.storage.archive import Archive
from goldpan.core.storage.workspace import WorkspaceLayout, publish
from goldpan.core.terminal import Reporter
from goldpan.git.process import check_version
from goldpan.miners.coverage import Coverage, measure_coverage
from goldpan.plan.command import open_plan
from goldpan.plan.file import load_plan
from goldpan.plan.results import PlanResult
from goldpan.plan.run import PlanRun, RunOptions, reported_to

if TYPE_CHECKING:
    from goldpan.workspace.workspace import Workspace

REPO = "prospector/sluice"
REPLIES = "run-0001.zst"
ANSWERS = "reviews/run-0001.zst"
REPORT = "report.html"
DEMO = "demo"
"""The key by which the first record of the shipped replies says that nobody mined them."""
_EXAMPLE = f"{REPO}#1"
_OPTIONAL = ("verify", "evaluate", "compare")
"""The stages that need what a machine may lack: an isolation, or an extra."""


@dataclass(frozen=True, slots=True)
class DemoResult(Result):
    """The result of the demo: its plan, an explained issue and a report."""

    schema = 2

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
        units = [unit for unit in self.plan.units if unit.stage not in _OPTIONAL]
        return 0 if all(unit.state in ("done", "fresh") for unit in units) else 3


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
    reporter = Reporter(quiet=not progress)
    with as_file(shipped) as folder:
        file = load_plan(folder / "plan.toml")
        if not is_reviewed:
            file = file.without("review")
        plan = open_plan(file, lab, reporter)
        ran = PlanRun(plan, RunOptions(force=True), reported_to(reporter)).run()
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
