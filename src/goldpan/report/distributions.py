"""Charts: counts of what the tables hold beside what the profile keeps, and of funnels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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


_ISSUES = """
CREATE TEMP TABLE report_issues AS
SELECT e.repo, e.number, e.created_at, e.labels, e.author_association, k.issue IS NOT NULL AS part
FROM entries e
LEFT JOIN kept k ON k.subject = 'issue' AND k.repo = e.repo AND k.issue = e.number
WHERE e.kind = 'issue'
"""
_PULLS = """
CREATE TEMP TABLE report_pulls AS
SELECT e.repo, e.number, e.created_at, e.changed_files,
       EXISTS (FROM pairs p WHERE p.pull_repo = e.repo AND p.pull = e.number) AS part
FROM entries e WHERE e.kind = 'pull'
"""
_PAIRS = """
CREATE TEMP TABLE report_pairs AS
SELECT p.*, k.issue IS NOT NULL AS part
FROM pairs p LEFT JOIN kept k
  ON k.subject = 'pair' AND k.repo = p.repo AND k.issue = p.issue
     AND k.pull_repo = p.pull_repo AND k.pull = p.pull
"""
# Each gives a row a thing that is counted: its label, and whether it belongs to the part.
_SAID = {
    "language": "SELECT coalesce(language, 'not known') AS label, part "
    "FROM report_issues LEFT JOIN repositories USING (repo)",
    # The criterion tells its finding as "en, 63 letters", or why it has none.
    "prose": """
        SELECT CASE said WHEN 'short' THEN 'too short' ELSE said END AS label, part
        FROM (SELECT repo, issue AS number, regexp_extract(evidence, '^([a-z]+),', 1) AS said
              FROM verdicts WHERE subject = 'issue' AND criterion = 'language')
        JOIN report_issues USING (repo, number) WHERE said <> ''
    """,
    "length": """
        SELECT len(list_filter($edges, lambda edge: edge <= length)) AS label, part
        FROM report_issues JOIN (
          SELECT repo, number, sum(length) AS length FROM (
            SELECT repo, number, length(coalesce(body, '')) AS length FROM entries
            UNION ALL
            SELECT repo, number, length(coalesce(body, '')) FROM comments WHERE kind = 'comment'
          ) GROUP BY repo, number
        ) USING (repo, number)
    """,
    "year": "SELECT year(created_at) AS label, part FROM report_issues "
    "WHERE created_at IS NOT NULL",
    "pull_year": "SELECT year(created_at) AS label, part FROM report_pulls "
    "WHERE created_at IS NOT NULL",
    "label": "SELECT unnest(list_distinct(labels)) AS label, part FROM report_issues",
    "asker": "SELECT coalesce(author_association, 'not known') AS label, part FROM report_issues",
    "replier": """
        SELECT coalesce(c.author_association, 'not known') AS label, part
        FROM comments c JOIN report_issues USING (repo, number) WHERE c.kind = 'comment'
    """,
    "files": "SELECT len(list_filter($edges, lambda edge: edge <= changed_files)) AS label, part "
    "FROM report_pulls WHERE changed_files IS NOT NULL",
    "state": "SELECT coalesce(state, 'not known') AS label, part "
    "FROM revisions JOIN report_pulls USING (repo, number)",
    "signal": "SELECT unnest(list_distinct(signals)) AS label, part FROM report_pairs",
    "signals": "SELECT list_sort(list_distinct(signals)) AS label, part FROM report_pairs",
}
_COUNT = """
SELECT label, count(*) AS whole, count(*) FILTER (part) AS part
FROM ({}) GROUP BY label ORDER BY label
"""
_LENGTH_EDGES = [
    step * 10**power for power in range(1, 7) for step in (1, 2, 5) if step * 10**power <= 10**6
]
_FILE_EDGES = [1, 2, 3, 4, 5, 10, 20, 50, 100, 1000]
_MOST_BARS = 12
_MOST_LABELS = 20
_MOST_SETS = 12
_MOST_YEARS = 40
_ISSUES_COUNTED = ("issues", "kept issues")
_PULLS_COUNTED = ("pull requests", "in fix pairs")
_PAIRS_COUNTED = ("fix pairs", "kept pairs")


def measure(connection: duckdb.DuckDBPyConnection) -> list[Chart | UpsetChart]:
    """Return all distributions that the tables allow, in the order of the report."""
    for query in (_ISSUES, _PULLS, _PAIRS):
        connection.execute(query)
    charts = [
        Chart(
            "Programming languages",
            "The repository's main language.",
            *_ISSUES_COUNTED,
            *_frequent(connection, "language"),
        ),
        Chart(
            "Languages of the prose",
            "As the criterion language tells them; short and unsure texts have too little prose.",
            *_ISSUES_COUNTED,
            *_frequent(connection, "prose"),
        ),
        Chart(
            "Length of discussions",
            "Characters of first text and comments, on a logarithmic scale: each column begins "
            "at the number below it.",
            *_ISSUES_COUNTED,
            _binned(connection, "length", _LENGTH_EDGES),
            shape="columns",
        ),
        Chart(
            "Years of issues",
            "When an issue was opened.",
            *_ISSUES_COUNTED,
            _yearly(connection, "year"),
            shape="columns",
        ),
        Chart(
            "Years of pull requests",
            "When a pull request was opened.",
            *_PULLS_COUNTED,
            _yearly(connection, "pull_year"),
            shape="columns",
        ),
        Chart(
            "Labels",
            f"The {_MOST_LABELS} most frequent; an issue may have several.",
            *_ISSUES_COUNTED,
            *_frequent(connection, "label", _MOST_LABELS),
        ),
        Chart(
            "Who asks",
            "The author association of issues.",
            *_ISSUES_COUNTED,
            *_frequent(connection, "asker"),
        ),
        Chart(
            "Who replies",
            "The author association of comments on issues.",
            "comments",
            "on kept issues",
            *_frequent(connection, "replier"),
        ),
        Chart(
            "Files changed",
            "Files that a pull request changes: each column begins at the number below it.",
            *_PULLS_COUNTED,
            _binned(connection, "files", _FILE_EDGES),
            shape="columns",
        ),
        Chart(
            "States in git",
            "What a pull request's code is read between.",
            *_PULLS_COUNTED,
            *_frequent(connection, "state"),
        ),
        Chart(
            "Pairing signals",
            "What ties a pull request to an issue; a pair may have several.",
            *_PAIRS_COUNTED,
            *_frequent(connection, "signal"),
        ),
    ]
    overlaps = _overlaps(connection)
    return [chart for chart in charts if chart.bars] + ([overlaps] if overlaps.rows else [])


def _counted(
    connection: duckdb.DuckDBPyConnection, name: str, **values: object
) -> list[dict[str, Any]]:
    """Return label, whole and part of each kind, in the order of the labels."""
    return rows(connection, _COUNT.format(_SAID[name]), **values)


def _frequent(
    connection: duckdb.DuckDBPyConnection, name: str, most: int = _MOST_BARS
) -> tuple[tuple[Bar, ...], int]:
    """Return a bar for each of the most frequent kinds, and how many kinds are left out."""
    bars = [Bar(**row) for row in _counted(connection, name)]
    bars.sort(key=lambda bar: (-bar.whole, bar.label))
    return tuple(bars[:most]), max(0, len(bars) - most)


def _binned(
    connection: duckdb.DuckDBPyConnection, name: str, edges: Sequence[int]
) -> tuple[Bar, ...]:
    """Return a bar for each bin between the first and the last that are not empty."""
    counted = {row["label"]: row for row in _counted(connection, name, edges=list(edges))}
    return tuple(
        Bar(_bin(edges, at), *_numbers(counted.get(at)), tick=_tick(edges, at))
        for at in range(min(counted, default=0), max(counted, default=-1) + 1)
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


def _yearly(connection: duckdb.DuckDBPyConnection, name: str) -> tuple[Bar, ...]:
    """Return a bar a year, those without an entry as well, but only the last `_MOST_YEARS`."""
    counted = {row["label"]: row for row in _counted(connection, name)}
    last = max(counted, default=-1)
    first = max(min(counted, default=0), last - _MOST_YEARS + 1)
    return tuple(Bar(str(year), *_numbers(counted.get(year))) for year in range(first, last + 1))


def _numbers(row: dict[str, Any] | None) -> tuple[int, int]:
    return (row["whole"], row["part"]) if row else (0, 0)


def _overlaps(connection: duckdb.DuckDBPyConnection) -> UpsetChart:
    overlaps = [
        UpsetRow(tuple(row["label"] or ()), Bar("", *_numbers(row)))
        for row in _counted(connection, "signals")
    ]
    overlaps.sort(key=lambda overlap: (-overlap.bar.whole, overlap.members))
    return UpsetChart(
        "Signals together",
        "Fix pairs by the exact set of signals that they rest on.",
        *_PAIRS_COUNTED,
        members=tuple(sorted({name for overlap in overlaps for name in overlap.members})),
        rows=tuple(overlaps[:_MOST_SETS]),
        left_out=max(0, len(overlaps) - _MOST_SETS),
    )
