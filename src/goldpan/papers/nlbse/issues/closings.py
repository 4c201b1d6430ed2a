"""Where closings of issues are read from: hours of GH Archive, or mined repositories.

A unit is what is read at once and may be read on another machine: an hour, or a repository.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Literal

import duckdb
import pyarrow as pa

from goldpan.plugins.core import (
    DamagedError,
    Workspace,
    WorkspaceError,
    connect_alone,
    open_tables,
    read_table,
    told_otherwise,
    verify_parquet,
)
from goldpan.plugins.miners import ArchiveStore

Origin = Literal["gharchive", "mined"]

_TEXT = pa.string()
_TIME = pa.timestamp("us", tz="UTC")
CLOSINGS = pa.schema(
    [
        ("place", pa.int64()),  # tells the rows of a unit apart, and orders them
        ("event", _TEXT),  # null where a repository was mined
        ("issue_id", pa.int64()),
        ("repo", _TEXT),
        ("number", pa.int64()),
        ("title", _TEXT),
        ("body", _TEXT),
        ("labels", pa.list_(_TEXT)),
        ("author_association", _TEXT),
        ("created_at", _TIME),
        ("closed_at", _TIME),
        ("license", _TEXT),
        ("source", _TEXT),
    ]
)
_BATCH = 1_000
_HOUR = re.compile(r"(\d{4}-\d{2}-\d{2})-(\d{1,2})")

_EVENTS = """
SELECT line AS place, coalesce(event_id, $hour || ':' || line) AS event, issue_id, repo, number,
       title, body, labels, author_association, created_at, coalesce(closed_at, "at") AS closed_at,
       NULL AS license, 'gharchive/' || $hour || '.json.gz:' || line AS source
FROM read_parquet($path)
WHERE type = 'IssuesEvent' AND action = 'closed' AND kind = 'issue'
  AND (len($repos) = 0 OR lower(repo) IN (SELECT unnest($repos)))
"""
_ENTRIES = """
SELECT number AS place, NULL AS event, NULL AS issue_id, repo, number, title, body, labels,
       author_association, created_at, closed_at, (SELECT any_value(license) FROM repositories)
       AS license, 'mined/' || repo AS source
FROM entries WHERE kind = 'issue' AND state = 'closed'
"""


@dataclass(frozen=True, slots=True)
class Unit:
    """An hour's shard, or a repository's tables."""

    name: str
    path: Path
    number: int
    """Its place among the units."""

    def __str__(self) -> str:
        return self.name

    @property
    def hour(self) -> datetime:
        """The hour that a shard is named after."""
        day, _, hour = self.name.rpartition("-")
        return datetime.fromisoformat(day).replace(hour=int(hour), tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class EventSource:
    """Where to look, and for which repositories; none are all of an archive."""

    workspace: Workspace
    origin: Origin
    repos: tuple[str, ...]

    def units(self) -> list[Unit]:
        """Return what there is to read, in order of time or name.

        Raises `WorkspaceError` where the workspace has no hours.
        """
        if self.origin == "mined":
            return [
                Unit(repo, self.workspace.table(repo, "entries"), number)
                for number, repo in enumerate(self.repos)
            ]
        directory = ArchiveStore.of(self.workspace).root
        shards = [
            Unit(path.stem, path, 0)
            for path in directory.glob("*.parquet")
            if _HOUR.fullmatch(path.stem)
        ]
        if not shards:
            raise WorkspaceError(
                f"{directory} holds no hours of GH Archive",
                "Run goldpan mine gharchive, or build from mined repositories with --source mined",
            )
        shards.sort(key=lambda unit: unit.hour)
        return [replace(unit, number=number) for number, unit in enumerate(shards)]

    def gaps(self) -> dict[str, int]:
        """Return how many hours of the archive are not whole, by their state; sorted."""
        path = ArchiveStore.of(self.workspace).hours
        if self.origin == "mined" or not path.exists():
            return {}
        states = Counter(read_table(path, columns=["state"])["state"].to_pylist())
        del states["whole"]
        return dict(sorted(states.items()))

    def read(self, unit: Unit) -> Iterator[pa.RecordBatch]:
        """Yield the closings of a unit as `CLOSINGS`, in order of place, a batch in memory."""
        if self.origin == "mined":
            with open_tables(self.workspace, unit.name, ("entries", "repositories")) as connection:
                yield from _batches(connection, _ENTRIES, {})
        else:
            yield from self._archived(unit)

    def _archived(self, unit: Unit) -> Iterator[pa.RecordBatch]:
        repos = [repo.lower() for repo in self.repos]
        values = {"hour": unit.name, "path": str(unit.path), "repos": repos}
        try:
            with connect_alone() as connection:
                connection.execute("SET threads = 1")
                verify_parquet(unit.path)
                yield from _batches(connection, _EVENTS, values)
        except (duckdb.Error, DamagedError) as error:
            if told_otherwise(error):
                raise
            raise WorkspaceError(
                f"{unit.path} cannot be read ({str(error).splitlines()[0]})",
                "Delete it and run goldpan mine gharchive for its hour again",
            ) from None


def _batches(
    connection: duckdb.DuckDBPyConnection, query: str, values: Mapping[str, object]
) -> Iterator[pa.RecordBatch]:
    last = -1
    for batch in connection.sql(query, params=values).to_arrow_reader(_BATCH):
        numbers = [last, *batch["place"].to_pylist()]
        if any(first >= other for first, other in pairwise(numbers)):
            raise WorkspaceError(
                f"The rows after {max(last, 0)} of a table are not in order", "Rebuild it"
            )
        last = numbers[-1]
        rows = pa.Table.from_batches([batch]).select(CLOSINGS.names).cast(CLOSINGS)
        yield from rows.combine_chunks().to_batches()
