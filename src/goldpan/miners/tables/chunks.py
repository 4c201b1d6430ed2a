"""Parses a chunk of archived replies into part files, by range of entry numbers.

Worker processes load this module and what it needs, and nothing else. One merge reads the parts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, Literal, Required, TypedDict, cast

import msgspec
import numpy as np
import pyarrow as pa

from goldpan.core.archive import Record
from goldpan.core.resources import named, without_collection
from goldpan.miners.backup_entries import read_shape
from goldpan.miners.replies import parse_json
from goldpan.miners.tables import parse_graphql, parse_rest
from goldpan.miners.tables.rows import FACETS, MALFORMED, PART_OF_RECORD, UNIT, Rows

RANGE = 4_096  # entry numbers merged at once; fixes the row groups, so never derive it

_FACET = b"facet"  # what a part's schema calls its facet


def range_of(number: int) -> int:
    """Return the range that an entry lies in."""
    return number // RANGE


def write_parts(directory: Path, chunk: int, tables: dict[str, pa.Table]) -> None:
    """Write one chunk's facets, sorted by entry, as a file a range in that range's folder.

    Facets follow one another, each under its name: files of their own take thrice the time.
    """
    of_range: dict[int, list[pa.Table]] = defaultdict(list)
    for name, table in tables.items():
        table = table.replace_schema_metadata({_FACET: name})
        ranges = table[UNIT.get(name, "number")].to_numpy() // RANGE
        starts = np.flatnonzero(np.r_[True, ranges[1:] != ranges[:-1]])
        for start, stop in zip(starts, [*starts[1:], len(ranges)], strict=True):
            of_range[int(ranges[start])].append(table.slice(int(start), int(stop - start)))
    for index, parts in of_range.items():
        folder = directory / f"{index:08}"
        folder.mkdir(exist_ok=True)
        path = folder / f"{chunk:06}.arrow"
        with named(path), pa.OSFile(str(path), "wb") as sink:
            for part in parts:
                with pa.ipc.new_stream(sink, part.schema) as out:
                    out.write_table(part)


def read_ranges(directory: Path) -> Iterator[tuple[int, dict[str, pa.Table]]]:
    """Yield each range's index and facets, in the order of entry numbers and of the chunks."""
    for folder in sorted(path for path in directory.iterdir() if path.is_dir()):
        parts = {name: [schema.empty_table()] for name, schema in FACETS.items()}
        for path in sorted(folder.iterdir()):
            with pa.OSFile(str(path), "rb") as source:
                while source.tell() < source.size():
                    part = pa.ipc.open_stream(source).read_all()
                    name = part.schema.metadata[_FACET].decode()
                    parts[name].append(part.replace_schema_metadata())
        yield (
            int(folder.name),
            {name: pa.concat_tables(parts.pop(name)).combine_chunks() for name in FACETS},
        )


def count_ranges(directory: Path) -> int:
    """Return how many ranges there are to read."""
    return sum(path.is_dir() for path in directory.iterdir())


# Reads of a backup's entry only the fields that tables are made of.
#
# Nine bytes of ten are addresses and the like. msgspec passes over what is not asked for, which
# takes half as long as parsing all of it.

_Number = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_Integer = _Number | None
_Text = str | None
_NOBODY = ("", "ghost")  # who deleted their account


class _Person(TypedDict, total=False):
    login: _Text
    id: _Integer
    type: _Text


class _Assignee(TypedDict, total=False):
    login: Required[str]
    id: _Integer
    type: Required[str]


class _Label(TypedDict):
    name: str


class _Named(TypedDict, total=False):
    name: _Text


class _Titled(TypedDict, total=False):
    title: _Text


class _Dated(TypedDict, total=False):
    date: _Text


class _Identified(TypedDict, total=False):
    id: _Integer


class _Repository(TypedDict, total=False):
    full_name: _Text


class _Branch(TypedDict, total=False):
    ref: _Text
    sha: _Text
    repo: _Repository | None


class _Parts(TypedDict, total=False):
    total: _Integer


class _Blocking(TypedDict, total=False):
    total_blocked_by: _Integer
    total_blocking: _Integer


class _EntryFields(TypedDict, total=False):
    number: Required[_Number]
    title: _Text
    body: _Text
    state: _Text
    state_reason: _Text
    user: _Person | None
    author_association: _Text
    created_at: _Text
    updated_at: _Text
    closed_at: _Text
    locked: bool | None
    comments: _Integer
    labels: list[_Label] | None
    assignees: list[_Assignee] | None
    milestone: _Titled | None
    type: _Named | None
    parent_issue_url: _Text
    sub_issues_summary: _Parts | None
    issue_dependencies_summary: _Blocking | None
    pinned_comment: _Identified | None
    head: _Branch | None
    base: _Branch | None
    merged_at: _Text
    draft: bool | None
    merge_commit_sha: _Text
    changed_files: _Integer
    additions: _Integer
    deletions: _Integer
    commits: _Integer
    review_comments: _Integer


_Rename = TypedDict("_Rename", {"from": _Text, "to": _Text}, total=False)


class _Referring(TypedDict, total=False):
    number: _Integer
    repository: _Repository | None


class _Source(TypedDict, total=False):
    issue: _Referring | None


class _Event(TypedDict, total=False):
    event: Required[str]
    id: _Integer
    actor: _Person | None
    user: _Person | None
    author_association: _Text
    created_at: _Text
    updated_at: _Text
    submitted_at: _Text
    body: _Text
    state: _Text
    label: _Named | None
    milestone: _Titled | None
    assignee: _Person | None
    assigner: _Person | None
    rename: _Rename | None
    commit_id: _Text
    sha: _Text
    message: _Text
    author: _Dated | None
    committer: _Dated | None
    source: _Source | None


class _ReviewComment(TypedDict, total=False):
    id: _Integer
    user: _Person | None
    author_association: _Text
    created_at: _Text
    updated_at: _Text
    body: _Text
    path: _Text
    pull_request_review_id: _Integer
    in_reply_to_id: _Integer


class _Document(TypedDict, total=False):
    type: Required[Literal["issue", "pull"]]
    issue: _EntryFields
    pull: _EntryFields
    events: list[_Event] | None
    comments: list[_ReviewComment] | None


_DECODER = msgspec.json.Decoder(_Document)


def read_fields(body: bytes) -> dict[str, Any] | None:
    """Return the fields of an entry of the one shape, each as parsing all of it gives it.

    None where anything is not as GitHub documents it: then all of it must be parsed, so that
    messages can quote what stands there.
    """
    try:
        document = _DECODER.decode(body)
    except (ValueError, RecursionError):
        return None
    entry = document.get(document["type"])
    if entry is None:
        return None
    assignees = entry.get("assignees") or ()
    if any(assignee["login"] in _NOBODY for assignee in assignees):
        return None
    return cast(dict[str, Any], document)


PARSED = {
    "entries",
    "more",
    "issues",
    "issue",
    "pulls",
    "pull",
    "comments",
    "review_comments",
    "pull_comments",
    "timeline",
    "files",
    "sub_issues",
    "blocked_by",
    "blocking",
    "backup",
}
"""The parts of records that hold rows."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Records to be parsed together, and where their part files belong."""

    index: int
    repo: str
    hosts: tuple[str, ...]
    directory: Path
    records: tuple[Record, ...]
    pulls: frozenset[int]


def parse_chunk(chunk: Chunk) -> int:
    """Parse a chunk's records and write its part files; returns how many records it held."""
    rows = Rows(chunk.repo, chunk.hosts)
    with without_collection():
        for path, records in groupby(chunk.records, key=attrgetter("path")):
            with path.open("rb") as file:
                for record in records:
                    rows.begin(record.sequence)
                    _parse(rows, record, record.read_from(file), chunk.pulls)
        write_parts(chunk.directory, chunk.index, rows.tables())
    return len(chunk.records)


def _parse(rows: Rows, record: Record, body: bytes, pulls: frozenset[int]) -> None:
    """Parse a record; what cannot be read of it is noted, and costs nothing else."""
    meta = record.meta
    try:
        fields = read_fields(body) if meta["part"] == "backup" else None
        rows.read(_parse_part, meta, parse_json(body) if fields is None else fields, pulls)
    except MALFORMED as error:
        reason = f"{record.name} cannot be read ({type(error).__name__}: {error})"
        numbers = [node[1] for node in meta.get("nodes") or ()] or [meta.get("number")]
        for number in numbers:
            rows.lose(number, PART_OF_RECORD.get(meta["part"], meta["part"]), reason)


def _parse_part(rows: Rows, meta: dict[str, Any], data: Any, pulls: frozenset[int]) -> None:
    number: Any = meta.get("number")
    match meta["part"]:
        case "entries":
            parse_graphql.parse_entries(rows, data, meta["nodes"])
        case "more":
            parse_graphql.parse_more(rows, data, meta["nodes"])
        case "issues":
            parse_rest.parse_issues(rows, data)
        case "issue":
            rows.attempt(number, "entry", parse_rest.parse_entry, data)
        case "pulls":
            parse_rest.parse_pulls(rows, data)
        case "pull":
            rows.attempt(number, "entry", parse_rest.parse_pull, data)
        case "comments":
            parse_rest.parse_comments(rows, data)
        case "review_comments" | "pull_comments":
            parse_rest.parse_review_comments(rows, data)
        case "timeline":
            parse_rest.parse_timeline(rows, number, data, is_pull=number in pulls)
        case "files":
            parse_rest.parse_files(rows, number, data)
        case "sub_issues" | "blocked_by" | "blocking" as part:
            parse_rest.parse_relations(rows, number, data, part)
        case "backup":
            rows.attempt(number, "entry", parse_rest.parse_backup, read_shape(data) or data)
