"""Where closings of issues are read from: hours of GH Archive, or mined repositories.

A unit is what is read at once and may be read on another machine: an hour, or a repository.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Literal

import duckdb
import pyarrow as pa

from goldpan.core.errors import UsageError, WorkspaceError
from goldpan.core.parquet import read_table
from goldpan.core.query import connect_alone, open_tables
from goldpan.core.resources import told_otherwise
from goldpan.core.sealed import DamagedError, verify_parquet
from goldpan.core.workspace import Workspace
from goldpan.miners.gharchive.store import ArchiveStore

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

_SETTINGS = "SET threads = 1"
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
       author_association, created_at, closed_at, $license AS license, 'mined/' || repo AS source
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
            paths = {repo: self.workspace.table(repo, "entries") for repo in self.repos}
        else:
            directory = ArchiveStore.of(self.workspace).root
            shards = [path for path in directory.glob("*.parquet") if _HOUR.fullmatch(path.stem)]
            paths = {path.stem: path for path in sorted(shards, key=hour_of)}
            if not paths:
                raise WorkspaceError(
                    f"{directory} holds no hours of GH Archive",
                    "Run goldpan mine gharchive, or build from mined repositories with "
                    "--source mined",
                )
        return [Unit(name, path, number) for number, (name, path) in enumerate(paths.items())]

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
            yield from self._mined(unit)
        else:
            yield from self._archived(unit)

    def _archived(self, unit: Unit) -> Iterator[pa.RecordBatch]:
        values = {
            "hour": unit.name,
            "path": str(unit.path),
            "repos": [repo.lower() for repo in self.repos],
        }
        try:
            with connect_alone() as connection:
                connection.execute(_SETTINGS)
                verify_parquet(unit.path)
                yield from _batches(connection, _EVENTS, values)
        except (duckdb.Error, DamagedError) as error:
            if told_otherwise(error):
                raise
            raise WorkspaceError(
                f"{unit.path} cannot be read ({str(error).splitlines()[0]})",
                "Delete it and run goldpan mine gharchive for its hour again",
            ) from None

    def _mined(self, unit: Unit) -> Iterator[pa.RecordBatch]:
        names = ("entries", "repositories")
        with open_tables(self.workspace, unit.name, names) as connection:
            licenses = connection.execute("SELECT license FROM repositories").fetchall()
            yield from _batches(
                connection, _ENTRIES, {"license": licenses[0][0] if licenses else None}
            )


def hour_of(path: Path) -> datetime:
    """Return the hour that a shard is named after."""
    match = _HOUR.fullmatch(path.stem)
    if match is None:
        raise UsageError(f"{path} is named after no hour", "Name it as 2022-01-01-3.parquet")
    return datetime.fromisoformat(match[1]).replace(hour=int(match[2]), tzinfo=UTC)


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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
