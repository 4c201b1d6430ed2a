"""How complete and how whole a workspace is, and what of it may go."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from goldpan.core.errors import UsageError
from goldpan.core.remote import mirror_at
from goldpan.core.result import Results
from goldpan.core.settings.config import CONFIG_FILE
from goldpan.core.storage.workspace import existing
from goldpan.core.values import output_file
from goldpan.workspace.opening import OpenWorkspace
from goldpan.workspace.repositories import known_repositories

if TYPE_CHECKING:
    from goldpan.core.remote.mirror import Pruned
    from goldpan.lineage.check import CheckResult
    from goldpan.miners.coverage import Coverage


def status(self: OpenWorkspace, *repos: str, html: Path | str | None = None) -> Results[Coverage]:
    """Compare announced with stored counts, and list what is missing and why.

    Example: goldpan status --repo numpy/numpy

    Args:
        html: Also write an HTML page about all repositories of the workspace.
    """
    from goldpan.filters.basis import stored_profiles
    from goldpan.miners.coverage import measure_coverage
    from goldpan.miners.tables.normalize import check_replies

    page, coverages = output_file("html", html), []
    for name in known_repositories(self.layout, repos, "raw"):
        coverages.append(measure_coverage(self.layout, name))  # tells damage from what was cut off
        check_replies(self.layout, name)
    if page is not None:
        from goldpan.report.workspace_page import write_workspace_page

        write_workspace_page(self.layout, page, coverages)
    return Results(
        replace(coverage, stored=stored_profiles(self.layout, coverage.repo))
        for coverage in coverages
    )


def check(
    self: OpenWorkspace, path: Path | str | None = None, *, repair: bool = False
) -> CheckResult:
    """Verify every file of a workspace, and say what to run again if one is damaged.

    Of a damaged file it also says what was made of it. Exits with 1 if something is damaged.

    Example: goldpan check lab

    Args:
        path (WORKSPACE): The workspace, if it is not this one.
        repair: Set damaged archives aside and keep the rest, without network access.
    """
    from goldpan.lineage.check import check_workspace, repair_archives

    layout = existing(self.layout if path is None else self.opened(path).layout)
    repaired = tuple(repair_archives(layout)) if repair else ()
    with self.reporting() as reporter:
        checked = replace(check_workspace(layout, reporter), repaired=repaired)
    if not checked.files and not (layout.root / CONFIG_FILE).exists():
        raise UsageError(
            f"{layout.root} holds no file of a workspace",
            "Give the directory that is named with --workspace, or mine into it first",
        )
    return checked


def prune(
    self: OpenWorkspace, *, older_than: Annotated[float, Parameter(validator=Number(gte=0))] = 7.0
) -> Pruned:
    """Delete from a store what its workspace no longer uses.

    See docs/workspaces.md.

    Example: goldpan prune --workspace s3://lab/data --older-than 30

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
