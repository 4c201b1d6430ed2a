"""The code-comment competition's score (NLBSE'23, section III-B), of the print and of runs here.

Settings: `baseline`, the row of the organizers' forest, whose published answers give its means.
The score of a printed row follows from its mean F1 and the categories that it won. Baselines run
on all 19 tasks of the recipe stand in rows of Goldpan's own, under their titles.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

from goldpan.evaluation.protocol import find_protocol
from goldpan.papers.nlbse.nlbse23 import BASELINE, comment_rule, comment_score
from goldpan.reproduce.cells import Outcome
from goldpan.reproduce.context import Context, runs_models
from goldpan.reproduce.models import find_models
from goldpan.reproduce.prepare import prepared
from goldpan.reproduce.recipe import ModelRecipe, TableRecipe, Value
from goldpan.reproduce.recipe_runs import run_of
from goldpan.reproduce.scores import parsed

_MEANS = (("Precision", "precision"), ("Recall", "recall"), ("F1", "f1"))
_WON, _SCORE = "Outperformed", "Score"


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    baseline: str


@runs_models
def compute(context: Context, table: TableRecipe, settings: Mapping[str, Any]) -> Iterator[Outcome]:
    """Yield scores of printed rows, the baseline's means, and what baselines reach here."""
    chosen = parsed(_Settings, settings)
    for row, values in table.rows.items():
        won = str(values[table.columns.index(_WON)] or "").partition("/")[0]
        mean = table.number(row, "F1")
        if won.isdigit() and mean is not None:
            score = comment_rule(mean, int(won), len(BASELINE))
            yield Outcome(row, _SCORE, score, "recomputed", "from the rounded mean F1")
    for column, metric in _MEANS:
        answers = (getattr(confusion, metric) for confusion in BASELINE.values())
        yield Outcome(chosen.baseline, column, _mean(answers), "recomputed")
    if context.effort.tasks:
        context.note("No score was computed here: it takes all categories, and --tasks names some.")
    for model in find_models(context.recipe, context.effort.models):
        yield from _entry(context, table, model)


def _entry(context: Context, table: TableRecipe, model: ModelRecipe) -> Iterator[Outcome]:
    protocol = find_protocol(context.recipe.protocol)
    values: dict[str, list[float | None]] = {metric: [] for _, metric in _MEANS}
    f1: dict[str, float | None] = {}
    chosen, limit = context.effort.tasks, context.effort.limit
    notes = [] if limit is None else [f"at most {limit:,} rows a task"]
    for task in context.recipe.tasks:
        if task.task not in BASELINE or (chosen and task.task not in chosen):
            continue
        ready = prepared(context, task)
        result = run_of(context, ready.data, model, protocol)
        if result is None:
            return
        notes += [*ready.notes, *result.record.in_part]
        scores = result.record.scores
        for _, metric in _MEANS:
            values[metric].append(scores.value(metric))
        f1[task.task] = scores.value("f1")
    if chosen:  # the runs are kept, for when all are there
        return
    ranked = comment_score(f1)
    cells: dict[str, Value] = {column: _mean(values[metric]) for column, metric in _MEANS}
    cells[_WON] = f"{ranked.outperformed}/{ranked.categories}"
    cells[_SCORE] = ranked.score
    for column, value in cells.items():
        if model.title in table.own:
            note = "; ".join(dict.fromkeys(notes))
            yield Outcome(model.title, column, value, "in part" if notes else "run", note)


def _mean(values: Iterable[float | None]) -> float:
    numbers = [value or 0.0 for value in values]
    return math.fsum(numbers) / len(numbers)
