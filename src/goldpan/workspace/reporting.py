"""Reports on repositories, runs and papers' tables, and where an example comes from."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from goldpan.core.errors import UsageError
from goldpan.core.result import Line, Result, Results
from goldpan.core.settings.config import DEFAULT_WORKSPACE
from goldpan.core.storage.workspace import existing
from goldpan.core.values import Count, output_file, several
from goldpan.workspace.dataset import dataset_directories, find_dataset
from goldpan.workspace.opening import Group, OpenWorkspace, choose_profile
from goldpan.workspace.options import (
    DatasetName,
    ModelNames,
    Profile,
    Rules,
    Seed,
    Switch,
    TaskNames,
)

if TYPE_CHECKING:
    from goldpan.datasets.tasks.task import Task
    from goldpan.lineage.trace import Trace
    from goldpan.report.compared import ComparisonReport
    from goldpan.report.page import ReportFacts, RowFacts

_LONGEST = 100
"""Characters of a row's id in the name of a file."""


def report(
    self: OpenWorkspace,
    *repos: str,
    profile: Profile = "default",
    rules: Rules = "default",
    dataset: str | Path | Sequence[str | Path] = (),
    row: str | None = None,
    runs: bool = False,
    output: Path | str | None = None,
) -> ReportFacts | RowFacts | ComparisonReport:
    """Write an HTML page with the funnel, distributions, and examples with their evidence.

    Of an audited dataset it shows the findings. With --runs, or if the workspace holds only
    evaluation runs, the page says which models differ.

    Example: goldpan report --output report.html

    Args:
        dataset (DATASET): A dataset to show examples of: its name in the workspace, or its
            directory. (default: all of the workspace)
        row (ID): Write a page about this row alone: its label, verdicts and findings.
        runs: Report on stored evaluation runs instead; see goldpan evaluate compare.
        output: The HTML file. (default: WORKSPACE/report.html; of a row WORKSPACE/row-ID.html,
            of runs WORKSPACE/runs.html)
    """
    from goldpan.datasets.provenance import finished_datasets
    from goldpan.report.page import write_report, write_row_page

    named = re.sub(r"[^A-Za-z0-9._+]+", "-", row or "")[:_LONGEST].strip("-.")
    if runs and (repos or dataset or row):
        raise UsageError(
            "--runs reports on all stored runs, not on repositories and datasets",
            "Leave out --repo and --dataset, or use goldpan evaluate compare --task",
        )
    existing(self.layout)
    has_runs = any(self.path.glob("runs/*/*/*/result.json"))
    shows_runs = runs or (has_runs and not (repos or row) and not self.repositories())
    name = "runs.html" if shows_runs else f"row-{named}.html" if row else "report.html"
    page = output_file("output", output or self.path / name)
    if shows_runs:
        return compare(Group(self), output=page)
    layout, names, chosen = choose_profile(self, repos, profile, rules)
    directories = dataset_directories(layout, dataset) or finished_datasets(layout)
    if row is not None:
        return write_row_page(layout, names, chosen, directories, row, page)
    return write_report(layout, names, chosen, directories, page)


def trace(
    self: OpenWorkspace,
    example_id: str,
    *,
    dataset: str | Path | Sequence[str | Path] = (),
    verify: bool = False,
) -> Trace:
    """Trace a published example back to raw replies and git objects.

    Exits with 3 if a source is no longer in the workspace, and with 1 if --verify finds that
    something is not what it was made of.

    Example: goldpan trace qa:numpy/numpy#12345

    Args:
        example_id (ID): An id from the dataset, such as qa:OWNER/NAME#NUMBER.
        dataset (DATASET): A dataset to look in: its name in the workspace, or its directory.
            (default: all of the workspace)
        verify: Recompute everything from the raw replies and git objects to the example.
    """
    from goldpan.lineage.trace import trace

    layout = existing(self.layout)
    return trace(layout, example_id, dataset_directories(layout, dataset), verify=verify)


@dataclass(frozen=True, slots=True)
class OpenedPage(Result):
    """A page to look at."""

    address: str


def open_page(
    self: OpenWorkspace,
    dataset: DatasetName | None = None,
    *,
    project: str | None = None,
    port: Annotated[int, Parameter(validator=Number(gte=0, lt=2**16))] = 0,
    browser: Switch = True,
) -> OpenedPage | None:
    """Open the newest report, the rows of a dataset, or an annotation project in the browser.

    The rows of a dataset are searched, filtered and sorted in a table; each has a page with its
    columns and sources. They are served on this machine alone, until Ctrl-C.

    Example: goldpan open qa

    Args:
        dataset (DATASET): Its name in the workspace, its directory, or OWNER/NAME on the Hugging
            Face Hub. (default: the report)
        project (NAME): Open this annotation project in Label Studio.
        port: The port for the rows of a dataset. (default: a free one)
        browser: Open a browser; otherwise the address alone is printed.
    """
    import webbrowser

    if dataset is not None:
        from goldpan.core.terminal import show
        from goldpan.workspace.browsing import RowServer

        if project is not None:
            raise UsageError(
                "A dataset and --project cannot be opened together", "Give one of them"
            )
        server = RowServer(self.layout, find_dataset(self, dataset), port)
        show([Line(f"{server.address} (Ctrl-C ends it)")])
        if browser:
            webbrowser.open(server.address)
        server.serve()
        return None
    if self.path != DEFAULT_WORKSPACE:  # where none was named, this directory will do
        existing(self.layout)
    if project is None:
        address = _newest_report(self.path).as_uri()
    else:
        from goldpan.annotation.studio.project import open_project

        address = open_project(self.layout, project).page
    if browser:
        webbrowser.open(address)
    return OpenedPage(address)


def _newest_report(root: Path) -> Path:
    pages = (path for folder in (root, Path.cwd()) for path in folder.glob("*.html"))
    paths = [path for path in pages if path.is_file()]
    if not paths:
        raise UsageError(
            f"Neither {root} nor this directory holds an HTML report", "Run goldpan report first"
        )
    return max(paths, key=lambda path: path.stat().st_mtime_ns).absolute()


def compare(
    self: Group,
    *,
    task: TaskNames = (),
    suite: str | None = None,
    model: ModelNames = (),
    protocol: str | None = None,
    approach: Literal["calibrated", "bayesian", "frequentist", "nemenyi", "tukey"] = "calibrated",
    alpha: float = 0.05,
    rope: float | None = None,
    seed: Count = 0,
    scores: Path | str | None = None,
    metric: str = "",
    output: Path | str | None = None,
    latex: Path | str | None = None,
) -> ComparisonReport:
    """Say which models differ, from stored runs, and write a report; no model is run.

    Example: goldpan evaluate compare --task issue_type

    Args:
        suite (NAME): All tasks of a suite; see goldpan tasks list.
        protocol (NAME): Only runs under this protocol. (default: all)
        approach: calibrated asks whether a difference would hold on new rows and on new tasks.
            The others are for five tasks or more.
        alpha: Significance level, which is how often a decision may be wrong.
        rope: Region of practical equivalence: points of the score (calibrated, 0.01; none for
            errors without a bound), or a share of the models' spread (bayesian, 0.1).
        seed: Seed of the tests' random draws.
        scores: A CSV or JSON file of scores, confusion counts or predictions from elsewhere, in
            place of stored runs. (see Comparing runs)
        metric (NAME): With --scores, the metric that ranks, such as f1, accuracy, mae or
            exact_match. (default: f1)
        output: An HTML file for the whole report.
        latex: A LaTeX file for the tables of a paper.
    """
    from goldpan.datasets.tasks.registry import load_tasks
    from goldpan.evaluation.compare.compare import compare_file, compare_stored
    from goldpan.evaluation.compare.question import ComparisonQuestion
    from goldpan.evaluation.compare.score_files import read_scores
    from goldpan.report.compared import report_comparison

    files = output_file("output", output), output_file("latex", latex, ".tex")
    question = ComparisonQuestion(approach, alpha, rope, seed)
    named, models = several(task), several(model)
    if scores is not None:
        if suite or protocol:
            raise UsageError(
                "--scores reads a file, which has no suites and protocols",
                "Leave out --suite and --protocol; --task and --model choose its rows",
            )
        compared = compare_file(
            read_scores(Path(scores)), question, metric=metric, tasks=named, models=models
        )
        return report_comparison(self.lab.layout, compared, {}, *files, Path(scores).name)
    if metric:
        raise UsageError(
            "--metric is for --scores; stored runs rank by the metric of their task", "Leave it out"
        )
    layout = self.lab.layout
    tasks = load_tasks(self.lab.own_tasks)
    members = [known.name for known in suite_members(tasks, suite)] if suite else []
    compared = compare_stored(
        layout,
        tasks,
        [*named, *members],
        question,
        required=named,
        models=models,
        protocol=protocol or "",
    )
    return report_comparison(layout, compared, tasks, *files, suite or "")


def suite_members(tasks: Mapping[str, Task], suite: str) -> list[Task]:
    """Return the tasks of a suite; raises `UsageError` for a name of none."""
    members = [task for task in tasks.values() if suite in task.suites]
    if not members:
        suites = sorted({name for task in tasks.values() for name in task.suites})
        raise UsageError(f"There is no suite {suite!r}", f"Choose {', '.join(suites)}")
    return members


def reproduce(
    self: OpenWorkspace,
    paper: str | Path | None = None,
    *,
    table: str | Sequence[str] = (),
    data: Path | str | None = None,
    model: str | Sequence[str] = (),
    task: str | Sequence[str] = (),
    no_run: bool = False,
    limit: Annotated[int, Parameter(validator=Number(gte=10))] | None = None,
    download: bool = False,
    seed: Seed | None = None,
    output: Path | str | None = None,
) -> Result:
    """Repeat the tables of a paper, and show each cell beside the printed one.

    Every cell is marked as run, in part, recomputed from published scores, or untested. Nothing is
    fetched without `--download`. Exits with 3 if a file is missing or is not the authors'.

    Example: goldpan reproduce our_paper.py --table 3 --data papers

    Args:
        paper (PAPER): A recipe's name, or a Python file; without it, the recipes are listed.
        table: Tables, such as 3 or 3,4. (default: all)
        data: The folder with the authors' files. (default: WORKSPACE/reproduce/PAPER/sources)
        model (NAME): Models to run, as NAME, NAME@COMMIT, or all. (default: the baselines)
        task (NAME): Tasks to run, such as incivility,sentiment. (default: all)
        no_run: Train nothing; finished runs still count.
        limit: At most this many rows per task; cells are marked as in part.
        download: Download missing files and weights, where possible.
        seed: Seed of the runs. (default: the protocol's)
        output: A directory for result.json. (default: WORKSPACE/reproduce/PAPER)
    """
    from goldpan.evaluation.protocol import find_protocol
    from goldpan.reproduce.cells import Effort, PaperContext
    from goldpan.reproduce.data import DataFolder
    from goldpan.reproduce.finding import find_recipe, recipe_names
    from goldpan.reproduce.recipe import chosen
    from goldpan.reproduce.result import RecipeSummary, reproduced
    from goldpan.reproduce.runs import find_models

    if paper is None:
        return Results(RecipeSummary.of(find_recipe(name)) for name in recipe_names())
    recipe = find_recipe(str(paper))
    tables = recipe.find_tables(_names(table))
    tasks = chosen(recipe, "task", _names(task), {one.task: one for one in recipe.tasks})
    named = tuple(name for name in _names(model) if name != "all")
    find_models(recipe, named)  # a wrong name is refused before any work
    if named != _names(model):
        named = tuple(one.name for one in recipe.models)
    running = tuple(one for one in tables if one.runs)
    if (model or (not table and (task or limit is not None))) and not running:
        raise UsageError(
            f"No {'named table' if table else 'table'} of {recipe.name} runs models by itself",
            "Leave out --model, --task and --limit: its cells come from finished runs of"
            " goldpan evaluate (docs/papers.md has the commands)",
        )
    if (model or task) and not table:
        tables = running
    folder = self.path / "reproduce" / recipe.name
    if data is not None and not Path(data).is_dir():
        raise UsageError(f"{data} is not a folder", "Give the folder with the authors' files")
    context = PaperContext(
        recipe,
        DataFolder(folder / "sources" if data is None else Path(data)),
        self.layout,
        self.reporter,
        source=Path(paper) if str(paper).endswith(".py") else None,
        seed=find_protocol(recipe.protocol).seed if seed is None else seed,
        effort=Effort(not no_run, named, tuple(one.task for one in tasks), limit),
        download=download,
    )
    return reproduced(context, tables, folder if output is None else Path(output))


def _names(argument: str | Sequence[str]) -> tuple[str, ...]:
    """Return the names in arguments such as `a,b` and `c`, each once, in order."""
    names = (name.strip() for text in several(argument) for name in text.split(","))
    return tuple(dict.fromkeys(name for name in names if name))
