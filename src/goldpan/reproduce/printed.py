"""Cells that follow from other figures of the print.

`derived`: means, sums, changes, places, effects. Where a printed cell cannot come from the printed
figures, however these were rounded, a note names it. Settings: `rules`, each a `Rule`.

`confusion`: metrics of confusion matrices. Settings: `counts`, by the table's row: right positives,
wrong positives, right negatives, wrong negatives; `metrics`, by the table's column: precision,
recall, specificity, accuracy, f1 or f_BETA such as f_2; `undefined`, what the print shows where a
metric divides by zero.

Nothing is run: such cells are `recomputed`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import fsum, sqrt
from typing import Any, Literal

from pydantic import Field

from goldpan.core.errors import UsageError
from goldpan.evaluation.metrics.curves import BinaryConfusion
from goldpan.evaluation.statistics.effects import magnitude
from goldpan.evaluation.statistics.scores import rank
from goldpan.reproduce.cells import Context, Outcome, parsed
from goldpan.reproduce.recipe import StrictModel, TableRecipe, Value

_SLACK = 1e-9


class Rule(StrictModel):
    """How cells follow from others. What is not said is that of the cell itself."""

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


class _Rules(StrictModel):
    rules: tuple[Rule, ...] = Field(min_length=1)


def derived(context: Context, table: TableRecipe, settings: Mapping[str, Any]) -> Iterator[Outcome]:
    """Yield the cells that the rules name, where the print has them and their figures."""
    impossible = []
    for rule in parsed(_Rules, settings).rules:
        source = _table(context, rule.table) if rule.table else table
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
            value = _value(rule.how, present)
            if value is None:
                continue
            value *= rule.scale
            note = f"{rule.how} of {len(present)} printed figures"
            if isinstance(paper, str):
                yield Outcome(row, column, magnitude(value), "recomputed", note)
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
            yield Outcome(row, column, value, "recomputed", note)
    if impossible:
        context.note(
            f"The print does not agree with itself: {'; '.join(dict.fromkeys(impossible))}."
        )


def _ranks(table: TableRecipe, source: TableRecipe, rule: Rule) -> Iterator[Outcome]:
    """Yield the place of each row by one column of a table, the highest first."""
    for column in (rule.column,) if rule.column else rule.only_columns or table.columns:
        values = {row: _figure(source, row, (rule.columns or (column,))[0]) for row in table.rows}
        for entry in rank({row: value for row, value in values.items() if value is not None}):
            yield Outcome(entry.name, column, entry.place, "recomputed", "place of printed figures")


def _table(context: Context, key: str) -> TableRecipe:
    for table in context.recipe.tables:
        if table.key == key:
            return table
    raise UsageError(
        f"A rule names the table {key!r}, which the recipe has not",
        f"Choose {', '.join(table.key for table in context.recipe.tables)}",
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


def _value(how: str, figures: Sequence[float]) -> float | None:
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
    divisor = second if how == "ratio" else first
    if not divisor:
        return None
    return first / second if how == "ratio" else abs(second / first - 1) * 100


def _range(how: str, figures: Sequence[float], half: float) -> tuple[float, float]:
    """Return the least and the most that figures give, each within half a printed unit."""
    if how in ("sum", "mean"):
        ends = [[figure + sign * half for figure in figures] for sign in (-1, 1)]
    else:
        ends = [list(corner) for corner in product(*((f - half, f + half) for f in figures))]
    values = [value for end in ends if (value := _value(how, end)) is not None]
    return min(values), max(values)


_METRICS = ("precision", "recall", "specificity", "accuracy", "f1")


class _ConfusionCounts(StrictModel):
    counts: Mapping[str, tuple[int, int, int, int]]
    metrics: Mapping[str, str]
    undefined: str = "-"


def confusion(
    context: Context, table: TableRecipe, settings: Mapping[str, Any]
) -> Iterator[Outcome]:
    """Yield each metric of each row's counts."""
    chosen = parsed(_ConfusionCounts, settings)
    for row, counts in chosen.counts.items():
        confusion = BinaryConfusion(*counts)
        for column, metric in chosen.metrics.items():
            value: Value = metric_of(confusion, metric)
            yield Outcome(row, column, chosen.undefined if value is None else value, "recomputed")


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
