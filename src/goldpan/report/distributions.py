"""Charts: counts of entries in the tables beside those that the profile keeps, and of funnels."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any

import duckdb

from goldpan.filters.funnel import Funnel, FunnelRow
from goldpan.report.tables import rows


def share(count: int, whole: int, room: float = 100) -> str:
    """Return a length for SVG; one that is not zero can be seen."""
    if not count or not whole:
        return "0"
    return f"{max(count / whole * room, room / 100):.4g}"


def percent(count: int, whole: int) -> str:
    """Return a share for people."""
    if not whole:
        return "–"
    return f"{100 * count / whole:.1f}%" if 0 < count < whole else f"{100 * count // whole}%"


def short(count: int) -> str:
    """Return a number in at most four characters: 950, 1.2k, 34k, 5.6M."""
    for size, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if count >= size - size // 2_000:  # less would be rounded up to 1000 of the smaller unit
            digits = 0 if count >= 9.95 * size or count % size == 0 else 1
            return f"{count / size:.{digits}f}{letter}"
    return str(count)


def levels(funnel: Funnel) -> list[tuple[str, int, int]]:
    """Return the criteria that decide, each with the numbers that reach it and that it leaves."""
    left = [(step.criterion, step.left) for step in funnel.steps if step.left is not None]
    before = [funnel.rows, *(count for _, count in left)]
    return [(name, start, end) for (name, end), start in zip(left, before, strict=False)]


def frequent(step: FunnelRow) -> list[tuple[str, int]]:
    """Return a step's reasons, the most frequent first."""
    return sorted(
        ((reason or "undecided", count) for reason, count in step.reasons.items()),
        key=lambda item: (-item[1], item[0]),
    )


_DECLARED = tomllib.loads((files("goldpan.report") / "charts.toml").read_text("utf-8"))
_COUNT = """
SELECT label, count(*) AS whole, count(*) FILTER (part) AS part
FROM ({}) GROUP BY label ORDER BY label
"""
_MOST_BARS = 12
_MOST_YEARS = 40
_EMPTY = {"whole": 0, "part": 0, "tick": ""}


def measure(connection: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    """Return all distributions that the tables allow, in the order of the report.

    Each has bars: a label, the number of entries, and how many of them belong to the part.
    """
    for name, query in _DECLARED["tables"].items():
        connection.execute(f"CREATE TEMP TABLE {name} AS {query}")
    charts = [_chart(connection, declared) for declared in _DECLARED["charts"]]
    return [chart for chart in charts if chart["bars"]]


def _chart(connection: duckdb.DuckDBPyConnection, declared: dict[str, Any]) -> dict[str, Any]:
    query, edges = _COUNT.format(declared["query"]), declared.get("edges")
    counted = rows(connection, query, edges=edges) if edges else rows(connection, query)
    if edges or declared.get("by") == "year":
        columns = _binned(counted, edges) if edges else _yearly(counted)
        if len(columns) != 1:
            return {**declared, "bars": columns, "largest": _largest(columns), "shape": "columns"}
        counted = columns
    return bars(declared, counted)


def bars(declared: Mapping[str, Any], counted: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a chart of horizontal bars, the most frequent label first."""
    counted.sort(key=lambda bar: (-bar["whole"], bar["label"]))
    shown = counted[: declared.get("most", _MOST_BARS)]
    chart = {**declared, "bars": shown, "largest": _largest(shown), "shape": "bars"}
    return {**chart, "left_out": len(counted) - len(shown)}


def _largest(bars: Iterable[Mapping[str, Any]]) -> int:
    return max((bar["whole"] for bar in bars), default=0)


def _binned(counted: Sequence[dict[str, Any]], edges: Sequence[int]) -> list[dict[str, Any]]:
    """Return a bar for each bin between the first and the last that are not empty."""
    by_bin = {row["label"]: row for row in counted}
    return [
        {**_EMPTY, **by_bin.get(at, {}), "label": _bin(edges, at), "tick": _tick(edges, at)}
        for at in range(min(by_bin, default=0), max(by_bin, default=-1) + 1)
    ]


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


def _yearly(counted: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a bar for each of the last `_MOST_YEARS` years, also for those without an entry."""
    by_year = {row["label"]: row for row in counted}
    last = max(by_year, default=-1)
    first = max(min(by_year, default=0), last - _MOST_YEARS + 1)
    return [
        {**_EMPTY, **by_year.get(year, {}), "label": str(year)} for year in range(first, last + 1)
    ]
