"""Reads the states before and after each pull request: the tables `revisions` and `changes`.

They are a function of the clone, the mined tables and the archive, and of nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from goldpan.core.parquet import write, writer
from goldpan.core.progress import Reporter
from goldpan.core.schemas import CHANGES, REVISIONS, Table
from goldpan.core.workspace import Workspace, publish
from goldpan.git.ancestry import Ancestry, read_ancestry
from goldpan.git.comparison import Touched
from goldpan.git.objects import Objects
from goldpan.git.refs import read_refs, verify_clone
from goldpan.git.trees import path_text
from goldpan.miners.history.base_resolution import Revision, Settler
from goldpan.miners.history.candidates import Refs
from goldpan.miners.history.changes import Change, Connect, describe, read_diffs
from goldpan.miners.history.commit_pairs import Reader
from goldpan.miners.history.pulls import Tables, open_pulls

_AT_ONCE = 2_048  # pull requests; fixes the row groups, so never derive it


@dataclass(frozen=True, slots=True)
class History:
    """What reading a repository's history found."""

    repo: str
    pulls: int
    changes: int
    states: Mapping[str, int]
    """How many pull requests start from each kind of state."""
    notes: Mapping[str, int]
    """How many pull requests bear each note."""
    disagreeing: tuple[int, ...]
    """Pull requests whose change is not as large as GitHub announced."""
    fetched: int
    """Files that a partial clone lacked."""
    unasked: int
    """Pull requests that git cannot tell of, and for whose diffs GitHub was not asked."""


def read_history(
    workspace: Workspace,
    repo: str,
    reporter: Reporter,
    *,
    client: Connect | None = None,
    token: str | None = None,
    host: str = "github.com",
    network: bool = True,
) -> History:
    """Write `revisions` and `changes` for all merged pulls and all pulls of fix pairs.

    A partial clone gets the files that it lacks first, from `host` with `token`; `client` asks
    GitHub for the diffs of pull requests that git cannot tell of, for which the workspace's
    lock is needed. Without `network` nothing is fetched. Raises `WorkspaceError` without tables,
    `GitError` without a clone.
    """
    clone = workspace.clone(repo)
    verify_clone(clone)
    counts = _Counts()
    with (
        open_pulls(workspace, repo) as tables,
        Objects(clone) as objects,
        workspace.scratch() as scratch,
    ):
        refs = _read_refs(clone)
        ancestry = _read_ancestry(clone, tables, refs, objects)
        reader = Reader(clone, refs, ancestry, objects, reporter, token, host, network)
        paths = {table.name: scratch / f"{table.name}.parquet" for table in (REVISIONS, CHANGES)}
        with (
            writer(paths[REVISIONS.name], REVISIONS) as revisions,
            writer(paths[CHANGES.name], CHANGES) as changes,
            reporter.task("Reading pull requests", 0) as task,
        ):
            for pulls in tables.pulls(_AT_ONCE):
                task.extend(len(pulls))
                readings = reader.read(pulls)
                lost = [reading.pull for reading in readings if reading.candidate is None]
                diffs = read_diffs(workspace, tables.repo, lost, client, reporter) if lost else {}
                settler = Settler(clone, ancestry, objects, diffs)
                settled = [settler.settle(reading) for reading in readings]
                rows = [revision for revision, _ in settled]
                files = list(describe(_sorted_files(settled), objects))
                write(revisions, REVISIONS, tables.repo, _table(rows, REVISIONS))
                write(changes, CHANGES, tables.repo, _table(files, CHANGES))
                counts.add(rows, files, 0 if client else len(lost) - len(diffs))
                task.advance(len(pulls))
        publish({path: workspace.table(repo, name) for name, path in paths.items()})
    return counts.history(tables.repo, reader.fetched)


class _Counts:
    """Counts what was written."""

    def __init__(self) -> None:
        self._pulls = self._changes = self._unasked = 0
        self._states: Counter[str] = Counter()
        self._notes: Counter[str] = Counter()
        self._disagreeing: list[int] = []

    def add(self, revisions: Sequence[Revision], changes: Sequence[Change], unasked: int) -> None:
        """Count the rows of one batch."""
        self._pulls += len(revisions)
        self._changes += len(changes)
        self._unasked += unasked
        self._states.update(row.state for row in revisions)
        self._notes.update(note for row in revisions for note in row.notes)
        self._disagreeing += [row.number for row in revisions if row.agrees is False]

    def history(self, repo: str, fetched: int) -> History:
        """Return the sums."""
        return History(
            repo,
            self._pulls,
            self._changes,
            dict(sorted(self._states.items())),
            dict(sorted(self._notes.items())),
            tuple(self._disagreeing),
            fetched,
            self._unasked,
        )


def _read_refs(clone: Path) -> Refs:
    heads: dict[int, str] = {}
    branches: dict[str, str] = {}
    for name, value in read_refs(clone).items():
        kind, _, rest = name.removeprefix("refs/").partition("/")
        number = rest.removesuffix("/head")
        if kind == "heads":
            branches[rest] = value
        elif kind == "pull" and number.isdecimal():
            heads[int(number)] = value
    return Refs(heads, branches)


def _read_ancestry(clone: Path, tables: Tables, refs: Refs, objects: Objects) -> Ancestry:
    """Read the history with the commits that the API names and no ref leads to any more."""
    named: list[str] = []
    for pulls in tables.pulls(_AT_ONCE):
        shas = [sha for pull in pulls for sha in pull.shas]
        answers = zip(shas, objects.info(shas), strict=True)
        named += [sha for sha, info in answers if info is not None and info.kind == "commit"]
    return read_ancestry(clone, named, refs.branches.get(tables.default_branch or ""))


def _sorted_files(
    settled: Iterable[tuple[Revision, Sequence[Touched]]],
) -> Iterator[tuple[int, Touched]]:
    """Yield each file in the order of the table; a tree that names one twice is broken."""
    for revision, touched in settled:
        once = {path_text(file.path): file for file in reversed(touched)}
        yield from ((revision.number, once[path]) for path in sorted(once))


def _table(rows: Sequence[Revision] | Sequence[Change], table: Table) -> pa.Table:
    schema = pa.schema([field for field in table.schema if field.name != "repo"])
    columns = [pa.array([getattr(row, field.name) for row in rows], field.type) for field in schema]
    return pa.table(columns, schema=schema)
