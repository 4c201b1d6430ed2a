"""Turns the raw replies of repositories into tables: `goldpan normalize`.

Tables are a function of the archive alone. Records are parsed in parallel into parts on disk,
one Arrow file a facet and chunk, and the parts are merged by ranges of entry numbers: memory
follows the chunk and the range, not the repository. Many repositories are dealt out by size, so
that the largest does not come last.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Self

import pyarrow as pa

from goldpan.core.errors import WorkspaceError
from goldpan.core.imports import do_without_pandas
from goldpan.core.parallel.engine import open_engine
from goldpan.core.parallel.workers import WorkerEndedError, WorkerPool
from goldpan.core.resources import frugal
from goldpan.core.result import Result
from goldpan.core.schemas import LEDGER, MINED, REPOSITORIES, UNKNOWN
from goldpan.core.storage.archive import Archive, lost_replies, run_files
from goldpan.core.storage.parquet import count_rows, write, writer
from goldpan.core.storage.run_file import Record, Seal
from goldpan.core.storage.sealed import read_lineage, write_lineage
from goldpan.core.storage.workspace import WorkspaceLayout, publish
from goldpan.core.terminal import Reporter
from goldpan.core.values import Execution
from goldpan.miners.facts import Facts, read_facts
from goldpan.miners.journal import Journal
from goldpan.miners.journal_state import JournalState, Open
from goldpan.miners.tables.chunks import PARSED, Chunk, Parsed, parse_chunk, parsed_ranges, range_of
from goldpan.miners.tables.columns import array_of
from goldpan.miners.tables.current_records import CurrentRecords, find_current_records
from goldpan.miners.tables.ledger import list_ledger
from goldpan.miners.tables.range_tables import RangeTables


def merge(scratch: Path, facts: Facts, live: CurrentRecords, reporter: Reporter) -> dict[str, Path]:
    """Merge the part files in `scratch` and return each table's finished file."""
    paths = {table.name: scratch / f"{table.name}.parquet" for table in MINED}
    writers = {table.name: writer(paths[table.name], table) for table in MINED}
    pending = _by_range(live)
    indexes = sorted({*parsed_ranges(scratch), *pending})
    with (
        reporter.task("Merging tables", len(indexes)) as task,
        ThreadPoolExecutor(1) as pool,
        RangeTables(scratch, facts, live) as merged,
    ):
        written: Future[None] | None = None
        for index in indexes:
            for table, rows in merged.tables(index, pending.get(index, {})):
                if written is not None:  # while this one was merged
                    written.result()
                written = pool.submit(write, writers[table.name], table, facts.repo, rows)
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
        write(writers[REPOSITORIES.name], REPOSITORIES, facts.repo, repository)
        write(writers[LEDGER.name], LEDGER, facts.repo, lists)
        write(writers[UNKNOWN.name], UNKNOWN, facts.repo, merged.strange())
    for target in writers.values():
        target.close()
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

    Of its `archive`, where that is open. Raises `WorkspaceError` if nothing was mined yet or the
    archive is damaged.
    """
    archive = archive or Archive(workspace.raw(repo))
    state, seals = JournalState(archive.records), archive.seals()
    facts, live = facts_of(workspace, repo, state), find_current_records(state)
    with Parsing(workspace, facts, workers, frozenset(state.pulls)) as parsing:
        parsing.add_current(state, live)
        del archive, state  # merging needs the memory
        parsing.parse(reporter)
        return parsing.publish(repo, facts, live, seals, reporter)


def facts_of(workspace: WorkspaceLayout, repo: str, state: JournalState) -> Facts:
    """Return a repository's newest facts; raises `WorkspaceError` if nothing was mined yet."""
    facts = read_facts(state)
    if facts is None:
        raise WorkspaceError(
            f"{workspace.root} holds no raw replies of {repo}", f"Run goldpan mine --repo {repo}"
        )
    return facts


class Parsing:
    """Parses records into part files, in other processes while more records come.

    A context manager whose part files vanish at its end.
    """

    def __init__(
        self,
        workspace: WorkspaceLayout,
        facts: Facts,
        workers: int = 0,
        pulls: frozenset[int] = frozenset(),
    ) -> None:
        self._workspace = workspace
        self._facts = facts
        self._workers = workers or os.cpu_count() or 1
        self._pulls = pulls
        self._stack = ExitStack()
        self._pool: WorkerPool | None = None
        self._batch: list[Record] = []
        self._bytes = self._index = self._count = 0
        self._unstarted: list[Chunk] = []  # until there is work for more than one process
        self._running: list[Future[Parsed]] = []
        self.names = Counter[str]()
        """How often references name other repositories, known once all is parsed."""

    def __enter__(self) -> Self:
        self._scratch = self._stack.enter_context(self._workspace.scratch())
        return self

    def __exit__(self, *_: object) -> None:
        for future in self._running:
            future.cancel()
        self._stack.close()

    def add(self, record: Record, *, alone: bool = False) -> None:
        """Take a record that holds rows; `alone` where there is no list of issues."""
        if record.meta["part"] not in PARSED:
            return
        kept = {key: record.meta[key] for key in _KEPT_META if key in record.meta}
        self._batch.append(replace(record, meta={**kept, "alone": alone}))
        self._count += 1
        self._bytes += record.size
        if self._bytes >= _CHUNK_BYTES:
            self._cut()

    def add_current(self, state: JournalState, live: CurrentRecords) -> None:
        """Take the records of an archive that count."""
        for record in state.records:
            if record.sequence not in live.skipped:
                self.add(record, alone=record.run in state.without_issues)

    def publish(
        self,
        repo: str,
        facts: Facts,
        live: CurrentRecords,
        seals: Mapping[str, Seal],
        reporter: Reporter,
    ) -> dict[str, int]:
        """Merge the tables, publish them and return their row counts.

        `seals` are those of the archive that the tables are made of.
        """
        with frugal():
            files = merge(self._scratch, facts, live, reporter)
        publish({path: self._workspace.table(repo, path.stem) for path in files.values()})
        paths = [self._workspace.table(repo, table.name) for table in MINED]
        write_lineage(self._workspace.tables(repo), "normalize", seals, paths)
        return {table.name: count_rows(self._workspace.table(repo, table.name)) for table in MINED}

    def _cut(self) -> None:
        """Make a chunk of the batch, and have it parsed once there are others."""
        records = tuple(self._batch)
        facts = self._facts
        chunk = Chunk(self._index, facts.repo, facts.hosts, self._scratch, records, self._pulls)
        self._batch, self._bytes, self._index = [], 0, self._index + 1
        self._unstarted.append(chunk)
        if self._workers < 2 or len(self._unstarted) + len(self._running) < 2:
            return
        if self._pool is None:
            pool = WorkerPool(self._workers, do_without_pandas)
            self._pool = self._stack.enter_context(pool)
        self._running += [self._pool.submit(parse_chunk, chunk) for chunk in self._unstarted]
        self._unstarted.clear()

    def parse(self, reporter: Reporter) -> None:
        """Parse the remaining records."""
        if self._batch:
            self._cut()
        with reporter.task("Parsing raw replies", self._count) as task:
            parsed = map(parse_chunk, self._unstarted)
            done = (future.result() for future in as_completed(self._running))
            try:
                for chunk in chain(parsed, done):
                    self.names += chunk.names
                    task.advance(chunk.records)
            except WorkerEndedError:
                raise WorkspaceError(
                    "A process that parses replies was killed, perhaps for lack of memory",
                    "Set workers = 1 in goldpan.toml and run goldpan normalize",
                ) from None
        if self._pool is not None:
            self._pool.close()  # merging needs the memory


def deal(sizes: Mapping[str, int], processes: int, worth: int) -> list[str]:
    """Return the units that go to processes of their own, the largest first.

    Left out are those larger than the even share of a process: all processes work on each of
    them together. None goes where there are fewer than two, or their sizes sum up to less than
    `worth`, for which starting processes pays.
    """
    most = sum(sizes.values()) / max(processes, 1)
    dealt = sorted((unit for unit in sizes if sizes[unit] <= most), key=lambda unit: -sizes[unit])
    worthwhile = sum(sizes[unit] for unit in dealt) >= worth
    return dealt if processes > 1 and len(dealt) > 1 and worthwhile else []


_WORTH_PROCESSES = 8 << 20  # bytes of replies; starting processes takes as long as reading them


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
    its own, and all of them together on one that is larger than the share of each.
    """
    processes = execution.workers or os.cpu_count() or 1
    is_local = execution.engine == "local"
    dealt = list(repos)
    if is_local:
        sizes = {repo: _archive_size(workspace, repo) for repo in repos}
        dealt = deal(sizes, processes, _WORTH_PROCESSES)
    counts = {
        repo: normalize_again(workspace, repo, reporter, execution.workers, license)
        for repo in repos
        if repo not in dealt
    }
    if dealt:
        absolute = replace(workspace, root=workspace.root.absolute())
        work = partial(_normalize_quietly, absolute, license, is_local)
        with (
            open_engine(execution, processes) as machines,
            reporter.task("Repositories", len(dealt)) as task,
        ):
            row_counts = machines.map(work, dealt)
            for repo, rows in zip(dealt, row_counts, strict=True):
                counts[repo] = rows
                task.advance()
    return TableCounts({repo: counts[repo] for repo in repos})


def _archive_size(workspace: WorkspaceLayout, repo: str) -> int:
    return sum(path.stat().st_size for path in run_files(workspace.raw(repo)))


def _normalize_quietly(
    workspace: WorkspaceLayout, license: str | None, owns_process: bool, repo: str
) -> dict[str, int]:
    if owns_process:
        do_without_pandas()
    return normalize_again(workspace, repo, Reporter(quiet=True), 1, license)


def normalize_again(
    workspace: WorkspaceLayout, repo: str, reporter: Reporter, workers: int, license: str | None
) -> dict[str, int]:
    """Make a repository's tables and return their row counts; asks nothing of the network.

    A stated license goes into the archive, so that the tables stay a function of it.
    """
    with workspace.lock(repo):
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
