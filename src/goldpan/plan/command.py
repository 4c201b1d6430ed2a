"""`goldpan run` and `goldpan status`, which import what they need when they are called."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from goldpan.core.errors import UsageError
from goldpan.core.values import LOCAL, Execution, output_file, several
from goldpan.workspace.workspace import Workspace

if TYPE_CHECKING:
    from goldpan.core.result import Results
    from goldpan.plan.results import PlanResult
    from goldpan.plan.status import DryRun, PlanStatus
    from goldpan.workspace.checking import RepositoryStatus


def run(
    plan: Path | str,
    *,
    only: str | Sequence[str] = (),
    update: bool = False,
    select: bool = False,
    force: bool = False,
    dry_run: bool = False,
    execution: Execution = LOCAL,
    workspace: str | Path | None = None,
    progress: bool = False,
) -> PlanResult | DryRun:
    """Run a plan: the whole pipeline, declared in one file. Only what changed runs.

    A unit is a stage of one repository, a dataset, an evaluation or a publication. It runs if an
    input, a setting or Goldpan's version has changed since its last run. A unit that fails stops
    only those that need it. Exits with 3 if one failed, waits for people, or something is missing;
    the same command resumes.

    Example: goldpan run plan.toml --dry-run

    Args:
        plan (PLAN): The plan, a TOML file (docs/plans.md).
        only (UNIT): Only these units: a stage, OWNER/NAME or both, such as filter/OWNER/NAME.
        update: Mine what changed, regardless of the refresh setting.
        select: Search again for the selected repositories.
        force: Also run units that are up to date.
        dry_run: Only show what would run, why, and what it would cost.
        workspace: A directory or s3://BUCKET/NAME. (default: the plan's)
        progress: Show progress on standard error.
    """
    from goldpan.plan.cluster import open_cluster
    from goldpan.plan.due import RunSelection
    from goldpan.plan.file import load_plan
    from goldpan.plan.make import open_workspace
    from goldpan.plan.results import listening
    from goldpan.plan.run import OpenPlan
    from goldpan.plan.status import DryRun

    chosen = RunSelection(several(only), update, force)
    with listening(progress=progress) as (listener, reporter, shows_stages):
        file = load_plan(plan)
        lab = open_workspace(file, workspace, progress=shows_stages)
        opened = OpenPlan(file, lab, reporter, select=select, keep=not dry_run)
        if dry_run:
            judged = opened.assess(chosen, price=True)
            return DryRun(tuple(judged), file.path, lab.path)
        with open_cluster(execution) as cluster:
            return opened.run(chosen, listener, cluster)


def status(
    lab: Workspace, *repos: str, plan: Path | str | None = None, html: Path | str | None = None
) -> Results[RepositoryStatus] | PlanStatus:
    """Compare announced with stored counts, and list what is missing and why.

    Example: goldpan status --repo numpy/numpy

    Args:
        plan: Show which units of this plan are up to date instead.
        html: Also write an HTML page about all repositories of the workspace.
    """
    if plan is None:
        return lab.status(*repos, html=html)
    if repos:
        raise UsageError("--plan shows the repositories of the plan", "Leave out --repo")
    from goldpan.plan.status import status_of_plan

    with lab.reporting() as reporter:
        return status_of_plan(lab, Path(plan), output_file("html", html), reporter)
