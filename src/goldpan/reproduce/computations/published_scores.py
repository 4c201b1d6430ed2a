"""Cells that are scores which the authors published with more digits than they printed.

Settings are those of `ScoreColumns`. Rows and columns of the table are tasks and models, either
way round; models stand under the recipe's name or title.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from goldpan.reproduce.cells import Outcome
from goldpan.reproduce.context import Context
from goldpan.reproduce.recipe import TableRecipe
from goldpan.reproduce.scores import ScoreColumns, parsed, published_scores


def compute(context: Context, table: TableRecipe, settings: Mapping[str, Any]) -> Iterator[Outcome]:
    """Yield each score of a model and task that the table has."""
    columns = parsed(ScoreColumns, settings)
    if not columns.tasks:
        columns = columns.model_copy(update={"tasks": (*table.rows, *table.columns)})
    for (name, task), value in published_scores(context, columns).items():
        model = context.recipe.model(name)
        names = [name] if model is None else [model.title, model.name]
        for label in names:
            for row, column in ((task, label), (label, task)):
                if row in table.rows and column in table.columns:
                    yield Outcome(row, column, value, "recomputed", facts={"file": columns.file})
