"""Cells out of scores that authors published, in one table with a row for each model and task.

`published_scores`: the scores, with more digits than are printed. Settings are those of
`ScoreColumns`. Rows and columns of the table are tasks and models, either way round; models stand
under the recipe's name or title.

`ranking`: models by their mean over tasks. Settings: `scores` as `ScoreColumns`; `corrections`, how
often the intervals are corrected for the number of models (Bonferroni). The table has a row a model
and the columns Mean, Std. Dev., Low, High, d and Magnitude, of which it may lack some; d is Cohen's
against the first model.

`tiers`: tiers of models out of a test of each pair; the test takes minutes, so its result is kept.
Settings: `scores`. The table has a row a model and the column Tier. The test, its level, ROPE,
draws and seed are the recipe's `[statistics]`.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
from pydantic import Field

from goldpan._version import __version__
from goldpan.core.errors import DamagedError, DatasetError
from goldpan.core.resources import write_file
from goldpan.core.sealed import read_json, sealed_json
from goldpan.core.workspace import make_directory
from goldpan.datasets.table_files import table_rows
from goldpan.evaluation.statistics.compare import compare
from goldpan.evaluation.statistics.effects import cohen_d, magnitude, mean_interval
from goldpan.evaluation.statistics.scores import Score, ScoreMatrix, score_matrix
from goldpan.reproduce.cells import Context, Outcome, parsed
from goldpan.reproduce.recipe import Statistics, StrictModel, TableRecipe, Value


class ScoreColumns(StrictModel):
    """Settings of a computation that reads published scores."""

    file: str
    """The key of the file."""
    model: str = "model"
    """The column that names the model."""
    task: str = "task"
    """The column that names the task."""
    value: tuple[str, ...]
    """The columns of scores; the first that is not empty counts. 1-NAME turns an error round."""
    value_of: Mapping[str, tuple[str, ...]] = {}
    """Other columns for single tasks."""
    models: Mapping[str, str] = {}
    """Names of models in the file, by the recipe's name, where they differ."""
    tasks: tuple[str, ...] = ()
    """The tasks that count, empty for all."""


def read_scores(context: Context, columns: ScoreColumns) -> dict[tuple[str, str], float]:
    """Return the scores by model, as the recipe names it, and task.

    Of a model and task that stand there twice, the first with a score counts, and a note says
    so. Raises `DatasetError` for a score that is no number.
    """
    file = context.file(columns.file)
    names = {written: name for name, written in columns.models.items()}
    scores: dict[tuple[str, str], float] = {}
    without: dict[tuple[str, str], str] = {}
    for number, row in enumerate(table_rows(file.path), 1):
        task = _cell(row, columns.task, file.path)
        if columns.tasks and task not in columns.tasks:
            continue
        written = _cell(row, columns.model, file.path)
        value = _value(row, columns.value_of.get(task, columns.value), f"{file.path}, row {number}")
        key = names.get(written, written), task
        if value is None:
            without[key] = f"{written} has no score on {task} in {file.path.name}."
        elif key in scores:
            context.note(
                f"{written} stands twice on {task} in {file.path.name}: {scores[key]:.4f} counts, "
                f"{value:.4f} does not."
            )
        else:
            scores[key] = value
    for key, note in without.items():
        if key not in scores:
            context.note(note)
    return scores


def _cell(row: Mapping[str, Any], column: str, path: object) -> str:
    if column not in row:
        raise DatasetError(
            f"{path} has no column {column!r}; it has {', '.join(map(str, row))}",
            "Give the file as its authors publish it",
        )
    return str(row[column] or "")


def _value(row: Mapping[str, Any], names: tuple[str, ...], where: str) -> float | None:
    for name in names:
        column = name.removeprefix("1-")
        if text := _cell(row, column, where).strip():
            try:
                value = float(text)
            except ValueError:
                value = math.nan
            if not math.isfinite(value):
                raise DatasetError(
                    f"{where}: {column} holds {text[:40]!r}, which is not a score",
                    "Give the file as its authors publish it",
                )
            return 1 - value if column != name else value
    return None


def published_scores(
    context: Context, table: TableRecipe, settings: Mapping[str, Any]
) -> Iterator[Outcome]:
    """Yield each score of a model and task that the table has."""
    columns = parsed(ScoreColumns, settings)
    if not columns.tasks:
        columns = columns.model_copy(update={"tasks": (*table.rows, *table.columns)})
    for (name, task), value in read_scores(context, columns).items():
        model = context.recipe.model(name)
        names = [name] if model is None else [model.title, model.name]
        for label in names:
            for row, column in ((task, label), (label, task)):
                if row in table.rows and column in table.columns:
                    yield Outcome(row, column, value, "recomputed", facts={"file": columns.file})


_METRIC = "score"
_NAMES = {"none": "Negligible", "small": "Small", "medium": "Medium", "large": "Large"}
"""Names of effects in tables; `none` is below the least that has a name."""


class _Ranking(StrictModel):
    scores: ScoreColumns
    corrections: int = Field(default=1, ge=0)


def ranking(context: Context, table: TableRecipe, settings: Mapping[str, Any]) -> Iterator[Outcome]:
    """Yield the cells of each model of the table."""
    chosen = parsed(_Ranking, settings)
    matrix = _matrix_of(context, table, chosen.scores)
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


def _matrix_of(context: Context, table: TableRecipe, columns: ScoreColumns) -> ScoreMatrix:
    """Return the published scores of the models that are rows of a table, by their titles."""
    scores = []
    for (name, task), value in sorted(read_scores(context, columns).items()):
        model = context.recipe.model(name)
        title = name if model is None or name in table.rows else model.title
        if title in table.rows:
            scores.append(Score(title, task, 0, value))
    return score_matrix(scores, _METRIC)


_COLUMN = "Tier"


class _Tiers(StrictModel):
    scores: ScoreColumns


def tiers(context: Context, table: TableRecipe, settings: Mapping[str, Any]) -> Iterator[Outcome]:
    """Yield the tier of each model of the table, as the decisions cut the ranking."""
    chosen = parsed(_Tiers, settings)
    matrix = _matrix_of(context, table, chosen.scores)
    compared = _compared(context.directory / "cache", matrix, context.recipe.statistics)
    context.note(
        f"{compared['agreement']:.1%} of {compared['pairs']:,} decisions agree with these tiers; "
        f"{compared['undecided']:,} are undecided."
    )
    if compared["fragile"]:
        context.note(
            f"{compared['fragile']:,} decisions lie within random error of the limit and could "
            "change with another seed."
        )
    for model, tier in compared["tiers"].items():
        yield Outcome(model, _COLUMN, str(tier), "recomputed")


def _compared(cache: Path, matrix: ScoreMatrix, statistics: Statistics) -> dict[str, Any]:
    settings = {
        "goldpan": __version__,
        "models": matrix.models,
        "tasks": matrix.tasks,
        "cells": matrix.cells,
        "statistics": statistics.model_dump(),
    }
    key = hashlib.sha256(orjson.dumps(settings, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]
    path = cache / f"tiers-{key}.json"
    try:
        stored: dict[str, Any] = read_json(path)["compared"]
        return stored
    except (OSError, DamagedError, ValueError, KeyError):
        pass
    compared = compare(
        matrix,
        alpha=statistics.alpha,
        rope=statistics.rope,
        approach=statistics.approach,
        samples=statistics.samples,
        seed=statistics.seed,
    )
    result = {
        "tiers": {standing.model: standing.tier for standing in compared.standings},
        "agreement": compared.agreement,
        "pairs": len(compared.pairs),
        "undecided": sum(pair.decision == "undecided" for pair in compared.pairs),
        "fragile": sum(pair.fragile for pair in compared.pairs),
    }
    make_directory(cache)
    write_file(path, sealed_json({"compared": result}))
    return result
