"""Numbers as people read them."""

from __future__ import annotations

from goldpan.report.document import Cell

NOTHING = "–"


def formatted(cell: Cell) -> str:
    """Return a cell as text: three decimals for scores, thousands parted, a dash for nothing."""
    if cell is None:
        return NOTHING
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int):
        return f"{cell:,}"
    if cell and abs(cell) < 0.0005:
        return f"{cell:.1e}"
    return f"{cell:,.3f}" if abs(cell) < 100 else f"{cell:,.1f}"


def count(number: int, noun: str) -> str:
    """Return a number with its noun: 1 task, 2 tasks."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


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
