"""The whole pipeline, offline, on a small repository that ships with Goldpan.

The repository is made up, yet its replies are as GitHub gives them and its history is a real git
bundle, so everything from the tables on is the ordinary work of the ordinary stages.
"""

from __future__ import annotations

import shlex
from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path

import pyarrow.parquet as pq

from goldpan.annotation.review.run import estimate_review, run_review
from goldpan.annotation.review.settings import ReviewSettings
from goldpan.builders import issue_resolution
from goldpan.builders.build import DatasetRequest, build
from goldpan.builders.issue_type.build import build_issue_types, make_request
from goldpan.builders.issue_type.closings import EventSource
from goldpan.builders.issue_type.profile import load_profile as load_issue_profile
from goldpan.builders.recipes import find_recipe
from goldpan.commands import (
    comparing_screen,
    datasets,
    filtering,
    history,
    mining_screen,
    reviewing,
)
from goldpan.commands.runs_screen import print_ran
from goldpan.core.archive import Archive
from goldpan.core.config import Settings
from goldpan.core.engine import open_engine
from goldpan.core.errors import EvaluationError, WorkspaceError
from goldpan.core.progress import Reporter
from goldpan.core.show import show
from goldpan.core.terminal import Terminal
from goldpan.core.workspace import Workspace, publish
from goldpan.datasets.earlier_build import read_choice
from goldpan.datasets.provenance import finished_datasets
from goldpan.datasets.registry import load_tasks
from goldpan.datasets.splits import SplitPlan
from goldpan.datasets.task_data import read_task_data
from goldpan.evaluation.comparing import compare_runs
from goldpan.evaluation.comparison_result import Question
from goldpan.evaluation.models.catalogue import find_model
from goldpan.evaluation.protocol import find_protocol
from goldpan.evaluation.run import run
from goldpan.evaluation.runs import read_runs
from goldpan.evaluation.statistics.errors import StatisticsError
from goldpan.execution.command import IsolationError
from goldpan.execution.records import Settings as VerificationSettings
from goldpan.execution.records import instance_of
from goldpan.execution.verify_all import verify_all
from goldpan.explain import explain
from goldpan.filters.pipeline import run_filters
from goldpan.filters.profile import Profile, load_profile
from goldpan.git.clone import clone
from goldpan.git.process import check_version
from goldpan.miners.coverage import measure_coverage
from goldpan.miners.history.revisions import read_history
from goldpan.miners.pairing import find_rules, pair
from goldpan.miners.tables.normalize import normalize
from goldpan.report.evaluation import EvaluationFiles, write_evaluation
from goldpan.report.page import write_report

REPO = "prospector/sluice"
REPLIES = "run-0001.zst"
ANSWERS = "reviews/run-0001.zst"
REVIEW = ReviewSettings(models=("demo-reviewer",), concurrency=1)
BUNDLE = "sluice.bundle"
REPORT = "report.html"
COMPARISON = "comparison.html"
FAMILIES = ("qa", "fault-localization", "code-edit")
QUICK = VerificationSettings(seconds=60.0, memory=1 << 30)
TASK = "nlbse23_issue_type"
MODELS = ("majority", "tfidf-xgboost")
DEMO = "demo"
"""The key by which the first record of the shipped replies says that nobody mined them."""
_EXAMPLE = f"{REPO}#1"
_TRACED = f"qa:{REPO}#5"


def run_demo(settings: Settings, reporter: Reporter) -> None:
    """Make and show everything from the shipped replies to a report on datasets.

    Raises `WorkspaceError` where the workspace holds a repository of that name from elsewhere,
    `GitError` where git is missing.
    """
    check_version()
    workspace = Workspace(settings.workspace)
    profile = load_profile("default")
    console = Terminal()
    console.print(f"{REPO} is an invented repository that ships with Goldpan; no network is used.")
    with workspace.lock(REPO):
        _refuse_others(workspace)
        shipped = files("goldpan.demo")
        with workspace.scratch() as scratch:
            copy = scratch / REPLIES
            copy.write_bytes((shipped / "replies" / REPLIES).read_bytes())
            publish({copy: workspace.raw(REPO) / REPLIES})
        normalize(workspace, REPO, reporter, workers=settings.workers)
        mining_screen.print_coverage(measure_coverage(workspace, REPO))
        mining_screen.print_pairs([pair(workspace, REPO, find_rules("default"))])
        with as_file(shipped / BUNDLE) as bundle:
            cloned = clone(workspace, REPO, reporter, source=bundle.resolve())
        history.print_histories([(cloned, read_history(workspace, REPO, reporter))])
        filtering.print_filtered(run_filters(workspace, [REPO], profile, reporter))
        _review(workspace, profile, reporter, console)
        for name in FAMILIES:
            _build(workspace, name, profile, reporter)
        _verify(workspace, reporter, console)
    console.print("\nOne issue explained\n")
    filtering.print_explanation(explain(workspace, _EXAMPLE))
    console.print("\nA baseline evaluated\n")
    _evaluate(workspace, reporter, console)
    console.print("\nThe report\n")
    report, directories = workspace.root / REPORT, finished_datasets(workspace)
    datasets.print_reported(write_report(workspace, [REPO], profile, directories, report))
    _show_way_on(console, workspace, report)


def _review(workspace: Workspace, profile: Profile, reporter: Reporter, console: Terminal) -> None:
    """Review what is kept by the answers that ship, unless the workspace holds other reviews."""
    target = workspace.root / ANSWERS
    if not target.exists():
        with workspace.scratch() as scratch:
            copy = scratch / target.name
            copy.write_bytes((files("goldpan.demo") / ANSWERS).read_bytes())
            publish({copy: target})
    open_requests = estimate_review(workspace, [REPO], profile, REVIEW, reporter).requests
    if open_requests:
        console.print(f"No review: {workspace.root / 'reviews'} has none of the demo's answers.")
    else:
        reviewing.print_reviewed(run_review(workspace, [REPO], profile, REVIEW, reporter))


def _build(workspace: Workspace, family: str, profile: Profile, reporter: Reporter) -> Path:
    directory = workspace.dataset(family)
    recipe, plan = find_recipe(family), SplitPlan.parse("none")
    request = DatasetRequest(recipe, [REPO], profile, plan, directory)
    show(build(workspace, request, reporter).blocks())
    return directory


def _verify(workspace: Workspace, reporter: Reporter, console: Terminal) -> None:
    """Prove fixes by running their tests, or say what lacks to do so."""
    console.print("\nFixes proved by running their tests\n")
    profile = load_profile("verified")
    run_filters(workspace, [REPO], profile, reporter)
    dataset = _build(workspace, issue_resolution.FAMILY, profile, reporter)
    rows = pq.read_table(dataset / "data").to_pylist()
    instances = [instance_of(row) for row in rows]
    with as_file(files("goldpan.demo")) as shipped:
        recipes = [shipped / "recipe.toml"]
        try:
            proved = verify_all(workspace, instances, QUICK, reporter, recipes=recipes)
        except IsolationError as error:
            console.print(f"No tests were run. {error}")
            return
    console.print()
    show(replace(proved, dataset=str(dataset), choice=read_choice(dataset)).blocks())


def _evaluate(workspace: Workspace, reporter: Reporter, console: Terminal) -> None:
    """Make a small classification dataset, run baselines on it, and report what differs.

    Says why it does not where the extras for that are not installed.
    """
    profile = load_issue_profile("nlbse23")
    origin = EventSource(workspace, "mined", (REPO,))
    request = make_request(
        origin, profile, split="stratified:0.5,0.5", balance=None, seed=0, directory=None
    )
    with open_engine("local", 1) as engine:
        show(build_issue_types(request, engine, reporter).blocks())
    tasks = load_tasks()
    data = read_task_data(workspace.dataset(TASK), tasks[TASK])
    protocol = find_protocol("default")
    try:
        for name in MODELS:
            print_ran(run(workspace, data, find_model(name, {}), protocol, 0, reporter))
        runs = read_runs(workspace, tasks=(TASK,), models=MODELS)
        compared = compare_runs(runs, runs, tasks, Question())
        page = EvaluationFiles(workspace.root / COMPARISON)
        written = write_evaluation(workspace, compared, tasks, page)
    except (EvaluationError, StatisticsError) as error:  # an extra is not installed
        console.print(f"\nNo second baseline, and no comparison with it. {error}")
        return
    console.print()
    comparing_screen.print_compared(compared, written)


def _refuse_others(workspace: Workspace) -> None:
    runs = [
        record for record in Archive(workspace.raw(REPO)).records if record.meta["part"] == "begin"
    ]
    exists = workspace.tables(REPO).exists() or workspace.clone(REPO).exists()
    if not all(record.meta.get(DEMO) for record in runs) or (exists and not runs):
        raise WorkspaceError(
            f"{workspace.root} holds a {REPO} that is not the demo's",
            "Use another --workspace for the demo",
        )


def _show_way_on(console: Terminal, workspace: Workspace, report: Path) -> None:
    where = f"--workspace {shlex.quote(str(workspace.root))}"
    console.print("\nTry next", style="bold")
    for command in (
        f"status {where}",
        f"why {REPO}#31 {where}",
        f"filter --profile faun-eval {where}",
        f"build qa --require question-answer {where}",
        f"trace {_TRACED} {where}",
        f"publish {shlex.quote(str(workspace.dataset('qa')))} --repo-id me/questions --dry-run",
    ):
        console.print(f"  goldpan {command}")
    console.print(
        f"\n{REPO} went from raw replies to datasets and an evaluated baseline; "
        f"{workspace.root} has every step. "
        f"Open {report} in a browser, or run goldpan open {where}."
    )
