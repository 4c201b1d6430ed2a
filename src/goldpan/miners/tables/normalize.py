"""Turns a repository's raw replies into its tables: `goldpan normalize`.

Tables are a function of the archive alone. Records are parsed in parallel into parts on disk,
one Arrow file a facet and chunk, and the parts are merged by ranges of entry numbers: memory
follows the chunk and the range, not the repository.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import Future, as_completed
from contextlib import ExitStack
from dataclasses import replace
from typing import Self

from goldpan.core.archive import Archive, Record
from goldpan.core.errors import WorkspaceError
from goldpan.core.lineage import write_lineage
from goldpan.core.memory import frugal
from goldpan.core.parquet import count_rows
from goldpan.core.progress import Reporter
from goldpan.core.run_file import Seal
from goldpan.core.schemas import MINED
from goldpan.core.workers import WorkerEndedError, WorkerPool
from goldpan.core.workspace import Workspace, publish
from goldpan.miners.facts import Facts, read_facts
from goldpan.miners.tables.chunks import PARSED, Chunk, do_without_pandas, parse_chunk
from goldpan.miners.tables.current_records import Live, find_live
from goldpan.miners.tables.merge import merge

_CHUNK_BYTES = 16 << 20
_KEPT_META = ("part", "nodes", "number", "kind")


def normalize(
    workspace: Workspace, repo: str, reporter: Reporter, *, workers: int = 0
) -> dict[str, int]:
    """Make all mined tables of a repository and return their row counts.

    Raises `WorkspaceError` if nothing was mined yet or the archive is damaged.
    """
    archive = Archive(workspace.raw(repo))
    records, seals = archive.records, archive.seals()
    facts = read_facts(records)
    if facts is None:
        raise WorkspaceError(
            f"{workspace.root} holds no raw replies of {repo}", f"Run goldpan mine --repo {repo}"
        )
    live = find_live(records)
    pulls = frozenset(
        item[0]
        for record in records
        if record.meta["part"] in ("issues", "issue", "pulls", "pull")
        for item in record.meta["items"]
        if item[2]  # of a pull request's own lists: its head
    )
    with Parsing(workspace, facts, workers, pulls) as parsing:
        for record in records:
            if record.sequence not in live.skipped:
                parsing.add(record)
        del archive, records  # merging needs the memory
        return parsing.publish(repo, facts, live, seals, reporter)


class Parsing:
    """Parses records into part files, in other processes while more records come.

    A context manager whose part files vanish at its end.
    """

    def __init__(
        self,
        workspace: Workspace,
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
        self._waiting: list[Chunk] = []  # until there is work for more than one process
        self._running: list[Future[int]] = []

    def __enter__(self) -> Self:
        self._scratch = self._stack.enter_context(self._workspace.scratch())
        return self

    def __exit__(self, *_: object) -> None:
        for future in self._running:
            future.cancel()
        self._stack.close()

    def add(self, record: Record) -> None:
        """Take a record, or pass over one that holds no rows."""
        if record.meta["part"] not in PARSED:
            return
        meta = {key: record.meta[key] for key in _KEPT_META if key in record.meta}
        self._batch.append(replace(record, meta=meta))
        self._count += 1
        self._bytes += record.size
        if self._bytes >= _CHUNK_BYTES:
            self._cut()

    def publish(
        self, repo: str, facts: Facts, live: Live, seals: Mapping[str, Seal], reporter: Reporter
    ) -> dict[str, int]:
        """Parse what is left, merge the tables, put them in place and return their row counts.

        `seals` are those of the archive that the tables are made of.
        """
        if self._batch:
            self._cut()
        self._finish(reporter)
        with frugal():
            files = merge(self._scratch, facts, live, reporter)
        publish({path: self._workspace.table(repo, path.stem) for path in files.values()})
        paths = [self._workspace.table(repo, table.name) for table in MINED]
        write_lineage(self._workspace.tables(repo), "normalize", seals, paths)
        return {table.name: count_rows(self._workspace.table(repo, table.name)) for table in MINED}

    def _cut(self) -> None:
        """Make a chunk of what has come, and have it parsed where others wait with it."""
        records = tuple(self._batch)
        facts = self._facts
        chunk = Chunk(self._index, facts.repo, facts.hosts, self._scratch, records, self._pulls)
        self._batch, self._bytes, self._index = [], 0, self._index + 1
        self._waiting.append(chunk)
        if self._workers < 2 or len(self._waiting) + len(self._running) < 2:
            return
        if self._pool is None:
            pool = WorkerPool(self._workers, do_without_pandas)
            self._pool = self._stack.enter_context(pool)
        self._running += [self._pool.submit(parse_chunk, chunk) for chunk in self._waiting]
        self._waiting.clear()

    def _finish(self, reporter: Reporter) -> None:
        with reporter.task("Parsing raw replies", self._count) as task:
            for chunk in self._waiting:
                task.advance(parse_chunk(chunk))
            try:
                for future in as_completed(self._running):
                    task.advance(future.result())
            except WorkerEndedError:
                raise WorkspaceError(
                    "A process that parses replies was killed, perhaps for lack of memory",
                    "Set workers = 1 in goldpan.toml and run goldpan normalize",
                ) from None
        if self._pool is not None:
            self._pool.close()  # merging needs the memory
