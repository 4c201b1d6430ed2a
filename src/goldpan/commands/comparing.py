"""The command that compares stored runs, and what reports on runs share."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from goldpan.commands.shared import Directory, Json, print_result, settings_of
from goldpan.core.errors import UsageError
from goldpan.core.workspace import Workspace
from goldpan.show import comparing as show

if TYPE_CHECKING:  # these take long to import
    from goldpan.datasets.task import Task
    from goldpan.evaluation.comparing import ComparisonResult, Question
    from goldpan.report.evaluation import Written

Output = Annotated[Path | None, typer.Option(help="An HTML file for the whole report.")]
Markdown = Annotated[Path | None, typer.Option(help="A Markdown file for the report's tables.")]
Latex = Annotated[Path | None, typer.Option(help="A LaTeX file for the tables of a paper.")]
_ENDINGS = {"output": ".html", "markdown": ".md", "latex": ".tex"}


def compare(
    task: Annotated[
        list[str] | None,
        typer.Option("--task", help="A task; may be given several times. (default: all)"),
    ] = None,
    suite: Annotated[str | None, typer.Option(help="All tasks of a suite: selu.")] = None,
    model: Annotated[
        list[str] | None,
        typer.Option("--model", help="A model; may be given several times. (default: all)"),
    ] = None,
    protocol: Annotated[
        str | None, typer.Option(help="Only runs under this protocol. (default: all)")
    ] = None,
    approach: Annotated[
        str, typer.Option(help="bayesian or frequentist, for five tasks or more.")
    ] = "bayesian",
    alpha: Annotated[
        float, typer.Option(help="Significance level: how often a decision may be wrong.")
    ] = 0.05,
    rope: Annotated[
        float,
        typer.Option(help="Region of practical equivalence, as a share of the models' spread."),
    ] = 0.1,
    seed: Annotated[int, typer.Option(help="Seed of the tests' random draws.", min=0)] = 0,
    output: Output = None,
    markdown: Markdown = None,
    latex: Latex = None,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Say which models differ, from stored runs, and write a report; no model is run."""
    from goldpan.evaluation.comparing import Question

    place = Workspace(settings_of(workspace=workspace).workspace)
    check_endings(output=output, markdown=markdown, latex=latex)
    question = Question(_approach(approach), alpha, rope, seed)
    tasks = known_tasks(place)
    names = [*(task or ()), *_members(tasks, suite)]
    compared = compare_stored(
        place,
        tasks,
        names,
        question,
        required=task or (),
        models=model or (),
        protocol=protocol or "",
    )
    written = write_files(
        place, compared, tasks, title=suite or "", page=output, markdown=markdown, latex=latex
    )
    print_result(json, show.as_json(compared, written), lambda: show.compared(compared, written))


def compare_stored(
    place: Workspace,
    tasks: dict[str, Task],
    names: Sequence[str],
    question: Question,
    *,
    required: Collection[str] = (),
    models: Collection[str] = (),
    protocol: str = "",
) -> ComparisonResult:
    """Compare the stored runs of these tasks, of all where none is named.

    Raises `UsageError` where one of those that are `required`, or a model, has no run.
    """
    from goldpan.evaluation.comparing import compare_runs
    from goldpan.evaluation.runs import read_runs

    every = read_runs(place, tasks=names)
    _require(required, {run.task for run in every}, "task")
    _require(models, {run.model for run in every}, "model")
    runs = [run for run in every if not models or run.model in models]
    if protocol:
        _require([protocol], {run.record.protocol.name for run in runs}, "protocol")
        runs = [run for run in runs if run.record.protocol.name == protocol]
    return compare_runs(runs, every, tasks, question, keep_models=bool(models))


def known_tasks(place: Workspace) -> dict[str, Task]:
    """Return the tasks of the registry and of the workspace."""
    from goldpan.datasets.registry import load_tasks, tasks_directory

    return load_tasks(tasks_directory(place.root))


def write_files(
    place: Workspace,
    compared: ComparisonResult,
    tasks: dict[str, Task],
    *,
    title: str = "",
    page: Path | None = None,
    markdown: Path | None = None,
    latex: Path | None = None,
) -> tuple[Written, ...]:
    """Write the files that are wanted."""
    if not (page or markdown or latex):
        return ()
    from goldpan.report.evaluation import EvaluationFiles, write_evaluation

    return write_evaluation(place, compared, tasks, EvaluationFiles(page, markdown, latex), title)


def check_endings(**files: Path | None) -> None:
    """Raise `UsageError` for a file whose name says that it holds something else."""
    for name, path in files.items():
        if path is not None and path.suffix != _ENDINGS[name]:
            raise UsageError(
                f"--{name} {path} does not end in {_ENDINGS[name]}", f"End it in {_ENDINGS[name]}"
            )


def _approach(name: str) -> Literal["bayesian", "frequentist"]:
    if name == "bayesian":
        return "bayesian"
    if name == "frequentist":
        return "frequentist"
    raise UsageError(f"There is no approach {name!r}", "Choose bayesian or frequentist")


def _members(tasks: dict[str, Task], suite: str | None) -> list[str]:
    if suite is None:
        return []
    found = [one.name for one in tasks.values() if suite in one.suites]
    if not found:
        known = sorted({name for one in tasks.values() for name in one.suites})
        raise UsageError(f"There is no suite {suite!r}", f"Choose {', '.join(known)}")
    return found


def _require(wanted: Collection[str], there: Collection[str], noun: str) -> None:
    for name in wanted:
        if name not in there:
            near = get_close_matches(name, there, n=1)
            known = f"There are runs of {', '.join(sorted(there))}"
            raise UsageError(
                f"No stored run is of the {noun} {name!r}",
                f"Did you mean {near[0]}? {known}" if near else known,
            )
