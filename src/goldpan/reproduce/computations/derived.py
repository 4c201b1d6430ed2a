"""Cells that follow from other figures of the same print: means, sums, changes.

Nothing is run. Where a printed cell cannot come from the printed figures, however these were
rounded, a note names it. Settings: `rules`, each a `Rule`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import fsum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from goldpan.core.errors import UsageError
from goldpan.reproduce.cells import Outcome
from goldpan.reproduce.context import Context
from goldpan.reproduce.recipe import TableRecipe
from goldpan.reproduce.scores import parsed

_SLACK = 1e-9


class Rule(BaseModel):
    """How cells follow from others. What is not said is that of the cell itself."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    how: Literal["mean", "sum", "difference", "ratio", "change"]
    """`change`: by how many percent the second figure differs from the first, without a sign;
    `ratio` and `difference`: of the first figure and the second."""
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
    """What the result is multiplied by, where the tables print different units."""


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    rules: tuple[Rule, ...] = Field(min_length=1)


def compute(context: Context, table: TableRecipe, settings: Mapping[str, Any]) -> Iterator[Outcome]:
    """Yield the cells that the rules name, where the print has them and their figures."""
    impossible = []
    for rule in parsed(_Settings, settings).rules:
        source = _table(context, rule.table) if rule.table else table
        for row, column in _targets(table, rule):
            paper = _figure(table, row, column)
            figures = [
                _figure(source, name or row, other or column)
                for name, other in product(rule.rows or (row,), rule.columns or (column,))
            ]
            known = [figure for figure in figures if figure is not None]
            if paper is None or len(known) < len(figures) or not known:
                continue
            value = _value(rule.how, known)
            if value is None:
                continue
            value *= rule.scale
            note = f"{rule.how} of {len(known)} printed figures"
            ends = _range(rule.how, known, 0.5 * 10.0**-source.decimals)
            low, high = (end * rule.scale for end in ends)
            unit = 0.5 * 10.0**-table.decimals
            if not low - unit - _SLACK <= paper <= high + unit + _SLACK:
                note += ", which do not give the print, however they were rounded"
                impossible.append(f"{row}, {column}")
            elif abs(value - paper) > unit + _SLACK:
                note += "; their rounding explains the distance"
            yield Outcome(row, column, value, "recomputed", note)
    if impossible:
        context.note(f"The print does not agree with itself: {'; '.join(impossible)}.")


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
    if row not in table.rows or column not in table.columns:
        raise UsageError(
            f"A rule names {row!r}, {column!r}, which table {table.key} has not",
            "Correct the recipe; docs/papers.md describes its keys",
        )
    value = table.rows[row][table.columns.index(column)]
    return None if isinstance(value, str) else value


def _value(how: str, figures: Sequence[float]) -> float | None:
    """Return what figures give; None where that is a division by zero."""
    if how == "sum":
        return fsum(figures)
    if how == "mean":
        return fsum(figures) / len(figures)
    if len(figures) != 2:
        raise UsageError(
            f"A rule takes the {how} of {len(figures)} figures, not of two",
            "Correct the recipe; docs/papers.md describes its keys",
        )
    first, second = figures
    if how == "difference":
        return first - second
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
