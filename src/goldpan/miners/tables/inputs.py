"""Whether an archive still holds the replies that tables were made of."""

from __future__ import annotations

from goldpan.core.archive import lost_replies
from goldpan.core.errors import WorkspaceError
from goldpan.core.lineage import read_lineage
from goldpan.core.workspace import Workspace


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
