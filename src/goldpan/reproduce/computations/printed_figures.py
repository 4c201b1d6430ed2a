"""Figures that follow from others that the same table prints.

Settings: `sums`, rows that add up others; `sum_columns`, columns that add up others of their row;
`differences`, columns that are one column of their row less another; `f1`, columns that are the
harmonic mean of two; `places`, columns with each row's place by a column of a table of the recipe,
the highest first; `effects`, columns with Cohen's d of two classifiers, each from a mean and a
deviation, by row (a column whose name ends in `magnitude` gets the effect's name). What comes out
of printed figures has their rounding in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

from goldpan.evaluation.nlbse import rank
from goldpan.evaluation.statistics.effects import magnitude
from goldpan.reproduce.cells import Outcome
from goldpan.reproduce.context import Context
from goldpan.reproduce.recipe import TableRecipe
from goldpan.reproduce.scores import parsed

_Pair = tuple[str, str]
_MAGNITUDE = " magnitude"


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    sums: Mapping[str, tuple[str, ...]] = {}
    sum_columns: Mapping[str, tuple[str, ...]] = {}
    differences: Mapping[str, _Pair] = {}
    f1: Mapping[str, _Pair] = {}
    places: Mapping[str, _Pair] = {}
    effects: Mapping[str, Mapping[str, tuple[float, float]]] = {}


def compute(context: Context, table: TableRecipe, settings: Mapping[str, Any]) -> Iterator[Outcome]:
    """Yield each figure whose parts the table prints."""
    chosen = parsed(_Settings, settings)
    for total, parts in chosen.sums.items():
        for column in table.columns:
            yield from _whole(table, total, column, [(part, column) for part in parts], sum)
    for row in table.rows:
        for total, parts in chosen.sum_columns.items():
            yield from _whole(table, row, total, [(row, part) for part in parts], sum)
        for column, pair in chosen.differences.items():
            yield from _whole(table, row, column, [(row, part) for part in pair], _difference)
        for column, pair in chosen.f1.items():
            yield from _whole(table, row, column, [(row, part) for part in pair], _harmonic)
    for column, (key, other) in chosen.places.items():
        ranked = next(known for known in context.recipe.tables if known.key == key)
        values = {row: printed(ranked, row, other) for row in table.rows}
        for entry in rank({row: value for row, value in values.items() if value is not None}):
            yield Outcome(entry.name, column, entry.place, "recomputed")
    yield from _effects(table, chosen.effects)


def printed(table: TableRecipe, row: str, column: str) -> float | None:
    """Return the number that a table prints in a cell; None where it prints none."""
    if row not in table.rows or column not in table.columns:
        return None
    value = table.rows[row][table.columns.index(column)]
    return None if value is None or isinstance(value, str) else float(value)


def _whole(
    table: TableRecipe,
    row: str,
    column: str,
    parts: list[tuple[str, str]],
    rule: Callable[[list[float]], float],
) -> Iterator[Outcome]:
    values = [value for part in parts if (value := printed(table, *part)) is not None]
    if len(values) == len(parts):
        yield Outcome(row, column, rule(values), "recomputed")


def _difference(values: list[float]) -> float:
    return values[0] - values[1]


def _harmonic(values: list[float]) -> float:
    return 2 * values[0] * values[1] / sum(values) if sum(values) else 0.0


def _effects(
    table: TableRecipe, effects: Mapping[str, Mapping[str, tuple[float, float]]]
) -> Iterator[Outcome]:
    for row, summaries in effects.items():
        for column in table.columns:
            first, _, second = column.removesuffix(_MAGNITUDE).partition(" vs ")
            if first not in summaries or second not in summaries:
                continue
            (mean, sd), (other, deviation) = summaries[first], summaries[second]
            pooled = math.sqrt((sd**2 + deviation**2) / 2)
            d = abs(mean - other) / pooled if pooled else None
            value = magnitude(d) if column.endswith(_MAGNITUDE) else d
            yield Outcome(row, column, value, "recomputed", "from rounded means and deviations")
