"""Charts: counts of what the tables hold beside what the profile keeps, and of funnels."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

import duckdb

from goldpan.filters.funnel import Funnel, FunnelRow
from goldpan.report.tables import rows


@dataclass(frozen=True, slots=True)
class Bar:
    """The number of things of one kind, and of those that belong to the part."""

    label: str
    whole: int
    part: int
    tick: str = ""
    """The text below a column, where its label is too long."""


@dataclass(frozen=True, slots=True)
class Chart:
    """A distribution: a list of bars, or columns in a fixed order."""

    title: str
    caption: str
    whole: str
    """The things that are counted, in the plural."""
    part: str
    """The things that the darker part of each bar counts."""
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
    """The number of things with exactly these members."""

    members: tuple[str, ...]
    bar: Bar


@dataclass(frozen=True, slots=True)
class UpsetChart:
    """An UpSet chart: kinds that occur together, the most frequent first."""

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


@dataclass(frozen=True, slots=True)
class Level:
    """The subjects that a deciding criterion leaves."""

    criterion: str
    before: int
    left: int

    @property
    def dropped(self) -> int:
        """Return how many it takes out here, where those before it have decided."""
        return self.before - self.left


def levels(funnel: Funnel) -> list[Level]:
    """Return the steps that decide, each with what reaches it and what it leaves."""
    steps: list[Level] = []
    before = funnel.rows
    for step in funnel.steps:
        if step.left is not None:
            steps.append(Level(step.criterion, before, step.left))
            before = step.left
    return steps


def frequent(step: FunnelRow) -> list[tuple[str, int]]:
    """Return a step's reasons, the most frequent first."""
    return sorted(
        ((reason or "undecided", count) for reason, count in step.reasons.items()),
        key=lambda item: (-item[1], item[0]),
    )


_DECLARED = tomllib.loads((files("goldpan.report") / "charts.toml").read_text("utf-8"))
_ABOUT = ("title", "caption", "whole", "part")
_COUNT = """
SELECT label, count(*) AS whole, count(*) FILTER (part) AS part
FROM ({}) GROUP BY label ORDER BY label
"""
_MOST_BARS = 12
_MOST_SETS = 12
_MOST_YEARS = 40


def measure(connection: duckdb.DuckDBPyConnection) -> list[Chart | UpsetChart]:
    """Return all distributions that the tables allow, in the order of the report."""
    for name, query in _DECLARED["tables"].items():
        connection.execute(f"CREATE TEMP TABLE {name} AS {query}")
    charts = [_chart(connection, declared) for declared in _DECLARED["charts"]]
    overlaps = _overlaps(connection, _DECLARED["overlaps"])
    return [chart for chart in charts if chart.bars] + ([overlaps] if overlaps.rows else [])


def _chart(connection: duckdb.DuckDBPyConnection, declared: dict[str, Any]) -> Chart:
    about = {name: declared[name] for name in _ABOUT}
    if edges := declared.get("edges"):
        counted = rows(connection, _COUNT.format(declared["query"]), edges=edges)
        return Chart(**about, bars=_binned(counted, edges), shape="columns")
    counted = rows(connection, _COUNT.format(declared["query"]))
    if declared.get("by") == "year":
        return Chart(**about, bars=_yearly(counted), shape="columns")
    most = declared.get("most", _MOST_BARS)
    bars = sorted((Bar(**row) for row in counted), key=lambda bar: (-bar.whole, bar.label))
    return Chart(**about, bars=tuple(bars[:most]), left_out=max(0, len(bars) - most))


def _binned(counted: Sequence[dict[str, Any]], edges: Sequence[int]) -> tuple[Bar, ...]:
    """Return a bar for each bin between the first and the last that are not empty."""
    by_bin = {row["label"]: row for row in counted}
    return tuple(
        Bar(_bin(edges, at), *_numbers(by_bin.get(at)), tick=_tick(edges, at))
        for at in range(min(by_bin, default=0), max(by_bin, default=-1) + 1)
    )


def _bin(edges: Sequence[int], at: int) -> str:
    """Return what lies between two edges, in words."""
    if at == 0:
        return "0" if edges[0] == 1 else f"below {edges[0]:,}"
    if at == len(edges):
        return f"{edges[-1]:,} or more"
    first, last = edges[at - 1], edges[at] - 1
    return str(first) if first == last else f"{first:,} to {last:,}"


def _tick(edges: Sequence[int], at: int) -> str:
    if at == 0:
        return "0" if edges[0] == 1 else f"<{short(edges[0])}"
    return short(edges[at - 1]) + ("+" if at == len(edges) else "")


def _yearly(counted: Sequence[dict[str, Any]]) -> tuple[Bar, ...]:
    """Return a bar a year, those without an entry as well, but only the last `_MOST_YEARS`."""
    by_year = {row["label"]: row for row in counted}
    last = max(by_year, default=-1)
    first = max(min(by_year, default=0), last - _MOST_YEARS + 1)
    return tuple(Bar(str(year), *_numbers(by_year.get(year))) for year in range(first, last + 1))


def _numbers(row: dict[str, Any] | None) -> tuple[int, int]:
    return (row["whole"], row["part"]) if row else (0, 0)


def _overlaps(connection: duckdb.DuckDBPyConnection, declared: dict[str, Any]) -> UpsetChart:
    overlaps = [
        UpsetRow(tuple(row["label"] or ()), Bar("", *_numbers(row)))
        for row in rows(connection, _COUNT.format(declared["query"]))
    ]
    overlaps.sort(key=lambda overlap: (-overlap.bar.whole, overlap.members))
    return UpsetChart(
        **{name: declared[name] for name in _ABOUT},
        members=tuple(sorted({name for overlap in overlaps for name in overlap.members})),
        rows=tuple(overlaps[:_MOST_SETS]),
        left_out=max(0, len(overlaps) - _MOST_SETS),
    )
