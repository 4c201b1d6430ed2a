"""Deals out the issues and discussions of many repositories in portions that one process reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import pyarrow as pa

from goldpan.core.parquet import open_file
from goldpan.core.query import open_tables
from goldpan.core.workspace import Workspace

_BATCH = 4_096
_ENTRIES = 50_000
"""Entries of a portion, as far as one group of rows allows."""
_TEXTS = """
SELECT repo, number, created_at, coalesce(title, '') || chr(10) || coalesce(body, '') AS text
FROM entries WHERE kind IN ('issue', 'discussion') AND number >= $low AND number < $high
"""
_FIRST, _LAST = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True)
class Range:
    """The entries of a repository from one number on, up to another that is not among them."""

    repo: str
    low: int = _FIRST
    high: int = _LAST


@dataclass(frozen=True, slots=True)
class IssueTexts:
    """Reads the issues of some ranges."""

    workspace: Workspace
    ranges: tuple[Range, ...]

    def __call__(self) -> Iterator[pa.RecordBatch]:
        """Yield `repo`, `number`, `created_at` and `text`."""
        for part in self.ranges:
            with open_tables(self.workspace, part.repo, ["entries"]) as connection:
                values = {"low": part.low, "high": part.high}
                yield from connection.sql(_TEXTS, params=values).to_arrow_reader(_BATCH)

    def __str__(self) -> str:
        first, last = self.ranges[0].repo, self.ranges[-1].repo
        return f"issues of {first}" + (f" to {last}" if last != first else "")


def deal_out(workspace: Workspace, repos: Sequence[str]) -> list[IssueTexts]:
    """Return portions of about equal size: small repositories together, large ones in parts."""
    portions: list[IssueTexts] = []
    ranges: list[Range] = []
    size = 0
    for repo in repos:
        entries, cuts = _cuts(workspace, repo)
        if ranges and size + entries > _ENTRIES:
            portions.append(IssueTexts(workspace, tuple(ranges)))
            ranges, size = [], 0
        bounds = [_FIRST, *cuts, _LAST]
        parts = [Range(repo, *pair) for pair in pairwise(bounds)]
        portions += [IssueTexts(workspace, (part,)) for part in parts[:-1]]
        ranges.append(parts[-1])
        size += entries // len(parts)
    return [*portions, IssueTexts(workspace, tuple(ranges))] if ranges else portions


def _cuts(workspace: Workspace, repo: str) -> tuple[int, list[int]]:
    """Return how many entries a repository has, and the numbers at which its parts begin."""
    with open_file(workspace.table(repo, "entries")) as file:
        metadata = file.metadata
        column = file.schema_arrow.names.index("number")
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        statistics = [group.column(column).statistics for group in groups]
    lowest = {values.min for values in statistics if values is not None and values.has_min_max}
    return metadata.num_rows, sorted(lowest)[1:]
