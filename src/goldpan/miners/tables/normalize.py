"""Turns a repository's raw replies into its tables: `goldpan normalize`.

Tables are a function of the archive alone. Records are parsed in parallel into parts on disk,
one Arrow file a facet and chunk, and the parts are merged by ranges of entry numbers: memory
follows the chunk and the range, not the repository.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from goldpan.errors import WorkspaceError
from goldpan.miners.archive import Archive, Record
from goldpan.miners.facts import read_facts
from goldpan.miners.replies import parse_json
from goldpan.miners.tables import parse_graphql, parse_rest
from goldpan.miners.tables.live import find_live
from goldpan.miners.tables.merge import merge
from goldpan.miners.tables.parts import write_parts
from goldpan.miners.tables.rows import Rows
from goldpan.progress import Reporter
from goldpan.records import MINED
from goldpan.workspace import Workspace, publish

MALFORMED = (KeyError, TypeError, ValueError, AttributeError, IndexError)
"""What parsing raises where a reply has another shape than GitHub documents."""

_CHUNK_BYTES = 24 << 20
_PARSED = {
    "entries",
    "more",
    "issues",
    "pulls",
    "pull",
    "comments",
    "review_comments",
    "pull_comments",
    "timeline",
    "files",
    "backup",
}
_KEPT_META = ("part", "nodes", "number", "kind")


@dataclass(frozen=True, slots=True)
class _Chunk:
    index: int
    repo: str
    hosts: tuple[str, ...]
    directory: Path
    records: tuple[Record, ...]
    pulls: frozenset[int]


def normalize(
    workspace: Workspace, repo: str, reporter: Reporter, *, workers: int = 0
) -> dict[str, int]:
    """Make all mined tables of a repository and return their row counts.

    Raises `WorkspaceError` if nothing was mined yet or the archive is damaged.
    """
    archive = Archive(workspace.raw(repo))
    facts = read_facts(archive.records)
    if facts is None:
        raise WorkspaceError(
            f"{workspace.root} holds no raw replies of {repo}", f"Run goldpan mine --repo {repo}"
        )
    live = find_live(archive.records)
    with workspace.scratch() as scratch:
        chunks = list(_chunks(archive, facts.repo, facts.hosts, scratch, live.skipped))
        _parse_all(chunks, workers or os.cpu_count() or 1, reporter)
        tables = merge(scratch, facts, live, reporter)
        publish({path: workspace.table(repo, path.stem) for path in tables.values()})
    return {
        table.name: pq.read_metadata(workspace.table(repo, table.name)).num_rows for table in MINED
    }


def _chunks(
    archive: Archive, repo: str, hosts: tuple[str, ...], scratch: Path, skipped: set[int]
) -> Iterator[_Chunk]:
    pulls = frozenset(
        item[0]
        for record in archive.records
        if record.meta["part"] == "issues"
        for item in record.meta["items"]
        if item[2]
    )
    batch: list[Record] = []
    size = index = 0
    for record in archive.records:
        if record.meta["part"] not in _PARSED or record.sequence in skipped:
            continue
        meta = {key: record.meta[key] for key in _KEPT_META if key in record.meta}
        batch.append(replace(record, meta=meta))
        size += record.size
        if size >= _CHUNK_BYTES:
            yield _Chunk(index, repo, hosts, scratch, tuple(batch), pulls)
            batch, size, index = [], 0, index + 1
    if batch:
        yield _Chunk(index, repo, hosts, scratch, tuple(batch), pulls)


def _parse_all(chunks: list[_Chunk], workers: int, reporter: Reporter) -> None:
    with reporter.task("Parsing raw replies", sum(len(c.records) for c in chunks)) as task:
        if len(chunks) < 2 or workers < 2:
            for chunk in chunks:
                task.advance(_parse_chunk(chunk))
            return
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(min(workers, len(chunks)), mp_context=context) as pool:
            try:
                for done in as_completed([pool.submit(_parse_chunk, chunk) for chunk in chunks]):
                    task.advance(done.result())
            except BrokenProcessPool:
                raise WorkspaceError(
                    "A process that parses replies was ended from outside, perhaps for memory",
                    "Set workers = 1 in goldpan.toml and run goldpan normalize; in a script of "
                    "your own, call Goldpan below if __name__ == '__main__'",
                ) from None


def _parse_chunk(chunk: _Chunk) -> int:
    """Parse a chunk's records and write its part files; returns how many records it held."""
    try:
        tables = _read(chunk, chunk.records)
    except MALFORMED:
        for record in chunk.records:  # find out which one it is
            try:
                _read(chunk, (record,))
            except MALFORMED as error:
                raise WorkspaceError(
                    f"Record {record.name} of {record.path.parent} is not what GitHub documents "
                    f"({type(error).__name__}: {error})",
                    "Please report it with that record; deleting the file and mining again "
                    "skips it",
                ) from error
        raise
    write_parts(chunk.directory, chunk.index, tables)
    return len(chunk.records)


def _read(chunk: _Chunk, records: tuple[Record, ...]) -> dict[str, pa.Table]:
    rows = Rows(chunk.repo, chunk.hosts)
    for record in records:
        rows.begin(record.sequence)
        _parse(rows, record, chunk.pulls)
    return rows.tables()


def _parse(rows: Rows, record: Record, pulls: frozenset[int]) -> None:
    data: Any = parse_json(record.read())
    meta = record.meta
    match meta["part"]:
        case "entries":
            parse_graphql.parse_entries(rows, data, meta["nodes"])
        case "more":
            parse_graphql.parse_more(rows, data, meta["nodes"])
        case "issues":
            parse_rest.parse_issues(rows, data)
        case "pulls":
            for item in data:
                parse_rest.parse_pull(rows, item)
        case "pull":
            parse_rest.parse_pull(rows, data)
        case "comments":
            parse_rest.parse_comments(rows, data)
        case "review_comments" | "pull_comments":
            parse_rest.parse_review_comments(rows, data)
        case "timeline":
            number = meta["number"]
            parse_rest.parse_timeline(rows, number, data, is_pull=number in pulls)
        case "files":
            parse_rest.parse_files(rows, meta["number"], data)
        case "backup":
            parse_rest.parse_backup(rows, data)
