"""Turns the raw replies of repositories into tables: `goldpan normalize`.

Tables are a function of the archive alone. Records are parsed in parallel into parts on disk,
one Arrow file a facet and chunk, and the parts are merged by ranges of entry numbers: memory
follows the chunk and the range, not the repository.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pyarrow as pa

from goldpan.core.errors import WorkspaceError
from goldpan.core.locks import lock_repository
from goldpan.core.parallel.engine import open_engine
from goldpan.core.resources import frugal
from goldpan.core.result import Result
from goldpan.core.schemas.mined import LEDGER, MINED, REPOSITORIES, UNKNOWN
from goldpan.core.storage.archive import Archive, lost_replies, run_files
from goldpan.core.storage.parquet import count_rows, write, writer
from goldpan.core.storage.run_file import Record, Seal
from goldpan.core.storage.sealed import read_lineage, write_lineage
from goldpan.core.storage.workspace import WorkspaceLayout, publish
from goldpan.core.terminal import Reporter
from goldpan.core.values import LOCAL, Execution
from goldpan.miners.journal import Journal
from goldpan.miners.journal_state import Facts, JournalState, Open, read_facts
from goldpan.miners.tables.chunks import PARSED, Chunk, parse_chunk, parsed_ranges, range_of
from goldpan.miners.tables.columns import array_of
from goldpan.miners.tables.current_records import CurrentRecords, find_current_records
from goldpan.miners.tables.ledger import list_ledger
from goldpan.miners.tables.range_tables import RangeTables


def merge(scratch: Path, facts: Facts, live: CurrentRecords, reporter: Reporter) -> dict[str, Path]:
    """Merge the part files in `scratch` and return each table's finished file."""
    paths = {table.name: scratch / f"{table.name}.parquet" for table in MINED}
    pending = _by_range(live)
    indexes = sorted({*parsed_ranges(scratch), *pending})
    with (
        ExitStack() as opened,
        reporter.task("Merging tables", len(indexes)) as task,
        ThreadPoolExecutor(1) as pool,
        RangeTables(scratch, facts, live) as merged,
    ):
        writers = {
            table.name: opened.enter_context(writer(paths[table.name], table.schema))
            for table in MINED
        }
        written: Future[None] | None = None
        for index in indexes:
            for table, rows in merged.tables(index, pending.get(index, {})):
                if written is not None:  # while this one was merged
                    written.result()
                written = pool.submit(write, writers[table.name], rows, facts.repo)
            task.advance()
        if written is not None:
            written.result()
        row = {
            **facts.row,
            "issues_announced": live.announced.get("issues"),
            "pulls_announced": live.announced.get("pulls"),
            "former_names": sorted(facts.former),
        }
        arrays = [array_of((row.get(column.name),), column.type) for column in REPOSITORIES.schema]
        repository = pa.Table.from_arrays(arrays, schema=REPOSITORIES.schema)
        of_repository = {key: trouble for key, trouble in live.open.items() if key[0] is None}
        lists = list_ledger(merged.listed(), live, merged.of_lists | of_repository)
        write(writers[REPOSITORIES.name], repository, facts.repo)
        write(writers[LEDGER.name], lists, facts.repo)
        write(writers[UNKNOWN.name], merged.strange(), facts.repo)
    return paths


def _by_range(live: CurrentRecords) -> dict[int, dict[tuple[int | None, str], Open]]:
    """Sort the data that entries lack into the ranges that they lie in."""
    by_range: dict[int, dict[tuple[int | None, str], Open]] = {}
    for (number, part), trouble in live.open.items():
        if number is not None:
            by_range.setdefault(range_of(number), {})[number, part] = trouble
    return by_range


_CHUNK_BYTES = 16 << 20
_KEPT_META = ("part", "nodes", "number", "kind")


def normalize(
    workspace: WorkspaceLayout,
    repo: str,
    reporter: Reporter,
    *,
    workers: int = 0,
    archive: Archive | None = None,
) -> dict[str, int]:
    """Make all mined tables of a repository and return their row counts.

    Of its `archive`, where that is open, whose records are forgotten: merging needs the memory.
    Raises `WorkspaceError` if nothing was mined yet or the archive is damaged.
    """
    archive = archive or Archive(workspace.raw(repo))
    state, seals = JournalState(archive.records), archive.seals()
    facts, live = facts_of(workspace, repo, state), find_current_records(state)
    with workspace.scratch() as scratch:
        chunks = chunks_of(scratch, facts, state, live)
        del state
        archive.records.clear()
        parse_chunks(chunks, workers, reporter)
        return publish_tables(workspace, repo, scratch, facts, live, seals, reporter)


def facts_of(workspace: WorkspaceLayout, repo: str, state: JournalState) -> Facts:
    """Return a repository's newest facts; raises `WorkspaceError` if nothing was mined yet."""
    facts = read_facts(state)
    if facts is None:
        raise WorkspaceError(
            f"{workspace.root} holds no raw replies of {repo}", f"Run goldpan mine --repo {repo}"
        )
    return facts


def chunks_of(
    scratch: Path, facts: Facts, state: JournalState, live: CurrentRecords
) -> list[Chunk]:
    """Return the records of an archive that count and hold rows, some together."""
    batches: list[list[Record]] = []
    room = 0
    for record in state.records:
        if record.sequence in live.skipped or record.meta["part"] not in PARSED:
            continue
        if room <= 0:
            batches.append([])
            room = _CHUNK_BYTES
        kept = {key: record.meta[key] for key in _KEPT_META if key in record.meta}
        kept["alone"] = record.run in state.without_issues
        batches[-1].append(replace(record, meta=kept))
        room -= record.size
    pulls = frozenset(state.pulls)
    return [
        Chunk(index, facts.repo, facts.hosts, scratch, tuple(records), pulls)
        for index, records in enumerate(batches)
    ]


def parse_chunks(chunks: Sequence[Chunk], workers: int, reporter: Reporter) -> Counter[str]:
    """Write the part files of chunks; return how often references name other repositories."""
    names = Counter[str]()
    processes = min(workers or os.cpu_count() or 1, len(chunks))
    with (
        open_engine(LOCAL, max(1, processes)) as engine,
        reporter.task("Parsing raw replies", sum(len(chunk.records) for chunk in chunks)) as task,
    ):
        for records, named in engine.map(parse_chunk, chunks):
            names += named
            task.advance(records)
    return names


def publish_tables(
    workspace: WorkspaceLayout,
    repo: str,
    scratch: Path,
    facts: Facts,
    live: CurrentRecords,
    seals: Mapping[str, Seal],
    reporter: Reporter,
) -> dict[str, int]:
    """Merge the part files in `scratch`, publish the tables and return their row counts.

    `seals` are those of the archive that the tables are made of.
    """
    with frugal():
        files = merge(scratch, facts, live, reporter)
    publish({path: workspace.table(repo, path.stem) for path in files.values()})
    paths = {table.name: workspace.table(repo, table.name) for table in MINED}
    write_lineage(workspace.tables(repo), "normalize", seals, list(paths.values()))
    return {name: count_rows(path) for name, path in paths.items()}


@dataclass(frozen=True, slots=True)
class TableCounts(Result):
    """How many rows the tables of repositories have."""

    schema = 2

    tables: Mapping[str, Mapping[str, int]]
    """By repository and table."""


def normalize_all(
    workspace: WorkspaceLayout,
    repos: Sequence[str],
    reporter: Reporter,
    license: str | None,
    execution: Execution,
) -> TableCounts:
    """Make the tables of repositories and return their row counts, in the order given.

    On a cluster, or in as many processes as there are workers: each works on a repository of
    its own, the largest first, and where there are fewer of these, several share one.
    """
    workers = execution.workers or os.cpu_count() or 1
    processes = min(workers, len(repos))
    if execution.engine == "local" and processes < 2:
        counts = {
            repo: normalize_again(workspace, repo, reporter, execution.workers, license)
            for repo in repos
        }
        return TableCounts(counts)
    absolute = replace(workspace, root=workspace.root.absolute())
    share = workers // processes if execution.engine == "local" else 1
    work = partial(_normalize_quietly, absolute, license, share)
    sizes = {
        repo: sum(file.stat().st_size for file in run_files(workspace.raw(repo))) for repo in repos
    }
    by_size = sorted(repos, key=lambda repo: -sizes[repo])
    with (
        open_engine(execution, processes) as machines,
        reporter.task("Repositories", len(repos)) as task,
    ):
        counts = {}
        for repo, rows in zip(by_size, machines.map(work, by_size), strict=True):
            counts[repo] = rows
            task.advance()
    return TableCounts({repo: counts[repo] for repo in repos})


def _normalize_quietly(
    workspace: WorkspaceLayout, license: str | None, workers: int, repo: str
) -> dict[str, int]:
    return normalize_again(workspace, repo, Reporter(quiet=True), workers, license)


def normalize_again(
    workspace: WorkspaceLayout, repo: str, reporter: Reporter, workers: int, license: str | None
) -> dict[str, int]:
    """Make a repository's tables and return their row counts; asks nothing of the network.

    A stated license goes into the archive, so that the tables stay a function of it.
    """
    with lock_repository(workspace, repo):
        check_replies(workspace, repo)
        if license is not None:
            with Archive(workspace.raw(repo)) as archive:
                if license != JournalState(archive.records).stated_license:
                    archive.begin(resume=True)
                    Journal(archive).mark("license", license=license)
        return normalize(workspace, repo, reporter, workers=workers)


def check_replies(workspace: WorkspaceLayout, repo: str) -> None:
    """Raise `WorkspaceError` where the replies that tables were made of are not all there.

    The end of the newest run may be cut off as if by a kill: only the tables tell. `goldpan
    status` reports what a repair could not save.
    """
    inputs = read_lineage(workspace.tables(repo), "normalize")["inputs"]
    if lost := lost_replies(workspace.raw(repo), inputs):
        path, count = lost
        raise WorkspaceError(
            f"{path} no longer holds the {count:,} replies that the tables were made of",
            f"Restore it, or run goldpan mine --repo {repo}",
        )
