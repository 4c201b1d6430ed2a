"""Comparing models by their stored runs, or by scores from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from goldpan.core.errors import UsageError
from goldpan.core.values import Count, output_file, several
from goldpan.workspace.opening import Group

if TYPE_CHECKING:
    from goldpan.datasets.tasks.task import Task
    from goldpan.report.compared import ComparisonReport

_MOST_NAMED = 40


def compare(
    self: Group,
    *,
    task: str | Sequence[str] = (),
    suite: str | None = None,
    model: str | Sequence[str] = (),
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
        task (NAME): A task. (default: all)
        suite (NAME): All tasks of a suite; see goldpan tasks list.
        model (NAME): A model. (default: all)
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
    from goldpan.core.storage.workspace import tasks_directory
    from goldpan.datasets.tasks.registry import load_tasks
    from goldpan.evaluation.compare.question import ComparisonQuestion
    from goldpan.evaluation.compare.stored_runs import compare_stored
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
        return _compare_file(Path(scores), question, metric, named, models, files)
    if metric:
        raise UsageError(
            "--metric is for --scores; stored runs rank by the metric of their task", "Leave it out"
        )
    layout = self.lab.layout
    tasks = load_tasks(tasks_directory(layout.root))
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


def _compare_file(
    path: Path,
    question: Any,
    metric: str,
    tasks: tuple[str, ...],
    models: tuple[str, ...],
    files: Any,
) -> ComparisonReport:
    from goldpan.evaluation.compare.files import compare_file
    from goldpan.evaluation.compare.score_files import read_scores
    from goldpan.report.compared import report_file_comparison

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
    return report_file_comparison(compared, *files)
