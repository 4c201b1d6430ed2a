"""Finds the near duplicates among the issues of a whole workspace, and keeps them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
from goldpan.core.schemas.stages import DUPLICATES
from goldpan.core.storage.parquet import open_tables, read_metadata, read_table, replace_table
from goldpan.core.storage.sealed import file_digest
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.core.values import ONE_PROCESS, Execution
from goldpan.filters.duplicates.near import Groups, group
from goldpan.filters.duplicates.settings import DuplicateSettings, Sketches, fold, sketch_all

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
    sources = [IssueTexts(absolute, repo) for repo in repos]
    processes = execution.workers
    if execution.engine == "local":
        processes = max(1, min(processes, len(sources)))
    with workspace.scratch() as scratch, open_engine(execution, processes) as opened:
        with named(scratch), reporter.task("near duplicates", len(sources)) as task:
            duplicates = find_duplicates(sources, settings, engine=opened, on_source=task.advance)
        duplicates = mark_siblings(duplicates, _tasks(workspace, duplicates))
    replace_table(path, DUPLICATES, duplicates, metadata={_INPUTS_KEY: inputs})
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


_TEXTS = """
SELECT repo, number, created_at, coalesce(title, '') || chr(10) || coalesce(body, '') AS text
FROM entries WHERE kind IN ('issue', 'discussion')
"""


@dataclass(frozen=True, slots=True)
class IssueTexts:
    """Reads the issues of a repository."""

    workspace: WorkspaceLayout
    repo: str

    def __call__(self) -> Iterator[pa.RecordBatch]:
        """Yield `repo`, `number`, `created_at` and `text`."""
        with open_tables(self.workspace, self.repo, ["entries"]) as connection:
            yield from connection.sql(_TEXTS).to_arrow_reader(_BATCH)

    def __str__(self) -> str:
        return f"issues of {self.repo}"


Source = Callable[[], Iterable[pa.Table | pa.RecordBatch]]
"""Reads some of the texts: batches with the columns `repo`, `number`, `text` and, if wanted,
`created_at`. It can be pickled, and `str` says what it reads."""


_NAMES = pa.schema(
    [("repo", pa.string()), ("number", pa.int64()), ("created_at", pa.timestamp("us", tz="UTC"))]
)


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
    into sources and batches. Each source is one unit of work; `on_source` is called after each.
    Raises `UsageError` where a (repo, number) comes twice.
    """
    if engine is None:
        with open_engine(ONE_PROCESS) as alone:
            return find_duplicates(sources, settings, engine=alone, on_source=on_source)
    parts: list[Sketches] = []
    tables = [_NAMES.empty_table()]
    for sketched, names in engine.map(partial(_sketch, settings), sources):
        parts.append(sketched)
        tables.append(names)
        on_source()
    names = pa.concat_tables(tables).combine_chunks()
    counts = names.group_by(["repo", "number"]).aggregate([([], "count_all")])
    for twice in counts.filter(pc.greater(counts["count_all"], 1)).slice(0, 1).to_pylist():
        raise UsageError(
            f"{twice['repo']}#{twice['number']} comes twice among the texts", "Give each text once"
        )
    age = [(name, "ascending") for name in ("created_at", "repo", "number")]
    order = pc.sort_indices(names, sort_keys=age).to_numpy().astype(np.int64)
    return _table(names, group(parts, order, settings), settings)


def _sketch(settings: DuplicateSettings, source: Source) -> tuple[Sketches, pa.Table]:
    """Return the sketches of a source's texts, and their names."""
    tables = [_NAMES.empty_table()]

    def texts() -> Iterable[list[str | None]]:
        for batch in source():
            tables.append(_names_of(batch))
            yield batch["text"].to_pylist()

    sketched = sketch_all(texts(), settings)
    return sketched, pa.concat_tables(tables)


def _names_of(batch: pa.Table | pa.RecordBatch) -> pa.Table:
    has_time = "created_at" in batch.schema.names
    created = batch["created_at"] if has_time else pa.nulls(len(batch))
    return pa.table([batch["repo"], batch["number"], created], _NAMES.names).cast(_NAMES)


def _table(names: pa.Table, groups: Groups, settings: DuplicateSettings) -> pa.Table:
    size = np.bincount(groups.root, minlength=len(names))
    at = np.flatnonzero(size[groups.root] > 1)
    root = groups.root[at]
    same = np.where(groups.same[at], "exact", "near")
    relation = np.where(root == at, "representative", same)
    here, represented, near = (
        names.select(["repo", "number"]).take(pa.array(rows)).columns
        for rows in (at, root, groups.nearest[at])
    )
    columns = [
        *here,
        pc.binary_join_element_wise(represented[0], represented[1].cast(pa.string()), "#"),
        *represented,
        pa.array(relation.tolist(), pa.string()),
        pa.array(groups.similarity[at]),
        *near,
        pa.array(groups.nearest_similarity[at]),
        pa.array(size[root]),
        pa.repeat(pa.scalar(settings.digest(), pa.string()), len(at)),
    ]
    table = pa.table(columns, DUPLICATES.schema.names).cast(DUPLICATES.schema)
    return DUPLICATES.ordered(table).combine_chunks()


# Clusters are chains of links: two members of one need not be near duplicates of each other.
# "Update to version 1.2" and "Update to version 1.3" over the same check list are two tasks, and
# so are "Tracking issue for `foo`" and "Tracking issue for `bar`", however alike: siblings.
# They stay in one cluster, so that no split parts them, but none is a copy of another.

SIBLING = "sibling"
"""The relation of a text that shares no more than a template with those before it."""
Name = tuple[str, int]
_TOKEN = re.compile(r"\w+(?:[.:/+-]+\w+)*")
_NAME = re.compile(r"[0-9_./]|::")
_PLATFORMS = re.compile(
    "windows|linux|macos|osx|mac|ubuntu|debian|fedora|alpine|android|ios|wasm|bsd|freebsd|netbsd|"
    "openbsd|solaris|illumos|arm|mips|riscv|sparc|powerpc|intel|amd|nvidia|cuda|cpu|gpu|msvc|gcc|"
    "clang|chrome|firefox|safari|edge"
)
_SHORTEST = 3
_WINDOW = 32
"""The number of earlier texts that a text is compared with, beside the most likely ones."""


@dataclass(frozen=True, slots=True)
class ComparedIssue:
    """An issue as it is compared: the words of its title, and its text, folded."""

    title: frozenset[str]
    body: str

    @classmethod
    def of(cls, title: str, body: str) -> ComparedIssue:
        """Read an issue."""
        return cls(frozenset(_TOKEN.findall(fold(title))), fold(body))


def are_told_apart(task: ComparedIssue, other: ComparedIssue) -> bool:
    """Return whether the titles of two near duplicates name different things.

    They do where only numbers, identifiers or platforms differ, or where each has a word that
    stands in its own text and not in the other's.
    """
    mine, theirs = task.title - other.title, other.title - task.title
    shared = len(task.title & other.title)
    alike = 2 * shared >= min(len(task.title), len(other.title)) > 0
    if alike and any(map(_is_name, mine)) and any(map(_is_name, theirs)):
        return True
    return _stands_alone(mine, task, other) and _stands_alone(theirs, other, task)


def mark_siblings(duplicates: pa.Table, tasks: Mapping[Name, ComparedIssue]) -> pa.Table:
    """Return `DUPLICATES` with the relation `sibling` where a near duplicate is another task.

    `tasks` has every near one and its representative, in the order in which they came.
    """
    near = duplicates.filter(pc.equal(duplicates["relation"], "near"))
    columns = ("repo", "number", "cluster", "representative_repo", "representative_number")
    nearest = {
        (row["repo"], row["number"]): (row["nearest_repo"], row["nearest_number"])
        for row in near.select(["repo", "number", "nearest_repo", "nearest_number"]).to_pylist()
    }
    clusters: dict[Name, set[Name]] = {}
    for row in near.select(columns).to_pylist():
        first = (row["representative_repo"], row["representative_number"])
        clusters.setdefault(first, set()).add((row["repo"], row["number"]))
    order = {name: position for position, name in enumerate(tasks)}
    siblings: set[Name] = set()
    for first, members in clusters.items():
        siblings |= _siblings(first, sorted(members, key=order.__getitem__), tasks, nearest)
    names = zip(duplicates["repo"].to_pylist(), duplicates["number"].to_pylist(), strict=True)
    related = zip(names, duplicates["relation"].to_pylist(), strict=True)
    relations = [SIBLING if name in siblings else relation for name, relation in related]
    position = duplicates.schema.get_field_index("relation")
    return duplicates.set_column(position, "relation", pa.array(relations, pa.string()))


def _siblings(
    first: Name,
    members: Iterable[Name],
    tasks: Mapping[Name, ComparedIssue],
    nearest: Mapping[Name, Name],
) -> set[Name]:
    """Return the members of a cluster that are other tasks than all siblings before them."""
    seen, group = {first}, [first]
    by_title = {tasks[first].title: first}
    for name in members:
        task = tasks[name]
        likely = [first, *group[-_WINDOW:]]
        if task.title in by_title:
            likely.append(by_title[task.title])
        if nearest[name] in seen:
            likely.append(nearest[name])
        seen.add(name)
        if all(are_told_apart(task, tasks[likeness]) for likeness in dict.fromkeys(likely)):
            group.append(name)
            by_title.setdefault(task.title, name)
    return set(group[1:])


def _is_name(word: str) -> bool:
    return _PLATFORMS.fullmatch(word) is not None or _NAME.search(word) is not None


def _stands_alone(words: Iterable[str], mine: ComparedIssue, other: ComparedIssue) -> bool:
    return any(
        len(word) >= _SHORTEST and word in mine.body and word not in other.body for word in words
    )
