"""Cells that follow from figures: from scores that authors published, or from others of the print.

Nothing is run: such cells are `recomputed`. The first three read one table of published scores with
a row for each model and task.

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

`derived`: means, sums, changes, places, effects. Where a printed cell cannot come from the printed
figures, however these were rounded, a note names it. Settings: `rules`, each a `Rule`.

`confusion`: metrics of confusion matrices. Settings: `counts`, by the table's row: right positives,
wrong positives, right negatives, wrong negatives; `metrics`, by the table's column: precision,
recall, specificity, accuracy, f1 or f_BETA such as f_2; `undefined`, what the print shows where a
metric divides by zero.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import fsum, sqrt
from pathlib import Path
from typing import Annotated, Any, Literal

import orjson
from pydantic import Field

from goldpan._version import __version__
from goldpan.core.errors import DatasetError, UsageError
from goldpan.core.storage.sealed import sealed_json, stored_json
from goldpan.core.storage.workspace import make_directory, write_whole
from goldpan.datasets.table_files import table_rows
from goldpan.datasets.tasks.table_reader import cell_text
from goldpan.evaluation.compare.effects import cohen_d, magnitude
from goldpan.evaluation.compare.methods import compare_by_name
from goldpan.evaluation.compare.scores import RunScore, ScoreMatrix, rank, scipy_stats, score_matrix
from goldpan.evaluation.metrics.curves import BinaryConfusion
from goldpan.reproduce.cells import CellOutcome, PaperContext
from goldpan.reproduce.recipe import Statistics, StrictModel, TableRecipe, Value, find_tables


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


def read_scores(context: PaperContext, columns: ScoreColumns) -> dict[tuple[str, str], float]:
    """Return the scores by model, as the recipe names it, and task.

    Of a model and task that stand there twice, the first with a score counts, and a note says
    so. Raises `DatasetError` for a score that is no number.
    """
    file = context.file(columns.file)
    names = {written: name for name, written in columns.models.items()}
    scores: dict[tuple[str, str], float] = {}
    without: dict[tuple[str, str], str] = {}
    for number, row in enumerate(table_rows(file.path), 1):
        task = _text_of(row, columns.task, file.path)
        if columns.tasks and task not in columns.tasks:
            continue
        written = _text_of(row, columns.model, file.path)
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


def _text_of(row: Mapping[str, Any], column: str, path: object) -> str:
    if column not in row:
        raise DatasetError(
            f"{path} has no column {column!r}; it has {', '.join(map(str, row))}",
            "Give the file as its authors publish it",
        )
    return cell_text(row[column])


def _value(row: Mapping[str, Any], names: tuple[str, ...], where: str) -> float | None:
    for name in names:
        column = name.removeprefix("1-")
        if text := _text_of(row, column, where).strip():
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
    context: PaperContext, table: TableRecipe, settings: ScoreColumns
) -> Iterator[CellOutcome]:
    """Yield each score of a model and task that the table has."""
    columns = settings.model_copy(update={"tasks": settings.tasks or (*table.rows, *table.columns)})
    found = False
    for (name, task), value in read_scores(context, columns).items():
        model = context.recipe.model(name)
        for cell in table.cells_of(task, [model.title, model.name] if model else [name]):
            found = True
            yield CellOutcome(*cell, value, "recomputed", facts={"file": settings.file})
    if not found:
        context.note(f"No score of {settings.file} is of this table: see its `models` and `tasks`.")


_NAMES = {"none": "Negligible", "small": "Small", "medium": "Medium", "large": "Large"}
"""Names of effects in tables; `none` is below the least that has a name."""


def ranking(
    context: PaperContext,
    table: TableRecipe,
    scores: ScoreColumns,
    corrections: Annotated[int, Field(ge=0)] = 1,
) -> Iterator[CellOutcome]:
    """Yield the cells of each model of the table."""
    matrix = _matrix_of(context, table, scores)
    means = matrix.means()
    order = sorted(range(len(means)), key=lambda row: -means[row].mean())
    for row in order:
        values = means[row]
        level = context.recipe.statistics.alpha / len(means) ** corrections
        mean, spread = float(values.mean()), float(values.std(ddof=1))
        error = spread / sqrt(values.size)
        low, high = scipy_stats().t.interval(1 - level, values.size - 1, mean, error)
        effect = cohen_d(means[order[0]], values)
        cells: dict[str, Value] = {
            "Mean": mean,
            "Std. Dev.": spread,
            "Low": float(low),
            "High": float(high),
            "d": effect,
            "Magnitude": _NAMES[magnitude(effect)],
        }
        for column, value in cells.items():
            if column in table.columns:
                yield CellOutcome(matrix.models[row], column, value, "recomputed")


def _matrix_of(context: PaperContext, table: TableRecipe, columns: ScoreColumns) -> ScoreMatrix:
    """Return the published scores of the models that are rows of a table, by their titles."""
    scores = []
    for (name, task), value in sorted(read_scores(context, columns).items()):
        model = context.recipe.model(name)
        title = name if model is None or name in table.rows else model.title
        if title in table.rows:
            scores.append(RunScore(title, task, 0, value))
    return score_matrix(scores, "score")


def tiers(context: PaperContext, table: TableRecipe, scores: ScoreColumns) -> Iterator[CellOutcome]:
    """Yield the tier of each model of the table, as the decisions cut the ranking."""
    matrix = _matrix_of(context, table, scores)
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
        yield CellOutcome(model, "Tier", str(tier), "recomputed")


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
    stored: dict[str, Any] = stored_json(path).get("compared", {})
    if stored:
        return stored
    compared = compare_by_name(
        matrix,
        statistics.approach,
        alpha=statistics.alpha,
        rope=statistics.rope,
        seed=statistics.seed,
        samples=statistics.samples,
    )
    result = {
        "tiers": {standing.model: standing.tier for standing in compared.standings},
        "agreement": compared.agreement,
        "pairs": len(compared.pairs),
        "undecided": sum(pair.decision == "undecided" for pair in compared.pairs),
        "fragile": sum(pair.fragile for pair in compared.pairs),
    }
    make_directory(cache)
    write_whole(path, sealed_json({"compared": result}))
    return result


_SLACK = 1e-9


class Rule(StrictModel):
    """How cells follow from others; what it leaves out is that of the cell itself."""

    how: Literal["mean", "sum", "difference", "ratio", "change", "f1", "effect", "place"]
    """`difference` and `ratio`: of the first figure and the second; `change`: by how many percent
    the second figure differs from the first, without a sign; `f1`: the harmonic mean of two;
    `effect`: Cohen's d, without a sign, of two means with a deviation after each, or its name
    where the table prints a word; `place`: of the row among those of the table, the highest
    figure first."""
    row: str = ""
    """The row of the cells; empty for every row, or those of `only_rows`."""
    column: str = ""
    only_rows: tuple[str, ...] = ()
    only_columns: tuple[str, ...] = ()
    table: str = ""
    """The key of the table with the figures."""
    rows: tuple[str, ...] = ()
    """The rows of the figures; an empty name is the cell's own."""
    columns: tuple[str, ...] = ()
    scale: float = 1.0
    """Factor of the result, where the tables print different units."""
    decimals: int | None = Field(default=None, ge=0, le=9)
    """Decimals of the cells and figures of these rows, where they print fewer than their table."""


def derived(
    context: PaperContext,
    table: TableRecipe,
    rules: Annotated[tuple[Rule, ...], Field(min_length=1)],
) -> Iterator[CellOutcome]:
    """Yield the cells that the rules name, where the print has them and their figures."""
    impossible = []
    for rule in rules:
        source = find_tables(context.recipe, [rule.table])[0] if rule.table else table
        if rule.how == "place":
            yield from _ranks(table, source, rule)
            continue
        for row, column in _targets(table, rule):
            paper = _printed(table, row, column)
            figures = [
                _figure(source, name or row, other or column)
                for name, other in product(rule.rows or (row,), rule.columns or (column,))
            ]
            present = [figure for figure in figures if figure is not None]
            if paper is None or len(present) < len(figures) or not present:
                continue
            value = _combined(rule.how, present)
            if value is None:
                continue
            value *= rule.scale
            note = f"{rule.how} of {len(present)} printed figures"
            if isinstance(paper, str):
                yield CellOutcome(row, column, magnitude(value), "recomputed", note)
                continue
            half, unit = (
                0.5 * 10.0 ** -(printed.decimals if rule.decimals is None else rule.decimals)
                for printed in (source, table)
            )
            low, high = (end * rule.scale for end in _range(rule.how, present, half))
            if not low - unit - _SLACK <= paper <= high + unit + _SLACK:
                note += ", which do not give the print, however they were rounded"
                impossible.append(f"{row}, {column}")
            elif abs(value - paper) > unit + _SLACK:
                note += "; their rounding explains the distance"
            yield CellOutcome(row, column, value, "recomputed", note)
    if impossible:
        named = "; ".join(dict.fromkeys(impossible))
        context.note(f"The print does not agree with itself: {named}.")


def _ranks(table: TableRecipe, source: TableRecipe, rule: Rule) -> Iterator[CellOutcome]:
    """Yield the place of each row by one column of a table, the highest first."""
    for column in (rule.column,) if rule.column else rule.only_columns or table.columns:
        values = {row: _figure(source, row, (rule.columns or (column,))[0]) for row in table.rows}
        for entry in rank({row: value for row, value in values.items() if value is not None}):
            yield CellOutcome(
                entry.name, column, entry.place, "recomputed", "place of printed figures"
            )


def _targets(table: TableRecipe, rule: Rule) -> Iterator[tuple[str, str]]:
    rows = (rule.row,) if rule.row else rule.only_rows or tuple(table.rows)
    columns = (rule.column,) if rule.column else rule.only_columns or table.columns
    return product(rows, columns)


def _figure(table: TableRecipe, row: str, column: str) -> float | None:
    value = _printed(table, row, column)
    return None if isinstance(value, str) else value


def _printed(table: TableRecipe, row: str, column: str) -> Value:
    if row not in table.rows or column not in table.columns:
        raise UsageError(
            f"A rule names {row!r}, {column!r}, which table {table.key} has not",
            "Correct the recipe; docs/reference/files.md describes its keys",
        )
    return table.rows[row][table.columns.index(column)]


def _combined(how: str, figures: Sequence[float]) -> float | None:
    """Return what figures give; None where that is a division by zero."""
    if how == "sum":
        return fsum(figures)
    if how == "mean":
        return fsum(figures) / len(figures)
    arity = 4 if how == "effect" else 2
    if len(figures) != arity:
        raise UsageError(
            f"A rule takes the {how} of {len(figures)} figures, not of {arity}",
            "Correct the recipe; docs/reference/files.md describes its keys",
        )
    if how == "effect":
        mean, deviation, other, spread = figures
        pooled = sqrt((deviation**2 + spread**2) / 2)
        return abs(mean - other) / pooled if pooled else None
    first, second = figures
    if how == "difference":
        return first - second
    if how == "f1":
        return 2 * first * second / (first + second) if first + second else None
    if how == "ratio":
        return first / second if second else None
    return abs(second / first - 1) * 100 if first else None


def _range(how: str, figures: Sequence[float], half: float) -> tuple[float, float]:
    """Return the least and the most that figures give, each within half a printed unit."""
    if how in ("sum", "mean"):
        ends = [[figure + sign * half for figure in figures] for sign in (-1, 1)]
    else:
        ends = [list(corner) for corner in product(*((f - half, f + half) for f in figures))]
    values = [value for end in ends if (value := _combined(how, end)) is not None]
    return min(values), max(values)


_METRICS = ("precision", "recall", "specificity", "accuracy", "f1")


def confusion(
    context: PaperContext,
    table: TableRecipe,
    counts: Mapping[str, tuple[int, int, int, int]],
    metrics: Mapping[str, str],
    undefined: str = "-",
) -> Iterator[CellOutcome]:
    """Yield each metric of each row's counts."""
    for row, answers in counts.items():
        for column, metric in metrics.items():
            value = metric_of(BinaryConfusion(*answers), metric)
            yield CellOutcome(row, column, undefined if value is None else value, "recomputed")


def metric_of(confusion: BinaryConfusion, name: str) -> float | None:
    """Return a metric by name, None where it divides by zero; raises `UsageError`."""
    kind, _, beta = name.partition("_")
    if kind == "f" and beta.isdigit():
        return confusion.f_beta(int(beta))
    if name not in _METRICS:
        raise UsageError(
            f"A recipe asks for the metric {name!r}, which counts do not give",
            f"Choose {', '.join(_METRICS)}, or f_2 and the like",
        )
    value: float | None = getattr(confusion, name)
    return value
