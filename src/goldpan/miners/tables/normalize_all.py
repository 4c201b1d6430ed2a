"""Makes tables of many repositories, dealt out by size so that none is waited for at the end."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from goldpan.core.archive import Archive, lost_replies, run_files
from goldpan.core.engine import EngineName, open_engine
from goldpan.core.errors import WorkspaceError
from goldpan.core.imports import do_without_pandas
from goldpan.core.lineage import read_lineage
from goldpan.core.progress import Reporter
from goldpan.core.result import Block, Result, Table
from goldpan.core.workspace import Workspace
from goldpan.miners.journal import Journal
from goldpan.miners.tables.normalize import normalize


def deal(sizes: Mapping[str, int], processes: int, worth: int) -> list[str]:
    """Return the units that go to processes of their own, the largest first.

    Left out are those larger than the even share of a process: all processes had better work on
    each of them together. None goes where they sum up to less than what is `worth` the start of
    processes, or are fewer than two.
    """
    most = sum(sizes.values()) / max(processes, 1)
    dealt = sorted((unit for unit in sizes if sizes[unit] <= most), key=lambda unit: -sizes[unit])
    worthwhile = sum(sizes[unit] for unit in dealt) >= worth
    return dealt if processes > 1 and len(dealt) > 1 and worthwhile else []


_WORTH_PROCESSES = 8 << 20  # bytes of replies; starting processes takes as long as reading them


class TableCounts(Result, Mapping[str, Mapping[str, int]]):
    """How many rows each table of each repository has."""

    def __init__(self, counts: Mapping[str, Mapping[str, int]]) -> None:
        self._counts = dict(counts)

    def __getitem__(self, repo: str) -> Mapping[str, int]:
        return self._counts[repo]

    def __iter__(self) -> Iterator[str]:
        return iter(self._counts)

    def __len__(self) -> int:
        return len(self._counts)

    def plain(self) -> dict[str, dict[str, int]]:
        """Return the counts by repository and table."""
        return {repo: dict(rows) for repo, rows in self._counts.items()}

    def blocks(self) -> Iterator[Block]:
        """Yield one table of all."""
        cells = [(repo, *row) for repo, rows in self._counts.items() for row in rows.items()]
        yield Table(("repository", "table", "rows"), cells)


def normalize_all(
    workspace: Workspace,
    repos: Sequence[str],
    reporter: Reporter,
    workers: int,
    license: str | None,
    engine: EngineName = "local",
    address: str = "",
) -> TableCounts:
    """Make the tables of repositories and return their row counts, in the order given.

    On a cluster, or in as many processes as there are `workers`: each works on a repository of
    its own, and all of them together on one that is larger than the share of each.
    """
    processes = workers or os.cpu_count() or 1
    dealt = list(repos)
    if engine == "local":
        sizes = {repo: _archive_size(workspace, repo) for repo in repos}
        dealt = deal(sizes, processes, _WORTH_PROCESSES)
    counts = {
        repo: normalize_again(workspace, repo, reporter, workers, license)
        for repo in repos
        if repo not in dealt
    }
    if dealt:
        absolute = replace(workspace, root=workspace.root.absolute())
        alone = _normalize_alone if engine == "local" else _normalize_quietly
        with (
            open_engine(engine, processes, address) as machines,
            reporter.task("Repositories", len(dealt)) as task,
        ):
            row_counts = machines.map(partial(alone, absolute, license), dealt)
            for repo, rows in zip(dealt, row_counts, strict=True):
                counts[repo] = rows
                task.advance()
    return TableCounts({repo: counts[repo] for repo in repos})


def _archive_size(workspace: Workspace, repo: str) -> int:
    return sum(path.stat().st_size for path in run_files(workspace.raw(repo)))


def _normalize_alone(workspace: Workspace, license: str | None, repo: str) -> dict[str, int]:
    """Make a repository's tables in a process that does nothing else."""
    do_without_pandas()
    return _normalize_quietly(workspace, license, repo)


def _normalize_quietly(workspace: Workspace, license: str | None, repo: str) -> dict[str, int]:
    return normalize_again(workspace, repo, Reporter(quiet=True), 1, license)


def normalize_again(
    workspace: Workspace, repo: str, reporter: Reporter, workers: int, license: str | None
) -> dict[str, int]:
    """Make a repository's tables and return their row counts; asks nothing of the network.

    A stated license goes into the archive, so that the tables stay a function of it.
    """
    with workspace.lock(repo):
        check_replies(workspace, repo)
        if license is not None:
            with Archive(workspace.raw(repo)) as archive:
                journal = Journal(archive)
                archive.begin(resume=True)
                journal.mark("license", [], license=license)
        return normalize(workspace, repo, reporter, workers=workers)


def check_replies(workspace: Workspace, repo: str) -> None:
    """Raise `WorkspaceError` where the replies that tables were made of are not all there.

    The end of the newest run may be cut off as if by a kill: only the tables tell. What a repair
    could not save is told by `goldpan status`.
    """
    inputs = read_lineage(workspace.tables(repo), "normalize")["inputs"]
    if lost := lost_replies(workspace.raw(repo), inputs):
        path, count = lost
        raise WorkspaceError(
            f"{path} no longer holds the {count:,} replies that the tables were made of",
            f"Restore it, or run goldpan mine --repo {repo}",
        )
