"""The cells of a table: what the paper prints, what came out here, and how near they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from goldpan.reproduce.recipe import TableRecipe, Value

State = Literal["run", "in part", "recomputed", "untested"]
"""How a cell came about: by running what the paper ran, by running less than that, by computing
from scores that the authors published, or not at all."""
STATES: tuple[State, ...] = ("run", "in part", "recomputed", "untested")
MEANING: Mapping[State, str] = {
    "run": "run here as the paper describes it",
    "in part": "run here with less than the paper's data or settings",
    "recomputed": "computed from figures that the authors published; nothing was run",
    "untested": "not obtained here",
}
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a computation says of a cell."""

    row: str
    column: str
    value: Value
    """None where it could not be obtained."""
    state: State
    note: str = ""
    """Why it is untested or in part, or what else a reader must know."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What it came from, as plain JSON data: the run's directory, rows, seeds."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a printed table beside what came out here."""

    row: str
    column: str
    paper: Value
    here: Value
    state: State
    note: str
    facts: Mapping[str, Any]
    decimals: int
    others: tuple[Outcome, ...] = ()
    """What other computations say of it, such as the published score beside a run."""

    @property
    def distance(self) -> float | None:
        """Return here less paper; None where either is no number."""
        if isinstance(self.paper, str) or isinstance(self.here, str):
            return None
        if self.paper is None or self.here is None:
            return None
        return self.here - self.paper

    @property
    def same(self) -> bool | None:
        """Return whether both agree to the printed digits; None where one is missing."""
        if self.paper is None or self.here is None:
            return None
        if (distance := self.distance) is not None:
            return abs(distance) <= 0.5 * 10.0**-self.decimals + _ROUNDING
        return str(self.paper) == str(self.here)


@dataclass(frozen=True, slots=True)
class TableResult:
    """A table as it came out here."""

    recipe: TableRecipe
    cells: tuple[Cell, ...]
    """By row and column, in the order of the print; cells that the paper leaves empty are not
    among them."""
    problems: tuple[str, ...] = ()
    """What kept computations from running, a sentence each."""
    notes: tuple[str, ...] = ()

    def counts(self) -> dict[State, int]:
        """Return how many cells are of each state."""
        counts = Counter(cell.state for cell in self.cells)
        return {state: counts[state] for state in STATES}

    @property
    def obtained(self) -> bool:
        """Return whether any cell was: a table of untested cells shows the print alone."""
        return any(cell.state != "untested" for cell in self.cells)

    def furthest(self, states: Iterable[State] = STATES) -> Cell | None:
        """Return the cell of those states whose distance is largest, None without any."""
        accepted = set(states)
        measured = [
            cell for cell in self.cells if cell.state in accepted and cell.distance is not None
        ]
        return max(measured, key=lambda cell: abs(cell.distance or 0.0), default=None)

    def differing(self) -> tuple[Cell, ...]:
        """Return the cells that do not agree to the printed digits."""
        return tuple(cell for cell in self.cells if cell.same is False)


def fill_table(
    recipe: TableRecipe,
    outcomes: Iterable[Outcome],
    problems: Iterable[str] = (),
    notes: Iterable[str] = (),
) -> TableResult:
    """Put outcomes into a table; of several for a cell, the one nearest to a run counts.

    Raises `ValueError` for an outcome of a cell that the table has not: a mistake of the
    computation. Rows of Goldpan's own have the cells that were obtained.
    """
    printed = {**recipe.rows, **{row: (None,) * len(recipe.columns) for row in recipe.own}}
    by_cell: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.row not in printed or outcome.column not in recipe.columns:
            raise ValueError(f"{recipe.key} has no cell {outcome.row!r}, {outcome.column!r}")
        by_cell.setdefault((outcome.row, outcome.column), []).append(outcome)
    cells = []
    for row, values in printed.items():
        for column, paper in zip(recipe.columns, values, strict=True):
            if paper is None and (row in recipe.rows or (row, column) not in by_cell):
                continue
            # A later outcome of the same state replaces an earlier one.
            outcomes_of = by_cell.get((row, column), [])[::-1]
            ranked = sorted(outcomes_of, key=lambda outcome: STATES.index(outcome.state))
            best = ranked[0] if ranked else Outcome(row, column, None, "untested")
            others = tuple(outcome for outcome in ranked[1:] if outcome.state != "untested")
            cells.append(
                Cell(
                    row,
                    column,
                    paper,
                    best.value,
                    best.state,
                    best.note,
                    best.facts,
                    recipe.decimals,
                    others,
                )
            )
    return TableResult(recipe, tuple(cells), tuple(problems), tuple(notes))
