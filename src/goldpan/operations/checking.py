"""Care for a workspace: whether everything in it is as it was written, and what may go."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

from goldpan.core.errors import UsageError
from goldpan.core.remote import mirror_at
from goldpan.core.workspace import existing
from goldpan.operations.signature import opens_with
from goldpan.operations.values import Limits

if TYPE_CHECKING:
    from goldpan.check import CheckResult
    from goldpan.core.remote.mirror import Pruned
    from goldpan.operations.workspace import Workspace


@opens_with("path")
def check(self: Workspace, *, repair: bool = False) -> CheckResult:
    """Verify every file of a workspace, and say what to run again if one is damaged.

    Of a damaged file it also says what was made of it. Exits with 1 if something is damaged.

    Args:
        repair: Set damaged archives aside and keep the rest, without network access.
    """
    from goldpan.check import check_workspace, repair_archives

    layout = existing(self.layout)
    repaired = tuple(repair_archives(layout)) if repair else ()
    with self.reporting() as reporter:
        return replace(check_workspace(layout, reporter), repaired=repaired)


def prune(self: Workspace, *, older_than: Annotated[float, Limits(0)] = 7.0) -> Pruned:
    """Delete from a store what its workspace no longer uses.

    See docs/workspaces.md.

    Args:
        older_than (DAYS): Keep what was stored in this many days, because somebody may still read
            it.
    """
    mirror = mirror_at(self.path.absolute())
    if mirror is None:
        raise UsageError(
            f"The workspace {self.path} is not in a store", "Give --workspace s3://BUCKET/NAME"
        )
    return mirror.prune(timedelta(days=older_than))
