"""Finds the near duplicates among the issues of a whole workspace, and keeps them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from goldpan.core.parallel.engine import open_engine
from goldpan.core.resources import named
from goldpan.core.schemas import DUPLICATES
from goldpan.core.storage.parquet import count_rows, open_tables, read_metadata, read_table, writer
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
        duplicates = mark_siblings(duplicates, _tasks(workspace, duplicates))
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
"""Entries of a portion."""
_TEXTS = """
SELECT repo, number, created_at, coalesce(title, '') || chr(10) || coalesce(body, '') AS text
FROM entries WHERE kind IN ('issue', 'discussion') AND number >= $low AND number < $high
"""


@dataclass(frozen=True, slots=True)
class IssueTexts:
    """Reads the issues of some repositories, with numbers from `low` up to, but without, `high`."""

    workspace: WorkspaceLayout
    repos: tuple[str, ...]
    low: int = 0
    high: int = 2**63 - 1

    def __call__(self) -> Iterator[pa.RecordBatch]:
        """Yield `repo`, `number`, `created_at` and `text`."""
        for repo in self.repos:
            with open_tables(self.workspace, repo, ["entries"]) as connection:
                values = {"low": self.low, "high": self.high}
                yield from connection.sql(_TEXTS, params=values).to_arrow_reader(_BATCH)

    def __str__(self) -> str:
        first, last = self.repos[0], self.repos[-1]
        return f"issues of {first}" + (f" to {last}" if last != first else "")


def deal_out(workspace: WorkspaceLayout, repos: Sequence[str]) -> list[IssueTexts]:
    """Return portions of about equal size: small repositories together, large ones in parts."""
    portions: list[IssueTexts] = []
    together: list[str] = []
    size = 0
    for repo in repos:
        entries = count_rows(workspace.table(repo, "entries"))
        if entries > _ENTRIES:
            with open_tables(workspace, repo, ["entries"]) as connection:
                ((last,),) = connection.execute("SELECT max(number) FROM entries").fetchall()
            step = last * _ENTRIES // entries + 1
            lows = range(0, last + 1, step)
            portions += [IssueTexts(workspace, (repo,), low, low + step) for low in lows]
            continue
        if together and size + entries > _ENTRIES:
            portions.append(IssueTexts(workspace, tuple(together)))
            together, size = [], 0
        together.append(repo)
        size += entries
    return [*portions, IssueTexts(workspace, tuple(together))] if together else portions
