"""Table V of CrossCodeBench from finished runs on built splits, in percent.

A split that `goldpan build crosscode split` wrote is a task by `goldpan build crosscode import`,
called after split and method. Rows of the table are `MODEL, METHOD`, columns `SPLIT METRIC`.
Settings: `rows`, how a row names a model of the recipe.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import fsum
from typing import Any

from pydantic import BaseModel, ConfigDict

from goldpan.datasets.prompt_methods import METHODS
from goldpan.evaluation.runs import Run, read_runs
from goldpan.papers.crosscodebench.import_split import split_task_name
from goldpan.papers.crosscodebench.layouts import LAYOUTS
from goldpan.papers.crosscodebench.percentages import percentages
from goldpan.papers.crosscodebench.splits import shipped_splits
from goldpan.reproduce.cells import Outcome, State
from goldpan.reproduce.context import Context
from goldpan.reproduce.recipe import TableRecipe
from goldpan.reproduce.recipe_runs import model_of
from goldpan.reproduce.scores import parsed
from goldpan.reproduce.workspaces import workspaces

METRICS = {"EM": "exact_match", "BLEU": "bleu", "ROUGE-L": "rouge_l"}
_SEEDS = 3
"""Runs of which the paper prints the mean (section V)."""
_ROWS = 500
"""The most test rows of a task (section IV-D)."""


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    rows: Mapping[str, str]


def compute(context: Context, table: TableRecipe, settings: Mapping[str, Any]) -> Iterator[Outcome]:
    """Yield the cells of models that have finished runs; of several seeds, the mean."""
    names = parsed(_Settings, settings).rows
    by_cell: dict[tuple[str, str], list[Run]] = defaultdict(list)
    built = _tasks()
    for name, run in split_runs(context):
        if run.task in built and name in names:
            split, method = built[run.task]
            by_cell[split, f"{names[name]}, {method}"].append(run)
    for (split, row), runs in sorted(by_cell.items()):
        yield from _outcomes(table, split, row, runs)


def split_runs(context: Context) -> list[tuple[str, Run]]:
    """Return the finished runs of the recipe's models with their names there."""
    return [
        (model.name, run)
        for workspace in workspaces(context)
        if (workspace.root / "runs").is_dir()
        for run in read_runs(workspace)
        if (model := model_of(context.recipe.models, run)) is not None
    ]


def mean_scores(runs: Sequence[Run]) -> dict[str, float]:
    """Return the means over runs by metric, in percent; without those that no run has."""
    scored = []
    for run in runs:
        answers = run.predictions()
        scored.append(percentages(answers["truth"].to_pylist(), answers["answer"].to_pylist()))
    means = {}
    for metric, attribute in METRICS.items():
        values = [value for score in scored if (value := getattr(score, attribute)) is not None]
        if values:
            means[metric] = fsum(values) / len(values)
    return means


def _tasks() -> dict[str, tuple[str, str]]:
    """Return split and method by the names of the tasks that are made of them."""
    return {
        split_task_name(split, method, layout): (split, method)
        for split in shipped_splits()
        for method in METHODS
        for layout in LAYOUTS
    }


def _outcomes(table: TableRecipe, split: str, row: str, runs: list[Run]) -> Iterator[Outcome]:
    rows = min(run.scores.examples for run in runs)
    seeds = len({run.seed for run in runs})
    notes = [f"{seeds} of {_SEEDS} seeds"] if seeds < _SEEDS else []
    tasks = shipped_splits()[split].paper
    if tasks is not None and rows < tasks[1] * _ROWS:
        notes.append(f"{rows:,} of up to {tasks[1] * _ROWS:,} rows")
    weights = sorted({str(run.record.settings.get("weights", "")) for run in runs} - {""})
    if len(weights) > 1:
        notes.append(f"the mean is over {len(weights)} commits of the weights")
    state: State = "in part" if notes else "run"
    facts = {"rows": rows, "weights": weights}
    for metric, mean in mean_scores(runs).items():
        column = f"{split} {metric}"
        if row in table.rows and column in table.columns:
            yield Outcome(row, column, mean, state, "; ".join(notes), facts)
