"""Closings of issues: where they are read from, and which of them may become rows.

A unit is what is read at once and may be read on another machine: an hour of GH Archive, or a
mined repository. Candidates are closings that bear one class, a body, and the wanted language.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from goldpan.papers.nlbse.issues.profile import IssueTypeProfile
from goldpan.plugins import data

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
class SourceUnit:
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


def present_source(workspace: data.WorkspaceLayout) -> Literal["gharchive", "mined"]:
    """Return what a workspace holds: hours of GH Archive, else mined repositories."""
    has_hours = any(data.ArchiveStore.of(workspace).root.glob("*.parquet"))
    has_tables = bool(workspace.repositories("tables"))
    return "mined" if has_tables and not has_hours else "gharchive"


@dataclass(frozen=True, slots=True)
class EventSource:
    """Where to look, and for which repositories; none are all of an archive."""

    workspace: data.WorkspaceLayout
    origin: Origin
    repos: tuple[str, ...]

    @property
    def noun(self) -> str:
        """What is read."""
        return "repositories" if self.origin == "mined" else "hours"

    def units(self) -> list[SourceUnit]:
        """Return what there is to read, in order of time or name.

        Raises `WorkspaceError` where the workspace has no hours.
        """
        if self.origin == "mined":
            return [
                SourceUnit(repo, self.workspace.table(repo, "entries"), number)
                for number, repo in enumerate(self.repos)
            ]
        directory = data.ArchiveStore.of(self.workspace).root
        shards = [
            SourceUnit(path.stem, path, 0)
            for path in directory.glob("*.parquet")
            if _HOUR.fullmatch(path.stem)
        ]
        if not shards:
            raise data.WorkspaceError(
                f"{directory} holds no hours of GH Archive",
                "Run goldpan mine gharchive, or build from mined repositories with --source mined",
            )
        shards.sort(key=lambda unit: unit.hour)
        return [replace(unit, number=number) for number, unit in enumerate(shards)]

    def gaps(self) -> dict[str, int]:
        """Return how many hours of the archive are not whole, by their state; sorted."""
        path = data.ArchiveStore.of(self.workspace).hours
        if self.origin == "mined" or not path.exists():
            return {}
        states = Counter(data.read_table(path, columns=["state"])["state"].to_pylist())
        del states["whole"]
        return dict(sorted(states.items()))

    def read(self, unit: SourceUnit) -> Iterator[pa.RecordBatch]:
        """Yield the closings of a unit as `CLOSINGS`, in order of place, a batch in memory."""
        if self.origin == "mined":
            with data.open_tables(
                self.workspace, unit.name, ("entries", "repositories")
            ) as connection:
                yield from _batches(connection, _ENTRIES, {})
        else:
            yield from self._archived(unit)

    def _archived(self, unit: SourceUnit) -> Iterator[pa.RecordBatch]:
        repos = [repo.lower() for repo in self.repos]
        values = {"hour": unit.name, "path": str(unit.path), "repos": repos}
        try:
            with data.connect_alone() as connection:
                connection.execute("SET threads = 1")
                data.verify_parquet(unit.path)
                yield from _batches(connection, _EVENTS, values)
        except (duckdb.Error, data.DamagedError) as error:
            if data.told_otherwise(error):
                raise
            raise data.WorkspaceError(
                f"{unit.path} cannot be read ({str(error).splitlines()[0]})",
                "Delete it and run goldpan mine gharchive for its hour again",
            ) from None


def _batches(
    connection: duckdb.DuckDBPyConnection, query: str, values: Mapping[str, object]
) -> Iterator[pa.RecordBatch]:
    for batch in connection.sql(query, params=values).to_arrow_reader(_BATCH):
        rows = pa.Table.from_batches([batch]).select(CLOSINGS.names).cast(CLOSINGS)
        yield from rows.combine_chunks().to_batches()


CANDIDATES = pa.schema(
    [
        ("unit", pa.int32()),  # its number
        *CLOSINGS,
        ("label", _TEXT),  # the class
        ("redacted", pa.list_(_TEXT)),  # the kind of each thing that was made unreadable
        ("id", _TEXT),
    ]
)

EXPLAINED = {
    "incomplete": "the event names no repository, number or title",
    "no-body": "the issue has no body",
    "no-class": "no label means one of the classes",
    "several-classes": "labels mean more than one class",
    "other-language": "the text is in another language",
    "mixed-languages": "the text is in several languages",
}
"""Why a closing of an issue is no candidate, in the order in which it is asked."""


@dataclass(frozen=True, slots=True)
class Search:
    """A search: source, profile, and the directory for what is found."""

    source: EventSource
    profile: IssueTypeProfile
    directory: Path

    def candidates(self, unit: SourceUnit) -> Path:
        """Return the file of a unit's candidates."""
        return self.directory / f"{unit.name.replace('/', '+')}.rows.parquet"


@dataclass(frozen=True, slots=True)
class SourceUnitResult:
    """The result of reading a unit."""

    unit: SourceUnit
    sha256: str
    """The digest of the file that was read."""
    closings: int
    dropped: Mapping[str, int]
    """Closings that are no candidates, by reason."""


def find_candidates(search: Search, unit: SourceUnit) -> SourceUnitResult:
    """Write the candidates of a unit; the same each time, by a rename."""
    dropped: Counter[str] = Counter()
    closings = 0
    with (
        data.replacing_file(search.candidates(unit)) as path,
        data.writer(path, CANDIDATES) as target,
    ):
        for batch in search.source.read(unit):
            closings += len(batch)
            rows = _select(batch, search.profile, dropped)
            if len(rows):
                data.write(target, _published(rows, search.profile, unit))
    return SourceUnitResult(unit, data.file_digest(unit.path), closings, dict(dropped))


def _select(batch: pa.RecordBatch, profile: IssueTypeProfile, dropped: Counter[str]) -> pa.Table:
    """Return the rows of a batch that pass, with their class and text; count the others."""
    rows = pa.Table.from_batches([batch])
    # An empty name stands for a label that means another thing.
    classes = [
        {name for label in labels or () if label and (name := profile.class_of(label)) is not None}
        for labels in rows["labels"].to_pylist()
    ]
    names = [max(of_row, default="") for of_row in classes]
    rows = rows.append_column("label", pa.array(names, _TEXT))
    parts = ("repo", "number", "title", "body")
    present = zip(*(pc.is_valid(rows[name]).to_pylist() for name in parts), strict=True)
    reasons = [_unfit(*found) for found in zip(present, classes, strict=True)]
    rows = _keep(rows, reasons, dropped)
    for name in ("title", "body"):
        rows = _replaced(rows, name, pc.replace_substring(rows[name], "\0", ""))
    rows = rows.append_column("text", given_text(rows))
    return _keep(rows, _foreign(rows, profile), dropped) if profile.language else rows


def _keep(rows: pa.Table, reasons: list[str | None], dropped: Counter[str]) -> pa.Table:
    """Return the rows without a reason against them, and count the reasons."""
    dropped.update(filter(None, reasons))
    return rows.filter(pa.array([reason is None for reason in reasons], pa.bool_()))


def _unfit(present: Sequence[bool], classes: set[str]) -> str | None:
    """Return why a closing is no candidate, whatever its text says."""
    if not all(present):
        return "no-body" if all(present[:-1]) else "incomplete"
    if not any(classes):
        return "no-class"
    return "several-classes" if len(classes) > 1 else None


def _replaced(rows: pa.Table, name: str, column: pa.Array | pa.ChunkedArray) -> pa.Table:
    return rows.set_column(rows.column_names.index(name), name, column)


def given_text(rows: pa.Table | pa.RecordBatch) -> pa.Array:
    """Return what a model is given: title, blank line, body."""
    both = pc.binary_join_element_wise(rows["title"], rows["body"], "\n\n")
    return pc.if_else(pc.equal(rows["body"], ""), rows["title"], both)


def _foreign(rows: pa.Table, profile: IssueTypeProfile) -> list[str | None]:
    """Return for each row why its language is not the wanted one, or None."""
    expected = profile.language
    if profile.detector == "text":
        joined = pc.binary_join_element_wise(rows["title"], rows["body"], " ").to_pylist()
        return [
            None if language == expected else "other-language"
            for language in data.model_languages(joined)
        ]
    reasons: list[str | None] = []
    for language in data.detect_languages(rows["text"].to_pylist()):
        if language.language is not None:
            reasons.append(None if language.language == expected else "other-language")
        else:
            reasons.append("mixed-languages" if language.doubt == "mixed" else None)
    return reasons


def _published(rows: pa.Table, profile: IssueTypeProfile, unit: SourceUnit) -> pa.Table:
    """Return rows as `CANDIDATES`, with their names, and without what is private if so wanted."""
    kinds: list[list[str]] = [[] for _ in range(len(rows))]
    if profile.redact:
        for name in ("title", "body"):
            rows = _replaced(rows, name, _redacted(rows[name], kinds))
    rows = rows.append_column("unit", pa.repeat(pa.scalar(unit.number, pa.int32()), len(rows)))
    rows = rows.append_column("redacted", pa.array(kinds, pa.list_(_TEXT)))
    issue = pc.binary_join_element_wise(rows["repo"], rows["number"].cast(_TEXT), "#")
    event = pc.binary_join_element_wise(issue, rows["event"], "@")
    names = pc.binary_join_element_wise(profile.task, pc.coalesce(event, issue), ":")
    return rows.append_column("id", names).select(CANDIDATES.names).cast(CANDIDATES)


def _redacted(texts: pa.ChunkedArray, kinds: list[list[str]]) -> pa.Array:
    cleaned = texts.to_pylist()
    marks = data.may_be_private(texts).to_pylist()
    for row, marked in enumerate(marks):
        if marked:
            redacted = data.redact(cleaned[row])
            cleaned[row] = redacted.text
            for kind, count in redacted.counts.items():
                kinds[row] += [kind] * count
    return pa.array(cleaned, _TEXT)
