"""Brings the history of a repository home, and reads it: `goldpan clone`."""

from __future__ import annotations

from functools import partial

from goldpan.core.config import Settings
from goldpan.core.progress import Reporter
from goldpan.core.workspace import Workspace
from goldpan.git.clone import CloneResult, clone
from goldpan.git.remote import find_remote
from goldpan.miners.github.connect import connect
from goldpan.miners.history.revisions import History, read_history


def bring_history(
    settings: Settings,
    workspace: Workspace,
    repo: str,
    reporter: Reporter,
    *,
    source: str | None = None,
    network: bool | None = None,
) -> tuple[CloneResult, History]:
    """Clone or update a repository and write `revisions` and `changes`, under its lock.

    `source` is a git address, a local mirror or a bundle, instead of GitHub. With a local one
    nothing else is asked of the network, unless `network` says so.
    """
    token = settings.tokens[0] if settings.tokens else None
    host = settings.git_host
    if network is None:
        network = not find_remote(repo, source, token, host).is_local
    client = partial(connect, settings, reporter) if network else None
    with workspace.lock(repo):
        cloned = clone(workspace, repo, reporter, source=source, token=token, host=host)
        history = read_history(
            workspace, repo, reporter, client=client, token=token, host=host, network=network
        )
    return cloned, history
