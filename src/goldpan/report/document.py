"""The parts of a report, and numbers as people read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from goldpan.core.result import count

MOST_ROWS = 400
"""Rows of one table; the rest is counted."""
Cell = str | int | float | None
"""None is a value that does not exist: it divides by zero, or was never measured."""
Row = Mapping[str, Cell]
"""Cells by the names of their columns."""


@dataclass(frozen=True, slots=True)
class Remark:
    """A paragraph of plain text."""

    text: str


@dataclass(frozen=True, slots=True)
class ReportTable:
    """Rows below named columns; numbers stand to the right."""

    title: str
    """Empty where the text around it is title enough."""
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    strong: frozenset[tuple[int, int]] = frozenset()
    """Row and column of cells that stand out, such as the best of a row."""
    left_out: int = 0
    """Rows that are not shown."""

    @classmethod
    def of(cls, title: str, rows: Iterable[Row], note: str = "") -> ReportTable:
        """Return a table of rows that all name the same columns."""
        named = list(rows)
        columns = tuple(named[0]) if named else ()
        return cls(title, columns, tuple(tuple(row.values()) for row in named), note)


def number_columns(rows: Sequence[Sequence[Cell]], columns: int) -> list[bool]:
    """Return which columns hold numbers alone, and so stand to the right."""
    return [
        bool(rows) and not any(isinstance(row[at], str) for row in rows) for at in range(columns)
    ]


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing; forms without pictures leave it out."""

    title: str
    """What it shows, for those who do not see it too."""
    svg: str


@dataclass(frozen=True, slots=True)
class Fold:
    """Content that readers unfold."""

    title: str
    content: tuple[Content, ...]


Content = Remark | ReportTable | Picture | Fold


def kind(part: Content) -> str:
    """Return the name of a kind of content in templates."""
    return type(part).__name__.lower()


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report with a heading."""

    key: str
    """For links: letters and digits."""
    title: str
    content: tuple[Content, ...]
    note: str = ""
    """The purpose of the section, in a sentence or two."""


@dataclass(frozen=True, slots=True)
class Report:
    """A whole report."""

    title: str
    summary: tuple[str, ...]
    """Plain sentences."""
    warnings: tuple[str, ...]
    """Facts that a reader must know before quoting."""
    sections: tuple[Section, ...]
    picture: Picture | None = None
    """What stands above all else."""


def filled(rows: Sequence[Row]) -> list[Row]:
    """Return rows without the columns that are empty in all of them."""
    names = [name for name in rows[0] if any(row[name] not in (None, "") for row in rows)]
    return [{name: row[name] for name in names} for row in rows]


def cut(whole: ReportTable, most: int = MOST_ROWS) -> ReportTable:
    """Return a table with its first rows and the number of the others."""
    if len(whole.rows) <= most:
        return whole
    strong = frozenset((row, column) for row, column in whole.strong if row < most)
    return replace(whole, rows=whole.rows[:most], strong=strong, left_out=len(whole.rows) - most)


def folded(whole: ReportTable, rows: int = 12) -> Content:
    """Return a table as it is, or behind its title where it has many rows."""
    if len(whole.rows) <= rows:
        return whole
    shown = replace(cut(whole), title="")
    return Fold(f"{whole.title} ({count(len(whole.rows), 'row')})", (shown,))


def listed(names: Sequence[str], most: int = 6) -> str:
    """Return names as part of a sentence: a, b and c."""
    shown = names[:most]
    if hidden := len(names) - len(shown):
        return f"{', '.join(shown)} and {hidden} more"
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))


NOTHING = "–"


def formatted(cell: Cell) -> str:
    """Return a cell as text: three decimals for scores, commas in thousands, a dash for None."""
    if cell is None:
        return NOTHING
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int):
        return f"{cell:,}"
    if cell and abs(cell) < 0.0005:
        return f"{cell:.1e}"
    return f"{cell:,.3f}" if abs(cell) < 100 else f"{cell:,.1f}"


def with_interval(value: float | None, low: float | None, high: float | None) -> str:
    """Return a score with its interval."""
    if value is None:
        return NOTHING
    if low is None or high is None:
        return formatted(value)
    return f"{formatted(value)} [{formatted(low)}, {formatted(high)}]"


def seconds(number: float) -> str:
    """Return a time in the unit that fits it."""
    if number < 120:
        return f"{number:.1f} s"
    return f"{number / 60:.1f} min" if number < 7200 else f"{number / 3600:.1f} h"
