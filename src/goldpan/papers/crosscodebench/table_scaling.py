"""Figures 2 and 3 of CrossCodeBench from finished runs: scores by instances a task, or by size.

Rows are what the text says of a curve, columns the metrics. A note has the curve's points.
Settings: `split` and `method` of the runs; `by` instances, with `model` and the most instances of
a training task (`points`, of which a row may compare the last two); or `by` size, with the
recipe's models from small to large by row (`models`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from goldpan.evaluation.runs import Run
from goldpan.papers.crosscodebench.import_split import split_task_name
from goldpan.papers.crosscodebench.layouts import LAYOUTS
from goldpan.papers.crosscodebench.prompt_table import TRAIN_CAP
from goldpan.papers.crosscodebench.table_runs import METRICS, mean_scores, split_runs
from goldpan.reproduce.cells import Outcome
from goldpan.reproduce.context import Context
from goldpan.reproduce.recipe import TableRecipe
from goldpan.reproduce.scores import parsed

Curve = Mapping[str, Mapping[str, float]]
"""Scores by metric, by the name of a point, in order."""


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    by: Literal["instances", "size"]
    split: str
    method: str
    model: str = ""
    points: tuple[int, ...] = ()
    models: Mapping[str, tuple[str, ...]] = {}


def compute(context: Context, table: TableRecipe, settings: Mapping[str, Any]) -> Iterator[Outcome]:
    """Yield what the curves show, where at least two of their points were run."""
    chosen = parsed(_Settings, settings)
    runs = split_runs(context)
    if chosen.by == "size":
        for row, names in chosen.models.items():
            curve = {
                name: scores
                for name in names
                if (scores := _point(runs, chosen, TRAIN_CAP, name)) is not None
            }
            for metric in table.columns:
                yield from _outcome(row, metric, _trend(curve, metric), curve, len(names))
        return
    curve = {
        f"{cap:,}": scores
        for cap in chosen.points
        if (scores := _point(runs, chosen, cap, chosen.model)) is not None
    }
    last, before = (f"{cap:,}" for cap in (chosen.points[-1], chosen.points[-2]))
    for metric in table.columns:
        for row in table.rows:
            if row.startswith("best"):
                best = max(curve, key=lambda point: curve[point][metric], default=None)
                yield from _outcome(row, metric, best, curve, len(chosen.points))
            elif last in curve and before in curve:
                pair = {before: curve[before], last: curve[last]}
                yield from _outcome(row, metric, _trend(pair, metric), curve, len(chosen.points))


def _point(
    runs: Sequence[tuple[str, Run]], settings: _Settings, cap: int, model: str
) -> Mapping[str, float] | None:
    """Return the mean scores of a point's runs by metric; None where there are none."""
    tasks = {split_task_name(settings.split, settings.method, layout, cap) for layout in LAYOUTS}
    scores = mean_scores([run for name, run in runs if name == model and run.task in tasks])
    return scores if len(scores) == len(METRICS) else None


def _trend(curve: Curve, metric: str) -> str:
    values = [scores[metric] for scores in curve.values()]
    steps = list(pairwise(values))
    if all(after > before for before, after in steps):
        return "higher"
    return "lower" if all(after < before for before, after in steps) else "not the same throughout"


def _outcome(
    row: str, metric: str, value: str | None, curve: Curve, points: int
) -> Iterator[Outcome]:
    if len(curve) < 2 or value is None:
        return
    shown = ", ".join(f"{name}: {scores[metric]:.2f}" for name, scores in curve.items())
    state: Literal["run", "in part"] = "run" if len(curve) == points else "in part"
    note = shown if state == "run" else f"{len(curve)} of {points} points; {shown}"
    yield Outcome(row, metric, value, state, note, {"curve": curve})
