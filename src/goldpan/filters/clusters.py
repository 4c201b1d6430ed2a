"""Finds the near duplicates among the issues of a whole workspace, and keeps them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from goldpan.core.errors import UsageError
from goldpan.core.parallel.engine import Engine, open_engine
from goldpan.core.resources import named
from goldpan.core.schemas import DUPLICATES
from goldpan.core.storage.parquet import count_rows, open_tables, read_metadata, read_table, writer
from goldpan.core.storage.sealed import file_digest
from goldpan.core.storage.workspace import WorkspaceLayout, publish
from goldpan.core.terminal import Reporter
from goldpan.core.values import ONE_PROCESS, Execution
from goldpan.filters.duplicates.near import ComparedIssue, Links, Name, Texts, link, mark_siblings
from goldpan.filters.duplicates.settings import (
    NO_TEXT,
    DuplicateSettings,
    Ids,
    Sketches,
    joined,
    sketch_all,
)

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


Source = Callable[[], Iterable[pa.Table | pa.RecordBatch]]
"""Reads some of the texts: batches with the columns `repo`, `number`, `text` and, if wanted,
`created_at`. It can be pickled, and `str` says what it reads."""


_NAMES = pa.schema(
    [("repo", pa.string()), ("number", pa.int64()), ("created_at", pa.timestamp("us", tz="UTC"))]
)


@dataclass(frozen=True, slots=True, eq=False)
class _Portion:
    """The sketches of a source's texts, and their names."""

    sketched: Sketches
    names: pa.Table


def find_duplicates(
    sources: Sequence[Source],
    settings: DuplicateSettings,
    *,
    engine: Engine | None = None,
    on_source: Callable[[], None] = lambda: None,
) -> pa.Table:
    """Return `DUPLICATES`: one row for each text that has a duplicate, exact or near.

    The representative of a cluster is its earliest text, then the lowest (repo, number). The
    result depends neither on the engine, nor on the order of the rows, nor on how they are cut
    into sources and batches. Each source is one unit of work, of at most some 50,000 texts;
    `on_source` is called after each. Raises `UsageError` where a (repo, number) comes twice.
    """
    if engine is None:
        with open_engine(ONE_PROCESS) as alone:
            return find_duplicates(sources, settings, engine=alone, on_source=on_source)
    portions: list[_Portion] = []
    for portion in engine.map(partial(_sketch, settings), sources):
        portions.append(portion)
        on_source()
    sketched = joined([portion.sketched for portion in portions], settings)
    tables = [_NAMES.empty_table(), *(portion.names for portion in portions)]
    names = pa.concat_tables(tables).append_column("place", pa.array(sketched.which))
    portions.clear()
    names = _by_age(names)
    texts, text = Texts.numbered(sketched, names["place"].to_numpy())
    return _table(names, text, link(texts, settings), settings)


def _sketch(settings: DuplicateSettings, source: Source) -> _Portion:
    tables = [_NAMES.empty_table()]

    def texts() -> Iterable[list[str | None]]:
        for batch in source():
            tables.append(_names_of(batch))
            yield batch["text"].to_pylist()

    sketched = sketch_all(texts(), settings)
    return _Portion(sketched, pa.concat_tables(tables))


def _names_of(batch: pa.Table | pa.RecordBatch) -> pa.Table:
    has_time = "created_at" in batch.schema.names
    created = batch["created_at"] if has_time else pa.nulls(len(batch))
    return pa.table([batch["repo"], batch["number"], created], _NAMES.names).cast(_NAMES)


def _by_age(names: pa.Table) -> pa.Table:
    """Return rows by age, then by name; raises `UsageError` where a name comes twice."""
    counts = names.group_by(["repo", "number"]).aggregate([([], "count_all")])
    for twice in counts.filter(pc.greater(counts["count_all"], 1)).slice(0, 1).to_pylist():
        raise UsageError(
            f"{twice['repo']}#{twice['number']} comes twice among the texts", "Give each text once"
        )
    keys = [(name, "ascending") for name in ("created_at", "repo", "number")]
    return names.sort_by(keys).combine_chunks()


def _two_rows(text: Ids, count: int) -> tuple[Ids, Ids]:
    """Return the first and the second row of each text; the first again where there is one."""
    rows = np.flatnonzero(text != NO_TEXT)
    rows = rows[np.argsort(text[rows], kind="stable")]
    first = np.searchsorted(text[rows], np.arange(count))
    more = np.append(np.diff(first), len(rows) - first[-1:]) > 1
    return rows[first], rows[first + more]


def _table(names: pa.Table, text: Ids, links: Links, settings: DuplicateSettings) -> pa.Table:
    first, second = _two_rows(text, len(links.root))
    at = np.flatnonzero(text != NO_TEXT)
    root = links.root[text[at]]
    size = np.bincount(root, minlength=len(links.root))
    at, root = at[size[root] > 1], root[size[root] > 1]
    mine = text[at]
    # A text that stands in several rows has its own like as its nearest.
    twin = second[mine] != first[mine]
    other = np.where(first[mine] == at, second[mine], first[mine])
    nearest = np.where(twin, other, first[links.nearest[mine]])
    representative = first[root]
    same = np.where(mine == root, "exact", "near")
    relation = np.where(representative == at, "representative", same)
    here, represented, near = (
        names.select(["repo", "number"]).take(pa.array(rows)).columns
        for rows in (at, representative, nearest)
    )
    columns = [
        *here,
        pc.binary_join_element_wise(represented[0], represented[1].cast(pa.string()), "#"),
        *represented,
        pa.array(relation.tolist(), pa.string()),
        pa.array(links.similarity[mine]),
        *near,
        pa.array(np.where(twin, 1.0, links.nearest_similarity[mine])),
        pa.array(size[root]),
        pa.repeat(pa.scalar(settings.digest(), pa.string()), len(at)),
    ]
    table = pa.table(columns, DUPLICATES.schema.names).cast(DUPLICATES.schema)
    return DUPLICATES.ordered(table).combine_chunks()
