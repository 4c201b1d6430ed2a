"""Scores by repository and their mean (NLBSE'24): the organizers' result files, and runs here.

Settings: `task`; `columns`, the repository of each column; `mean`, the column of the mean;
`published`, result files by the table's row. Runs follow the recipe's protocol, one model a
repository, and stand under their titles.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict

from goldpan.plugins.core import DatasetError, UsageError
from goldpan.plugins.evaluation import find_protocol
from goldpan.plugins.reproduce import (
    Context,
    MissingFileError,
    Outcome,
    State,
    TableRecipe,
    find_models,
    parsed,
    prepared,
    read_text,
    run_of,
    runs_models,
)


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    task: str
    columns: Mapping[str, str]
    mean: str
    published: Mapping[str, str] = {}


@runs_models
def compute(context: Context, table: TableRecipe, settings: Mapping[str, Any]) -> Iterator[Outcome]:
    """Yield means of printed rows, published files, and runs of the recipe's baselines."""
    chosen = parsed(_Settings, settings)
    for row in table.rows:
        values = [table.number(row, column) for column in chosen.columns]
        if present := [value for value in values if value is not None]:
            yield Outcome(row, chosen.mean, math.fsum(present) / len(present), "recomputed")
    for row, key in chosen.published.items():
        try:
            yield from _cells(chosen, row, _published(context, chosen, key), "recomputed")
        except MissingFileError:
            continue
    task = context.recipe.task(chosen.task)
    if task is None:
        raise UsageError(f"The recipe has no task {chosen.task}", "Add it to [[tasks]]")
    ready = prepared(context, task)
    for model in find_models(context.recipe, context.effort.models):
        result = run_of(context, ready.data, model, find_protocol(context.recipe.protocol))
        if result is None or model.title not in (*table.rows, *table.own):
            continue
        parts = {part.value: part.score for part in result.record.scores_by["repo"].parts}
        if missing := [name for name in chosen.columns.values() if name not in parts]:
            context.note(f"{model.title} has no test row of {', '.join(missing)}, so no scores.")
            continue
        scores = {name: parts[name] or 0.0 for name in chosen.columns.values()}
        limit = context.effort.limit
        notes = [*ready.notes, *([] if limit is None else [f"at most {limit:,} rows"])]
        state: State = "in part" if notes else "run"
        yield from _cells(chosen, model.title, scores, state, "; ".join(notes))


def _cells(
    settings: _Settings, row: str, scores: Mapping[str, float], state: State, note: str = ""
) -> Iterator[Outcome]:
    for column, repository in settings.columns.items():
        yield Outcome(row, column, scores[repository], state, note)
    yield Outcome(row, settings.mean, math.fsum(scores.values()) / len(scores), state, note)


def _published(context: Context, settings: _Settings, key: str) -> dict[str, float]:
    file = context.file(key)
    try:
        results = orjson.loads(read_text(file))
        return {name: results[name]["average"]["f1-score"] for name in settings.columns.values()}
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise DatasetError(
            f"{file.path} holds no F1 of every repository ({error})",
            "Give the file as its authors publish it",
        ) from None
