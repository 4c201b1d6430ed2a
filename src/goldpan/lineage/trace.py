"""Walks from a published example back to raw replies and git objects: `goldpan trace`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pyarrow.parquet as pq

from goldpan.core.errors import UsageError, choices, question
from goldpan.core.result import Result
from goldpan.core.storage.archive import Archive
from goldpan.core.storage.parquet import read_table, reading
from goldpan.core.storage.workspace import UNPAIRED, WorkspaceLayout
from goldpan.datasets.provenance import PROVENANCE, finished_datasets, read_provenance, shard_paths
from goldpan.git.objects import Objects
from goldpan.lineage.chain import OBJECTS, Link, verify_chain
from goldpan.lineage.explain import Explanation, explain

_MOST_ALIKE = 4
_PLACE = ("source", "path", "class", "line", "start")
"""Columns that say where a row was read that is of no issue or pull request."""


@dataclass(frozen=True, slots=True)
class RawReply:
    """An archived reply that the example was made of."""

    name: str
    part: str
    fetched_at: str | None
    sha256: str | None
    """The digest of the body; None where the archive no longer holds the reply."""
    size: int | None


@dataclass(frozen=True, slots=True)
class GitObject:
    """A git object that the example was made of."""

    column: str
    sha: str
    kind: str | None
    """Null where the clone lacks it."""
    size: int | None


@dataclass(frozen=True, slots=True)
class Trace(Result):
    """Where one example comes from."""

    shown_in_json: ClassVar[tuple[str, ...]] = ("holds",)

    id: str
    dataset: str
    split: str
    example: dict[str, Any]
    replies: tuple[RawReply, ...]
    objects: tuple[GitObject, ...]
    entries: tuple[Explanation, ...]
    """Explanations of the issue, and of the pull request where there is one."""
    place: dict[str, Any]
    """Where it was read: the file of a source, or the path and lines in a commit."""
    chain: tuple[Link, ...] = ()
    """The links that were recomputed, where that was asked for."""

    @property
    def complete(self) -> bool:
        """True where every source is still there."""
        return all(item.sha256 for item in self.replies) and all(item.kind for item in self.objects)

    @property
    def holds(self) -> bool | None:
        """True where every link of the chain holds; None where one, or all, were not verified."""
        states = {link.holds for link in self.chain} or {None}
        return False if False in states else None if None in states else True

    @property
    def exit_code(self) -> int:
        """1 where a link is broken, 3 where a source is gone or a link cannot be made anew."""
        is_open = self.holds is None and bool(self.chain)
        return 1 if self.holds is False else 3 if is_open or not self.complete else 0


def trace(
    workspace: WorkspaceLayout,
    example_id: str,
    datasets: Sequence[Path] = (),
    *,
    verify: bool = False,
) -> Trace:
    """Trace an example of the given dataset directories, else of all in the workspace.

    With `verify`, everything between the raw replies and the example is recomputed.
    Raises `UsageError` where no dataset holds it or one is missing, `WorkspaceError` where its
    repository is gone.
    """
    example_id = example_id.strip()
    for directory in datasets:
        read_provenance(directory)
    directories = list(datasets) or finished_datasets(workspace)
    entries = ((path, entry) for path in directories if (entry := _find(path, example_id)))
    directory, entry = next(entries, (Path(), None))
    if entry is None:
        names = [directory.name for directory in directories]
        if not names:
            remedy = "Run goldpan build, or give --dataset DIR of one that is elsewhere"
            raise UsageError(f"{workspace.root} holds no dataset", remedy)
        remedy = "Give the id as in the dataset, and --dataset DIR if the dataset is elsewhere"
        entry_name = re.search(r"[^:/\s]+/[^#\s]+#[0-9]+", example_id)
        if entry_name:
            remedy += f"; goldpan why {entry_name[0]} says what kept it out"
        near = [found for directory in directories for found in _alike(directory, example_id)]
        raise UsageError(
            f"No example {example_id!r} is in {choices(names)}",
            question(example_id, near, _MOST_ALIKE, cutoff=0) or remedy,
        )
    split, example = entry
    chain: tuple[Link, ...] = ()
    if verify:
        provenance = read_provenance(directory)
        published = Link("file", True, f"the split {split} matches provenance.json")
        chain = (*verify_chain(workspace, example, provenance), published)
    repo = example.get("repo")
    return Trace(
        example_id,
        str(directory),
        split,
        example,
        tuple(_replies(workspace, repo, example.get("raw") or ())) if repo else (),
        tuple(_objects(workspace.clone(repo), example)) if repo else (),
        tuple(_entries(workspace, directory, repo, example)) if repo else (),
        {name: example[name] for name in _PLACE if example.get(name) is not None},
        chain,
    )


def _entries(
    workspace: WorkspaceLayout, directory: Path, repo: str, example: Mapping[str, Any]
) -> Iterator[Explanation]:
    """Explain entries by the pairing rules of the dataset, where their pairs are still there."""
    sources = read_provenance(directory)["sources"] if (directory / PROVENANCE).exists() else ()
    rules = {source.get("rules") for source in sources if source["repo"].lower() == repo.lower()}
    numbers = [example[name] for name in ("issue", "pull") if example.get(name) is not None]
    for number in numbers:
        known = sorted(rules & set(workspace.paired_by(repo)))
        paired = workspace.by_rules(known[0] if known else UNPAIRED)
        yield explain(paired, f"{repo}#{number}")


def _alike(directory: Path, example_id: str) -> list[str]:
    """Return ids of a dataset that are the same but for the dataset's name, case or the end."""
    sought, found = _without_dataset(example_id), set[str]()
    for path in shard_paths(directory):
        ids = map(str, read_table(path, ["id"])["id"].to_pylist())
        found |= {one for one in ids if _without_dataset(one).startswith(sought)}
    return sorted(found)


def _without_dataset(example_id: str) -> str:
    return re.sub(r"^[\w-]+:", "", example_id).lower() + ":"


def _find(directory: Path, example_id: str) -> tuple[str, dict[str, Any]] | None:
    """Return the split and the row of an example, if the dataset holds it."""
    for path in shard_paths(directory):
        with reading(path, "Build the dataset again"):
            found = pq.read_table(path, filters=[("id", "=", example_id)], partitioning=None)
            for row in found.to_pylist():
                return path.name.rsplit("-", 3)[0], row
    return None


def _replies(workspace: WorkspaceLayout, repo: str, names: Sequence[str]) -> Iterator[RawReply]:
    records = {record.name: record.meta for record in Archive(workspace.raw(repo)).records}
    for name in names:
        meta = records.get(name, {})
        about = (meta.get(key) for key in ("at", "sha256", "size"))
        yield RawReply(name, str(meta.get("part", "")), *about)


def _objects(clone: Path, example: Mapping[str, Any]) -> Iterator[GitObject]:
    named = [(column, example[column]) for column in OBJECTS if example.get(column)]
    infos: list[Any] = [None] * len(named)
    if clone.exists():
        with Objects(clone) as objects:
            infos = list(objects.info(sha for _, sha in named))
    for (column, sha), info in zip(named, infos, strict=True):
        yield GitObject(column, sha, info and info.kind, info and info.size)
