"""Parses a chunk of archived replies into part files, by range of entry numbers.

Worker processes load this module and what it needs, and nothing else. One merge reads the parts.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, Literal, Required, TypedDict

import msgspec
import numpy as np
import pyarrow as pa

from goldpan.core.resources import named, without_collection
from goldpan.core.storage.archive import Record
from goldpan.miners.backup_shapes import read_shape
from goldpan.miners.replies import MALFORMED, parse_json
from goldpan.miners.tables import parse_graphql, parse_rest
from goldpan.miners.tables.rows import FACETS, PART_OF_RECORD, Rows

RANGE = 4_096  # entry numbers merged at once; fixes the row groups, so never derive it

_FACET = b"facet"  # key of a facet's name in the metadata of a part's schema


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
        ranges = table[FACETS[name].unit].to_numpy() // RANGE
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


def parsed_ranges(directory: Path) -> set[int]:
    """Return the ranges that part files were written of."""
    return {int(path.name) for path in directory.iterdir() if path.is_dir()}


def read_range(directory: Path, index: int) -> dict[str, pa.Table]:
    """Return a range's facets, rows in the order of the chunks; empty ones without part files."""
    parts = {name: [facet.schema.empty_table()] for name, facet in FACETS.items()}
    for path in sorted((directory / f"{index:08}").glob("*")):
        with pa.OSFile(str(path), "rb") as source:
            while source.tell() < source.size():
                part = pa.ipc.open_stream(source).read_all()
                name = part.schema.metadata[_FACET].decode()
                parts[name].append(part.replace_schema_metadata())
    return {name: pa.concat_tables(parts.pop(name)).combine_chunks() for name in FACETS}


# Reads of a backup's entry only the fields that tables are made of.
#
# Nine bytes of ten are addresses and the like. msgspec skips fields that are not declared, which
# takes half as long as parsing all of them.

_NUMBER = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_INTEGER = _NUMBER | None
_TEXT = str | None
_NOBODY = ("", "ghost")  # logins of deleted accounts


def _object(*texts: str, **typed: Any) -> Any:
    """Return the type of an object of which these members are read, texts and typed ones."""
    members: Any = {**dict.fromkeys(texts, _TEXT), **typed}
    return TypedDict("_object", members, total=False)  # type: ignore[operator]


def _list(kind: Any) -> Any:
    return list[kind] | None


_PERSON = _object("login", "type", id=_INTEGER) | None
_ASSIGNEE = _object(login=Required[str], id=_INTEGER, type=Required[str])
_NAMED = _object("name") | None
_TITLED = _object("title") | None
_DATED = _object("date") | None
_REPOSITORY = _object("full_name") | None
_BRANCH = _object("ref", "sha", repo=_REPOSITORY) | None
_BLOCKING = _object(total_blocked_by=_INTEGER, total_blocking=_INTEGER)
_ENTRY = _object(
    *("title", "body", "state", "state_reason", "author_association", "created_at", "updated_at"),
    *("closed_at", "parent_issue_url", "merged_at", "merge_commit_sha"),
    number=Required[_NUMBER],
    user=_PERSON,
    locked=bool | None,
    labels=_list(_object(name=Required[str])),
    assignees=_list(_ASSIGNEE),
    milestone=_TITLED,
    type=_NAMED,
    sub_issues_summary=_object(total=_INTEGER) | None,
    issue_dependencies_summary=_BLOCKING | None,
    pinned_comment=_object(id=_INTEGER) | None,
    pull_request=_object("merged_at") | None,
    head=_BRANCH,
    base=_BRANCH,
    draft=bool | None,
    **dict.fromkeys(("comments", "review_comments", "commits"), _INTEGER),
    **dict.fromkeys(("changed_files", "additions", "deletions"), _INTEGER),
)
_MINIMIZED = _object("reason") | None
_REFERRING = _object(number=_INTEGER, repository=_REPOSITORY)
_EVENT = _object(
    *("author_association", "created_at", "updated_at", "submitted_at", "body", "state"),
    *("commit_id", "sha", "message"),
    event=Required[str],
    id=_INTEGER,
    label=_NAMED,
    milestone=_TITLED,
    rename=_object("from", "to") | None,
    source=_object(issue=_REFERRING | None) | None,
    minimized=_MINIMIZED,
    **dict.fromkeys(("actor", "user", "assignee", "assigner"), _PERSON),
    **dict.fromkeys(("author", "committer"), _DATED),
)
_REVIEW_COMMENT = _object(
    *("author_association", "created_at", "updated_at", "body", "path"),
    user=_PERSON,
    minimized=_MINIMIZED,
    **dict.fromkeys(("id", "pull_request_review_id", "in_reply_to_id"), _INTEGER),
)
_DOCUMENT = _object(
    type=Required[Literal["issue", "pull"]],
    issue=_ENTRY,
    pull=_ENTRY,
    events=_list(_EVENT),
    comments=_list(_REVIEW_COMMENT),
)
_DECODER = msgspec.json.Decoder(_DOCUMENT)


def read_fields(body: bytes) -> dict[str, Any] | None:
    """Return the fields of an entry of the one shape, each as parsing all of it gives it.

    None where anything is not as GitHub documents it: then all of it must be parsed, so that
    messages can quote what stands there.
    """
    try:
        document: dict[str, Any] = _DECODER.decode(body)
    except (ValueError, RecursionError):
        return None
    entry = document.get(document["type"])
    if entry is None or (document["type"] == "issue" and entry.get("pull_request") is not None):
        return None
    assignees = entry.get("assignees") or ()
    if any(assignee["login"] in _NOBODY for assignee in assignees):
        return None
    return document


PARSED = {
    *("entries", "more", "issues", "issue", "pulls", "pull", "comments", "review_comments"),
    *("pull_comments", "timeline", "files", "sub_issues", "blocked_by", "blocking", "backup"),
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
    """Parse a record; a part that cannot be read is noted, and costs nothing else."""
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
        case "issue":
            rows.attempt(number, "entry", parse_rest.parse_entry, data)
        case "pull" | "pulls" if meta.get("alone"):
            for item in data if meta["part"] == "pulls" else [data]:
                rows.attempt(item.get("number"), "entry", parse_rest.parse_whole_pull, item)
        case "pull":
            rows.attempt(number, "entry", parse_rest.parse_pull, data)
        case "timeline":
            parse_rest.parse_timeline(rows, number, data, is_pull=number in pulls)
        case "files" | "sub_issues" | "blocked_by" | "blocking" as part:
            parse_rest.parse_own_list(rows, number, part, data)
        case "issues" | "pulls" | "comments" | "review_comments" | "pull_comments" as part:
            parse_rest.parse_list(rows, part, data)
        case "backup":
            rows.attempt(number, "entry", parse_rest.parse_backup, read_shape(data) or data)
