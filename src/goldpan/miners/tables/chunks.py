"""Parses a chunk of archived replies into part files, by range of entry numbers.

Worker processes load this module and what it needs, and nothing else. One merge reads the parts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from goldpan.core.resources import named, without_collection
from goldpan.core.storage.run_file import Record
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
    """Return a range's facets, with the place of each row as `_at`; empty without part files."""
    parts = {name: [facet.schema.empty_table()] for name, facet in FACETS.items()}
    for path in sorted((directory / f"{index:08}").glob("*")):
        with pa.OSFile(str(path), "rb") as source:
            while source.tell() < source.size():
                part = pa.ipc.open_stream(source).read_all()
                name = part.schema.metadata[_FACET].decode()
                parts[name].append(part.replace_schema_metadata())
    tables = {name: pa.concat_tables(parts.pop(name)) for name in FACETS}
    return {name: t.append_column("_at", pa.array(np.arange(len(t)))) for name, t in tables.items()}


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

    def __str__(self) -> str:
        return self.repo


def parse_chunk(chunk: Chunk) -> tuple[int, Counter[str]]:
    """Parse a chunk's records and write its part files.

    Returns how many records it held, and how often their references name other repositories.
    """
    rows = Rows(chunk.repo, chunk.hosts)
    with without_collection():
        for path, records in groupby(chunk.records, key=attrgetter("path")):
            with path.open("rb") as file:
                for record in records:
                    rows.begin(record.sequence)
                    _parse(rows, record, record.read_from(file), chunk.pulls)
        write_parts(chunk.directory, chunk.index, rows.tables())
        references = (*rows.facets["links"], *rows.facets["mentions"])
        return len(chunk.records), _names(references, chunk.repo)


def _names(references: Iterable[tuple[Any, ...]], own: str) -> Counter[str]:
    """Count the repositories at the ends of references, but the one whose they are."""
    ends = Counter(end for source, _, target, *_ in references for end in (source, target))
    return Counter({end: n for end, n in ends.items() if isinstance(end, str) and end != own})


def _parse(rows: Rows, record: Record, body: bytes, pulls: frozenset[int]) -> None:
    """Parse a record; a part that cannot be read is noted, and costs nothing else."""
    meta = record.meta
    try:
        rows.read(_parse_part, meta, parse_json(body), pulls)
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
