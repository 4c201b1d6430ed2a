"""The command that compares stored runs, and what reports on runs share."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldpan.commands.comparing_screen import (
    comparison_json,
    print_compared,
    print_files,
    print_standings,
)
from goldpan.commands.shared import Directory, Json, OwnTasks, layout_of, print_result
from goldpan.core.errors import UsageError
from goldpan.core.resources import check_folder
from goldpan.core.terminal import Terminal, clean
from goldpan.core.workspace import Workspace

if TYPE_CHECKING:  # these take long to import
    from goldpan.datasets.task import Task
    from goldpan.evaluation.comparison_result import ComparisonResult, Method, Question
    from goldpan.report.evaluation import Written

Output = Annotated[Path | None, typer.Option(help="An HTML file for the whole report.")]
Markdown = Annotated[Path | None, typer.Option(help="A Markdown file for the report's tables.")]
Latex = Annotated[Path | None, typer.Option(help="A LaTeX file for the tables of a paper.")]
_ENDINGS = {"output": ".html", "markdown": ".md", "latex": ".tex"}
_MOST_NAMED = 40


def compare(
    task: Annotated[
        list[str] | None,
        typer.Option("--task", help="A task; may be given several times. (default: all)"),
    ] = None,
    suite: Annotated[str | None, typer.Option(help="All tasks of a suite, such as selu.")] = None,
    model: Annotated[
        list[str] | None,
        typer.Option("--model", help="A model; may be given several times. (default: all)"),
    ] = None,
    protocol: Annotated[
        str | None, typer.Option(help="Only runs under this protocol. (default: all)")
    ] = None,
    approach: Annotated[
        str,
        typer.Option(
            help="calibrated asks whether a difference would hold on new rows and on new tasks. "
            "For five tasks or more, also bayesian, frequentist, wilcoxon, nemenyi or tukey."
        ),
    ] = "calibrated",
    alpha: Annotated[
        float, typer.Option(help="Significance level: how often a decision may be wrong.")
    ] = 0.05,
    rope: Annotated[
        float | None,
        typer.Option(
            help="Region of practical equivalence: points of the score (calibrated, 0.01), or a"
            " share of the models' spread (bayesian, 0.1)."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the tests' random draws.", min=0)] = 0,
    scores: Annotated[
        Path | None,
        typer.Option(
            help="A CSV or JSON file of scores, confusion counts or predictions from elsewhere, in"
            " place of stored runs. (see Comparing runs)"
        ),
    ] = None,
    metric: Annotated[
        str, typer.Option(help="With --scores: f1, precision, recall, specificity or accuracy.")
    ] = "",
    output: Output = None,
    markdown: Markdown = None,
    latex: Latex = None,
    own: OwnTasks = None,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Say which models differ, from stored runs, and write a report; no model is run."""
    from goldpan.evaluation.comparing import compare_stored
    from goldpan.evaluation.comparison_result import Question

    check_outputs(output=output, markdown=markdown, latex=latex)
    question = Question(_approach(approach), alpha, rope, seed)
    if scores is not None:
        if suite or protocol:
            raise UsageError(
                "--scores reads a file, which has no suites and protocols",
                "Leave out --suite and --protocol; --task and --model choose its rows",
            )
        _compare_scores(
            scores,
            question,
            metric,
            task or (),
            model or (),
            (output, markdown, latex),
            json=json,
        )
        return
    if metric:
        raise UsageError(
            "--metric is for --scores; stored runs rank by the metric of their task",
            "Leave it out",
        )
    lab = layout_of(workspace, own)
    tasks = known_tasks(lab)
    names = [*(task or ()), *_members(tasks, suite)]
    compared = compare_stored(
        lab,
        tasks,
        names,
        question,
        required=task or (),
        models=model or (),
        protocol=protocol or "",
    )
    written = write_files(
        lab, compared, tasks, title=suite or "", page=output, markdown=markdown, latex=latex
    )
    print_result(
        json, comparison_json(compared, written), lambda: print_compared(compared, written)
    )


def _compare_scores(
    path: Path,
    question: Question,
    metric: str,
    tasks: Collection[str],
    models: Collection[str],
    files: tuple[Path | None, Path | None, Path | None],
    *,
    json: bool,
) -> None:
    """Compare what a file holds, and write its report."""
    from goldpan.evaluation.comparing_files import compare_file
    from goldpan.evaluation.score_files import read_scores
    from goldpan.report.evaluation import EvaluationFiles
    from goldpan.report.score_report import file_sentences, write_file_report

    file = read_scores(path)
    for noun, chosen, available in (
        ("task", tasks, {key.task for key in file.keys}),
        ("model", models, {key.model for key in file.keys}),
    ):
        for name in chosen:
            if name not in available:
                raise UsageError(
                    f"{path} has no row for the {noun} {name!r}",
                    f"It has {', '.join(sorted(available)[:_MOST_NAMED])}",
                )
    compared = compare_file(file, question, metric=metric, tasks=tasks, models=models)
    written = write_file_report(compared, EvaluationFiles(*files)) if any(files) else ()
    new_tasks = compared.new_tasks
    facts = {
        "metric": compared.metric,
        "layout": file.layout,
        "comparison": compared.comparison.as_json(),
        "new_tasks": None if new_tasks is None else new_tasks.as_json(),
        "drift": [asdict(drift) for drift in compared.drift],
        "left_out": compared.matrix.left_out,
        "summary": file_sentences(compared),
        "files": [asdict(file) for file in written],
    }

    def show() -> None:
        console = Terminal()
        print_standings(console, compared.comparison)
        for sentence in file_sentences(compared):
            console.print(clean(sentence))
        print_files(written)

    print_result(json, facts, show)


def known_tasks(workspace: Workspace) -> dict[str, Task]:
    """Return the tasks of the registry and of the workspace."""
    from goldpan.datasets.registry import load_tasks, tasks_directory

    return load_tasks(tasks_directory(workspace.root))


def write_files(
    workspace: Workspace,
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

    return write_evaluation(
        workspace, compared, tasks, EvaluationFiles(page, markdown, latex), title
    )


def check_outputs(**files: Path | None) -> None:
    """Raise `UsageError` for a file of another kind, or in a folder that is not there."""
    for name, path in files.items():
        if path is not None and path.suffix != _ENDINGS[name]:
            raise UsageError(
                f"--{name} {path} does not end in {_ENDINGS[name]}", f"End it in {_ENDINGS[name]}"
            )
        if path is not None:
            check_folder(path)


def _approach(name: str) -> Method:
    from goldpan.evaluation.comparison_result import METHODS

    for method in METHODS:
        if method == name:
            return method
    raise UsageError(f"There is no approach {name!r}", f"Choose {', '.join(METHODS)}")


def _members(tasks: dict[str, Task], suite: str | None) -> list[str]:
    if suite is None:
        return []
    members = [task.name for task in tasks.values() if suite in task.suites]
    if not members:
        suites = sorted({name for task in tasks.values() for name in task.suites})
        raise UsageError(f"There is no suite {suite!r}", f"Choose {', '.join(suites)}")
    return members
