"""Finds the near duplicates among the issues of a whole workspace, and keeps them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from goldpan.core.parquet import read_metadata, read_table, writer
from goldpan.core.progress import Reporter
from goldpan.core.query import open_tables
from goldpan.core.resources import named
from goldpan.core.schemas import DUPLICATES
from goldpan.core.sealed import file_digest
from goldpan.core.workspace import Workspace, publish
from goldpan.filters.duplicates.find import find_duplicates
from goldpan.filters.duplicates.settings import DuplicateSettings
from goldpan.filters.duplicates.siblings import Name, Task, mark_siblings

_INPUTS_KEY = b"goldpan.inputs"
_BATCH = 4_096
_TASKS = """
SELECT epoch_us(created_at), repo, number, coalesce(title, ''), coalesce(body, '')
FROM entries WHERE (repo, number) IN (SELECT repo, number FROM wanted)
"""
_TEXTS = """
SELECT repo, number, created_at, coalesce(title, '') || chr(10) || coalesce(body, '') AS text
FROM entries WHERE kind = 'issue'
"""


def workspace_duplicates(
    workspace: Workspace, settings: DuplicateSettings, reporter: Reporter, *, workers: int = 1
) -> pa.Table:
    """Return the table `duplicates` over the issues of all mined repositories.

    It lies where `duplicates_path` says and is found anew only when an issue changed. Raises
    `WorkspaceError` where a table cannot be read.
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
    with workspace.scratch() as scratch:
        with named(scratch), reporter.task("near duplicates", len(repos)) as task:
            duplicates = find_duplicates(
                _texts(workspace, repos, task.advance), settings, scratch=scratch, workers=workers
            )
            duplicates = mark_siblings(duplicates, _tasks(workspace, repos, duplicates))
        unfinished = scratch / path.name
        with writer(unfinished, DUPLICATES) as target:
            target.add_key_value_metadata({_INPUTS_KEY: inputs})
            target.write_table(duplicates)
        publish({unfinished: path})
    return duplicates


def duplicates_path(workspace: Workspace, settings: DuplicateSettings) -> Path:
    """Return the file of the near duplicates that settings find: each has its own."""
    own = "" if settings == DuplicateSettings() else f".{settings.digest()}"
    return workspace.root / "verdicts" / f"duplicates{own}.parquet"


def _texts(
    workspace: Workspace, repos: Sequence[str], done: Callable[[], None]
) -> Iterator[pa.RecordBatch]:
    for repo in repos:
        with open_tables(workspace, repo, ["entries"]) as connection:
            yield from connection.sql(_TEXTS).to_arrow_reader(_BATCH)
        done()


def _tasks(workspace: Workspace, repos: Sequence[str], duplicates: pa.Table) -> dict[Name, Task]:
    """Return what near duplicates and their representatives say, the earliest first."""
    near = duplicates.filter(pc.equal(duplicates["relation"], "near"))
    wanted = pa.table(
        {
            name: pa.chunked_array(
                [*near[name].chunks, *near[f"representative_{name}"].chunks],
                near.schema.field(name).type,
            )
            for name in ("repo", "number")
        }
    )
    titles: list[tuple[int | None, str, int, Task]] = []
    if not len(wanted):
        return {}
    for repo in repos:
        with open_tables(workspace, repo, ["entries"]) as connection:
            connection.register("wanted", wanted)
            rows = connection.execute(_TASKS)
            while some := rows.fetchmany(_BATCH):
                titles += [(row[0], row[1], row[2], Task.of(row[3], row[4])) for row in some]
    titles.sort(key=lambda row: (row[0] is None, row[0] or 0, row[1], row[2]))
    return {(repo, number): task for _, repo, number, task in titles}


def _digest(workspace: Workspace, repos: Sequence[str], settings: DuplicateSettings) -> bytes:
    """Return a hash of all that the clusters depend on."""
    whole = hashlib.sha256(settings.digest().encode())
    for repo in repos:
        whole.update(bytes.fromhex(file_digest(workspace.table(repo, "entries"))))
    return whole.hexdigest().encode()
