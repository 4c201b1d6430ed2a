"""A ranking of models by their mean over tasks: mean, deviation, interval, effect, its name.

Settings: `scores` as `ScoreColumns`; `corrections`, how often the intervals are corrected for the
number of models (Bonferroni). The table has a row a model and the columns Mean, Std. Dev., Low,
High, d and Magnitude, of which it may lack some; d is Cohen's against the first model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from goldpan.evaluation.statistics.effects import cohen_d, magnitude
from goldpan.evaluation.statistics.intervals import mean_interval
from goldpan.evaluation.statistics.scores import Score, ScoreMatrix, score_matrix
from goldpan.reproduce.cells import Outcome
from goldpan.reproduce.context import Context
from goldpan.reproduce.recipe import TableRecipe, Value
from goldpan.reproduce.scores import ScoreColumns, parsed, published_scores

_METRIC = "score"
_NAMES = {"none": "Negligible", "small": "Small", "medium": "Medium", "large": "Large"}
"""How tables call effects; `none` is below the least that has a name."""


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    scores: ScoreColumns
    corrections: int = Field(default=1, ge=0)


def compute(context: Context, table: TableRecipe, settings: Mapping[str, Any]) -> Iterator[Outcome]:
    """Yield the cells of each model of the table."""
    chosen = parsed(_Settings, settings)
    matrix = matrix_of(context, table, chosen.scores)
    means = matrix.means()
    order = sorted(range(len(means)), key=lambda row: -means[row].mean())
    for row in order:
        values = means[row]
        alpha = context.recipe.statistics.alpha
        interval = mean_interval(values, alpha, len(means) ** chosen.corrections)
        effect = cohen_d(means[order[0]], values)
        cells: dict[str, Value] = {
            "Mean": float(values.mean()),
            "Std. Dev.": float(values.std(ddof=1)),
            "Low": interval.low,
            "High": interval.high,
            "d": effect,
            "Magnitude": _NAMES[magnitude(effect)],
        }
        for column, value in cells.items():
            if column in table.columns:
                yield Outcome(matrix.models[row], column, value, "recomputed")


def matrix_of(context: Context, table: TableRecipe, columns: ScoreColumns) -> ScoreMatrix:
    """Return the published scores of the models that are rows of a table, by their titles."""
    scores = []
    for (name, task), value in sorted(published_scores(context, columns).items()):
        model = context.recipe.model(name)
        title = name if model is None or name in table.rows else model.title
        if title in table.rows:
            scores.append(Score(title, task, 0, value))
    return score_matrix(scores, _METRIC)
