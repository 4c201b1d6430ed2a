"""Counts made ready to be drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Bar:
    """How many there are of one kind, and how many of those belong to the part."""

    label: str
    whole: int
    part: int
    tick: str = ""
    """What stands below a column, where its label is too long."""


@dataclass(frozen=True, slots=True)
class Chart:
    """A distribution: a list of bars, or columns in a fixed order."""

    title: str
    caption: str
    whole: str
    """What is counted, in the plural."""
    part: str
    """What the darker part of each bar counts."""
    bars: tuple[Bar, ...]
    left_out: int = 0
    """Kinds that were too rare to show."""
    shape: Literal["bars", "columns"] = "bars"

    @property
    def largest(self) -> int:
        """Return the longest bar."""
        return max((bar.whole for bar in self.bars), default=0)


@dataclass(frozen=True, slots=True)
class UpsetRow:
    """How many have exactly these of the members."""

    members: tuple[str, ...]
    bar: Bar


@dataclass(frozen=True, slots=True)
class UpsetChart:
    """Which kinds occur together, the most frequent first."""

    title: str
    caption: str
    whole: str
    part: str
    members: tuple[str, ...]
    rows: tuple[UpsetRow, ...]
    left_out: int

    @property
    def largest(self) -> int:
        """Return the longest bar."""
        return max((row.bar.whole for row in self.rows), default=0)


def share(count: int, whole: int, room: float = 100) -> str:
    """Return a length for SVG; what is not zero can be seen."""
    if not count or not whole:
        return "0"
    return f"{max(count / whole * room, room / 100):.4g}"


def percent(count: int, whole: int) -> str:
    """Return a share for people."""
    if not whole:
        return "–"
    return f"{100 * count / whole:.1f} %" if 0 < count < whole else f"{100 * count // whole} %"


def short(count: int) -> str:
    """Return a number in at most four characters: 950, 1.2k, 34k, 5.6M."""
    for size, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if count >= size:
            value = count / size
            return (
                f"{value:.0f}{letter}"
                if value >= 10 or count % size == 0
                else f"{value:.1f}{letter}"
            )
    return str(count)
