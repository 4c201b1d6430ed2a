"""Brings the history of a repository home, and reads it: `goldpan clone`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from goldpan.core.config import Settings
from goldpan.core.progress import Reporter
from goldpan.core.result import Block, Line, Result, Table, Title
from goldpan.core.workspace import Workspace
from goldpan.git.clone import CloneResult, clone
from goldpan.git.remote import find_remote, source_of
from goldpan.miners.github.connect import connect
from goldpan.miners.history.revisions import History, read_history

_MOST_NUMBERS = 20


@dataclass(frozen=True, slots=True)
class FetchedHistory(Result):
    """The history of a repository: its clone, and what reading that found."""

    clone: CloneResult
    history: History

    def plain(self) -> dict[str, Any]:
        """Return what is known of both."""
        return {**asdict(self.clone), **asdict(self.history)}

    def blocks(self) -> Iterator[Block]:
        """Yield how many pull requests have which state, and what was odd."""
        history = self.history
        yield Title(
            history.repo,
            f": {self.clone.refs:,} refs, {history.pulls:,} pull requests "
            f"read, {history.changes:,} changed files, {history.fetched:,} files fetched",
        )
        if self.clone.kept:
            yield Line(f"{self.clone.kept:,} commits that the source no longer has are kept")
        cells = [*history.states.items(), *history.notes.items()]
        yield Table(("state or note", "pull requests"), cells)
        if history.unasked:
            yield Line(
                f"git cannot tell what {history.unasked:,} pull requests changed, and the network "
                "was not asked: goldpan clone --network asks GitHub for their diffs"
            )
        if history.disagreeing:
            numbers = ", ".join(f"#{number}" for number in history.disagreeing[:_MOST_NUMBERS])
            more = len(history.disagreeing) - _MOST_NUMBERS
            others = f" and {more:,} more" if more > 0 else ""
            yield Line(f"Size differs from GitHub's figures: {numbers}{others}")


def fetch_histories(
    settings: Settings,
    workspace: Workspace,
    repos: Sequence[str],
    reporter: Reporter,
    *,
    source: str | None = None,
    network: bool | None = None,
) -> list[FetchedHistory]:
    """Bring the histories of repositories as below, as many at once as settings allow processes.

    In `source`, ``{owner}`` and ``{name}`` stand for those of each repository. Threads are enough
    for it: most of the work is git's, in processes of its own. The first failure ends what has not
    begun, and is raised when the rest has ended.
    """

    def bring(repo: str) -> FetchedHistory:
        own = None if source is None else source_of(source, repo)
        said = reporter.named(repo) if len(repos) > 1 else reporter
        return fetch_history(settings, workspace, repo, said, source=own, network=network)

    pool = ThreadPoolExecutor(min(settings.processes, len(repos)) or 1)
    try:
        return list(pool.map(bring, repos))
    finally:
        pool.shutdown(cancel_futures=True)


def fetch_history(
    settings: Settings,
    workspace: Workspace,
    repo: str,
    reporter: Reporter,
    *,
    source: str | None = None,
    network: bool | None = None,
) -> FetchedHistory:
    """Clone or update a repository and write `revisions` and `changes`, under its lock.

    `source` is a git address, a local mirror or a bundle, instead of GitHub. With a local one
    nothing else is asked of the network, unless `network` says so.
    """
    token = settings.tokens[0] if settings.tokens else None
    host = settings.git_host
    if source is None:
        settings.trust.require("api_url")
    if network is None:
        network = not find_remote(repo, source, token, host).is_local
    client = partial(connect, settings, reporter) if network else None
    with workspace.lock(repo):
        cloned = clone(workspace, repo, reporter, source=source, token=token, host=host)
        history = read_history(
            workspace, repo, reporter, client=client, token=token, host=host, network=network
        )
    return FetchedHistory(cloned, history)
