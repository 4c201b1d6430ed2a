"""The whole pipeline, offline, on two small repositories that ship with Goldpan.

They are made up, yet their replies are as GitHub gives them and their histories are real git
bundles, so everything from the tables on is the work of an ordinary plan, `plan.toml`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from goldpan.core.errors import WorkspaceError
from goldpan.core.locks import lock_repository
from goldpan.core.result import Result
from goldpan.core.storage.archive import Archive
from goldpan.core.storage.workspace import WorkspaceLayout, publish
from goldpan.core.terminal import Reporter
from goldpan.filters.funnel import Funnels
from goldpan.git.process import check_version
from goldpan.miners.coverage import Coverage, measure_coverage
from goldpan.plan.command import open_plan
from goldpan.plan.file import load_plan
from goldpan.plan.record import PlanResult, StepResult
from goldpan.plan.run import Listener, PlanRun

if TYPE_CHECKING:
    from goldpan.workspace.workspace import Workspace

REPO = "prospector/sluice"
REPOS = (REPO, "prospector/assay")
ANSWERS = "reviews/run-0001.zst"
REPORT = "report.html"
DEMO = "demo"
"""The key by which the first record of the shipped replies says that nobody mined them."""
SHOWN = "qa:prospector/assay#110"
"""The row of a dataset that is shown."""
OPTIONAL = ("verify", "evaluate", "compare", "audit")
"""The stages that need what a machine may lack: an isolation, or an extra."""
_ROWS = "SELECT id, title, answer FROM data"


@dataclass(frozen=True, slots=True)
class ShownRow:
    """A row of question answering."""

    id: str
    title: str
    answer: str


@dataclass(frozen=True, slots=True)
class DemoResult(Result):
    """The result of the demo: what its plan made, a row of a dataset, and a report."""

    schema: ClassVar[int] = 2

    plan: PlanResult
    coverage: tuple[Coverage, ...]
    funnels: Funnels
    """What the default filters keep."""
    datasets: Mapping[str, int]
    """Rows by dataset."""
    shown: tuple[ShownRow, ...]
    """Rows of question answering to look at."""
    workspace: Path
    report: Path
    is_reviewed: bool
    """True where the workspace holds the reviews that ship with the demo."""

    @property
    def exit_code(self) -> int:
        """3 where a stage failed that every machine can do."""
        units = [unit for unit in self.plan.units if unit.stage not in OPTIONAL]
        return 0 if all(unit.state in ("done", "fresh") for unit in units) else 3


def replies_of(repo: str) -> str:
    """Return where a repository's raw replies are among the demo's files."""
    return f"replies/{repo.partition('/')[2]}/run-0001.zst"


def run_demo(lab: Workspace) -> DemoResult:
    """Put the shipped replies into a workspace, run the demo's plan in it, and write a report.

    Raises `WorkspaceError` where the workspace holds anything else, or a repository of such a name
    from elsewhere, `GitError` where git is missing.
    """
    check_version()
    layout = lab.layout
    shipped = files("goldpan.demo")
    if not layout.raw(REPOS[0]).exists() and layout.root.is_dir() and any(layout.root.iterdir()):
        raise WorkspaceError(
            f"{layout.root} is not empty, and not the demo's", "Give --workspace a new directory"
        )
    for repo in REPOS:
        with lock_repository(layout, repo):
            _refuse_others(layout, repo)
            replies = shipped / replies_of(repo)
            _put(layout, replies.read_bytes(), layout.raw(repo) / replies.name)
    answers, target = (shipped / ANSWERS).read_bytes(), layout.root / ANSWERS
    if not target.exists():
        _put(layout, answers, target)
    is_reviewed = target.read_bytes() == answers
    quiet = lab.opened()
    quiet.shows_progress = False  # the plan's bars are enough
    with as_file(shipped) as folder, _bars(lab.reporter) as listener:
        file = load_plan(folder / "plan.toml")
        if not is_reviewed:
            file = replace(file, by_stage={**file.by_stage, "review": {}})
        plan = open_plan(file, quiet, lab.reporter)
        ran = PlanRun(plan, force=True, tell=listener).run()
    made = {unit.subject for unit in ran.units if unit.stage == "dataset"}
    datasets = {data.path.name: data for data in lab.datasets() if data.path.name in made}
    answered = datasets["qa"].sql(_ROWS).to_pylist() if "qa" in datasets else []
    lab.report(output=layout.root / REPORT)
    return DemoResult(
        plan=ran,
        coverage=tuple(measure_coverage(layout, repo) for repo in REPOS),
        funnels=lab.funnel(),
        datasets={name: len(data) for name, data in datasets.items()},
        shown=tuple(ShownRow(**row) for row in answered if row["id"] == SHOWN),
        workspace=layout.root,
        report=layout.root / REPORT,
        is_reviewed=is_reviewed,
    )


@contextmanager
def _bars(reporter: Reporter) -> Iterator[Listener]:
    """Give what hears of units, and shows a bar of all of them and one of that at work."""
    with ExitStack() as stack, ExitStack() as unit:
        bar = stack.enter_context(reporter.task("goldpan demo", 0))

        def listen(step: StepResult, number: int, total: int) -> None:
            unit.close()
            bar.extend(total - bar.total)
            if step.state == "due":
                unit.enter_context(reporter.task(step.unit, 1))
            else:
                bar.advance()

        yield listen


def _put(layout: WorkspaceLayout, content: bytes, target: Path) -> None:
    with layout.scratch() as scratch:
        copy = scratch / target.name
        copy.write_bytes(content)
        publish({copy: target})


def _refuse_others(layout: WorkspaceLayout, repo: str) -> None:
    runs = [
        record for record in Archive(layout.raw(repo)).records if record.meta["part"] == "begin"
    ]
    exists = layout.tables(repo).exists() or layout.clone(repo).exists()
    if not all(record.meta.get(DEMO) for record in runs) or (exists and not runs):
        raise WorkspaceError(
            f"{layout.root} holds a {repo} that is not the demo's",
            "Use another --workspace for the demo",
        )
