"""Makes tables anew, with a licence that the user states: `goldpan normalize`."""

from __future__ import annotations

from goldpan.core.archive import Archive
from goldpan.core.progress import Reporter
from goldpan.core.workspace import Workspace
from goldpan.miners.journal import Journal
from goldpan.miners.tables.inputs import check_replies
from goldpan.miners.tables.normalize import normalize


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
