"""Questions to a workspace: whether it is whole, and what stands behind its entries and rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from goldpan.core.workspace import existing

if TYPE_CHECKING:
    from goldpan.check import CheckResult
    from goldpan.miners.repair import Repair
    from goldpan.operations.workspace import Workspace


def check(self: Workspace) -> CheckResult:
    """Verify every file of the workspace against its digest."""
    from goldpan.check import check_workspace

    with self.reporting() as reporter:
        return check_workspace(existing(self.layout), reporter)


def repair(self: Workspace, *repos: str) -> dict[str, Repair]:
    """Set damaged raw replies aside and keep the rest, without network access.

    Without repositories, all archives of the workspace that are damaged are mended.
    """
    from goldpan.check import repair_archives
    from goldpan.miners.repair import repair

    if not repos:
        return repair_archives(existing(self.layout))
    repairs = {}
    for name in repos:
        with self.layout.lock(name):
            repairs[name] = repair(self.layout.raw(name))
    return repairs
