"""Finds the near duplicates among the issues of a whole workspace, and keeps them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from operator import itemgetter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from goldpan.core.parallel.engine import Engine, open_engine
from goldpan.core.resources import named
from goldpan.core.schemas import DUPLICATES
from goldpan.core.storage.parquet import open_file, open_tables, read_metadata, read_table, writer
from goldpan.core.storage.sealed import file_digest
from goldpan.core.storage.workspace import WorkspaceLayout, publish
from goldpan.core.terminal import Reporter
from goldpan.core.values import ONE_PROCESS, Execution
from goldpan.filters.duplicates.find import find_duplicates
from goldpan.filters.duplicates.leaks import ComparedIssue, Name, mark_siblings
from goldpan.filters.duplicates.settings import DuplicateSettings

_INPUTS_KEY = b"goldpan.inputs"
_BATCH = 4_096
_TASK_TEXTS = """
SELECT coalesce(epoch_us(created_at), 9223372036854775807), repo, number,
       coalesce(title, ''), coalesce(body, '')
FROM entries WHERE (repo, number) IN (
  SELECT repo, number FROM near
  UNION ALL SELECT representative_repo, representative_number FROM near
)
"""
_NEAR = 5_000
"""Near duplicates whose texts one process holds, as far as one cluster allows."""


def workspace_duplicates(
    workspace: WorkspaceLayout,
    settings: DuplicateSettings,
    reporter: Reporter,
    execution: Execution = ONE_PROCESS,
) -> pa.Table:
    """Return the table `duplicates` over the issues of all mined repositories.

    It is stored at `duplicates_path` and computed again only when an issue changed; the engine
    makes no difference to it (`open_engine`). Raises `WorkspaceError` where a table cannot be
    read.
    """
    repos = [
        repo
        for repo in workspace.repositories("tables")
        if workspace.table(repo, "entries").exists()
    ]
    inputs = _digest(workspace, repos, settings)
    path = duplicates_path(workspace, settings)
    if path.exists() and read_metadata(path).get(_INPUTS_KEY) == inputs:
        return read_table(path)
    absolute = replace(workspace, root=workspace.root.absolute())
    portions = deal_out(absolute, repos)
    processes = execution.workers
    if execution.engine == "local":
        processes = max(1, min(processes, len(portions)))
    with workspace.scratch() as scratch, open_engine(execution, processes) as opened:
        with named(scratch), reporter.task("near duplicates", len(portions)) as task:
            duplicates = find_duplicates(portions, settings, engine=opened, on_source=task.advance)
            duplicates = _with_siblings(absolute, duplicates, opened)
        unfinished = scratch / path.name
        with writer(unfinished, DUPLICATES) as target:
            target.add_key_value_metadata({_INPUTS_KEY: inputs})
            target.write_table(duplicates)
        publish({unfinished: path})
    return duplicates


def duplicates_path(workspace: WorkspaceLayout, settings: DuplicateSettings) -> Path:
    """Return the file of near duplicates; each settings have their own."""
    own = "" if settings == DuplicateSettings() else f".{settings.digest()}"
    return workspace.root / "verdicts" / f"duplicates{own}.parquet"


def _with_siblings(workspace: WorkspaceLayout, duplicates: pa.Table, engine: Engine) -> pa.Table:
    """Return duplicates with their siblings marked, which takes the texts of whole clusters."""
    if not len(duplicates):
        return duplicates
    clusters = duplicates.sort_by([("representative_repo", "ascending"), ("cluster", "ascending")])
    near = pc.equal(clusters["relation"], "near").to_numpy()
    names = clusters["cluster"].combine_chunks().dictionary_encode().indices.to_numpy()
    starts = np.flatnonzero(np.diff(names, prepend=-1))
    before = (np.cumsum(near) - near)[starts] // _NEAR
    cuts = [0, *starts[1:][np.diff(before) > 0].tolist(), len(clusters)]
    parts = [Clusters(clusters.slice(start, end - start)) for start, end in pairwise(cuts)]
    marked = pa.concat_tables(engine.map(partial(_mark, workspace), parts))
    return DUPLICATES.ordered(marked).combine_chunks()


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """Rows of `DUPLICATES` of whole clusters."""

    rows: pa.Table

    def __str__(self) -> str:
        return f"near duplicates of {self.rows['cluster'][0]}"

    def __reduce__(self) -> tuple[Callable[[pa.Table], Clusters], tuple[pa.Table]]:
        """Pickle the rows of this slice alone, not the table behind it."""
        return Clusters, (self.rows.take(pa.array(np.arange(len(self.rows)))),)


def _mark(workspace: WorkspaceLayout, clusters: Clusters) -> pa.Table:
    return mark_siblings(clusters.rows, _tasks(workspace, clusters.rows))


def _tasks(workspace: WorkspaceLayout, duplicates: pa.Table) -> dict[Name, ComparedIssue]:
    """Return near duplicates and their representatives, the earliest first."""
    near = duplicates.filter(pc.equal(duplicates["relation"], "near"))
    repos = {*near["repo"].to_pylist(), *near["representative_repo"].to_pylist()}
    tasks: list[tuple[int, str, int, ComparedIssue]] = []
    for repo in sorted(repos):
        with open_tables(workspace, repo, ["entries"]) as connection:
            connection.register("near", near)
            rows = connection.execute(_TASK_TEXTS)
            while batch := rows.fetchmany(_BATCH):
                tasks += [(*row[:3], ComparedIssue.of(row[3], row[4])) for row in batch]
    return {
        (repo, number): task for _, repo, number, task in sorted(tasks, key=itemgetter(0, 1, 2))
    }


def _digest(workspace: WorkspaceLayout, repos: Sequence[str], settings: DuplicateSettings) -> bytes:
    """Return a hash of everything that the clusters depend on."""
    whole = hashlib.sha256(settings.digest().encode())
    for repo in repos:
        whole.update(bytes.fromhex(file_digest(workspace.table(repo, "entries"))))
    return whole.hexdigest().encode()


_ENTRIES = 50_000
"""Entries of a portion, as far as one group of rows allows."""
_TEXTS = """
SELECT repo, number, created_at, coalesce(title, '') || chr(10) || coalesce(body, '') AS text
FROM entries WHERE kind IN ('issue', 'discussion') AND number >= $low AND number < $high
"""
_FIRST, _LAST = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True)
class Range:
    """The entries of a repository with numbers from `low` up to, but without, `high`."""

    repo: str
    low: int = _FIRST
    high: int = _LAST


@dataclass(frozen=True, slots=True)
class IssueTexts:
    """Reads the issues of some ranges."""

    workspace: WorkspaceLayout
    ranges: tuple[Range, ...]

    def __call__(self) -> Iterator[pa.RecordBatch]:
        """Yield `repo`, `number`, `created_at` and `text`."""
        for part in self.ranges:
            with open_tables(self.workspace, part.repo, ["entries"]) as connection:
                values = {"low": part.low, "high": part.high}
                yield from connection.sql(_TEXTS, params=values).to_arrow_reader(_BATCH)

    def __str__(self) -> str:
        first, last = self.ranges[0].repo, self.ranges[-1].repo
        return f"issues of {first}" + (f" to {last}" if last != first else "")


def deal_out(workspace: WorkspaceLayout, repos: Sequence[str]) -> list[IssueTexts]:
    """Return portions of about equal size: small repositories together, large ones in parts."""
    portions: list[IssueTexts] = []
    ranges: list[Range] = []
    size = 0
    for repo in repos:
        entries, cuts = _cuts(workspace, repo)
        if ranges and size + entries > _ENTRIES:
            portions.append(IssueTexts(workspace, tuple(ranges)))
            ranges, size = [], 0
        bounds = [_FIRST, *cuts, _LAST]
        parts = [Range(repo, *pair) for pair in pairwise(bounds)]
        portions += [IssueTexts(workspace, (part,)) for part in parts[:-1]]
        ranges.append(parts[-1])
        size += entries // len(parts)
    return [*portions, IssueTexts(workspace, tuple(ranges))] if ranges else portions


def _cuts(workspace: WorkspaceLayout, repo: str) -> tuple[int, list[int]]:
    """Return how many entries a repository has, and the numbers at which its parts begin."""
    with open_file(workspace.table(repo, "entries")) as file:
        metadata = file.metadata
        column = file.schema_arrow.names.index("number")
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        statistics = [group.column(column).statistics for group in groups]
    lowest = {values.min for values in statistics if values is not None and values.has_min_max}
    return metadata.num_rows, sorted(lowest)[1:]
