"""Parses a chunk of archived replies into part files.

Worker processes load this module and what it needs, and nothing else.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from goldpan.core.archive import Record
from goldpan.core.memory import without_collection
from goldpan.miners.backup_shapes import read_shape
from goldpan.miners.replies import parse_json
from goldpan.miners.tables import parse_graphql, parse_rest
from goldpan.miners.tables.backup_fields import read_fields
from goldpan.miners.tables.parts import write_parts
from goldpan.miners.tables.rows import MALFORMED, PART_OF_RECORD, Rows

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


class _NoPandas(MetaPathFinder):
    def find_spec(self, name: str, path: object, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name=name)


def do_without_pandas() -> None:
    """Spare a process 50 MB and 0.3 s: pyarrow asks pandas about every list that it is given."""
    if not any(isinstance(finder, _NoPandas) for finder in sys.meta_path):
        sys.meta_path.insert(0, _NoPandas())


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
