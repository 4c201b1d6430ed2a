"""Makes tables anew, with a licence that the user states: `goldpan normalize`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from goldpan.core.archive import Archive
from goldpan.core.engine import EngineName, open_engine
from goldpan.core.progress import Reporter
from goldpan.core.workspace import Workspace
from goldpan.miners.journal import Journal
from goldpan.miners.tables.inputs import check_replies
from goldpan.miners.tables.normalize import normalize


def normalize_all(
    workspace: Workspace,
    repos: Sequence[str],
    reporter: Reporter,
    workers: int,
    license: str | None,
    engine: EngineName = "local",
    address: str = "",
) -> dict[str, dict[str, int]]:
    """Make the tables of repositories, one after the other or on a cluster; see below."""
    if engine == "local":
        return {
            repo: normalize_again(workspace, repo, reporter, workers, license) for repo in repos
        }
    absolute = replace(workspace, root=workspace.root.absolute())
    work = partial(_normalize_quietly, absolute, license)
    with (
        open_engine(engine, workers or os.cpu_count() or 1, address) as machines,
        reporter.task("Repositories", len(repos)) as task,
    ):
        counts = {}
        for repo, rows in zip(repos, machines.map(work, repos), strict=True):
            counts[repo] = rows
            task.advance()
        return counts


def _normalize_quietly(workspace: Workspace, license: str | None, repo: str) -> dict[str, int]:
    return normalize_again(workspace, repo, Reporter(quiet=True), 1, license)


def normalize_again(
    workspace: Workspace, repo: str, reporter: Reporter, workers: int, license: str | None
) -> dict[str, int]:
    """Make a repository's tables and return their row counts; asks nothing of the network.

    A stated licence goes into the archive, so that the tables stay a function of it.
    """
    with workspace.lock(repo):
        check_replies(workspace, repo)
        if license is not None:
            with Archive(workspace.raw(repo)) as archive:
                journal = Journal(archive)
                archive.begin(resume=True)
                journal.mark("license", [], license=license)
        return normalize(workspace, repo, reporter, workers=workers)
