"""Plans: the whole pipeline, declared in one file and run where something changed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from goldpan.operations.values import LOCAL, Execution, several

if TYPE_CHECKING:
    from goldpan.plan.outlook import DryRun, PlanStatus
    from goldpan.plan.results import PlanResult


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

    Args:
        plan (PLAN): The plan, a TOML file (docs/plans.md).
        only (UNIT): Only these units: a stage, OWNER/NAME or both, such as filter/OWNER/NAME; may
            be given several times.
        update: Mine what changed, regardless of the refresh setting.
        select: Search again for the selected repositories.
        force: Also run units that are up to date.
        dry_run: Only show what would run, why, and what it would cost.
        execution: Where units are run; all machines have to see the workspace and the plan.
        workspace: A directory or s3://BUCKET/NAME. (default: the plan's)
        progress: Show progress on standard error.

    """
    from goldpan.plan.assess import RunSelection
    from goldpan.plan.cluster import open_cluster
    from goldpan.plan.file import load_plan
    from goldpan.plan.make import open_workspace
    from goldpan.plan.outlook import DryRun
    from goldpan.plan.progress import listening
    from goldpan.plan.run import OpenPlan

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


def plan_status(
    plan: Path | str, workspace: str | Path | None = None, html: Path | None = None
) -> PlanStatus:
    """Return which units of a plan are up to date, and write a page on its repositories."""
    from goldpan.core.progress import Reporter
    from goldpan.plan.assess import RunSelection
    from goldpan.plan.file import load_plan
    from goldpan.plan.make import open_workspace
    from goldpan.plan.outlook import PlanStatus
    from goldpan.plan.overview import write_workspace_overview
    from goldpan.plan.run import OpenPlan

    file = load_plan(plan)
    lab = open_workspace(file, workspace)
    opened = OpenPlan(file, lab, Reporter(quiet=True), keep=False)
    judged = opened.assess(RunSelection(refresh=False))  # which says when, not whether all is well
    if html is not None:
        write_workspace_overview(lab.layout, html, judged)
    return PlanStatus(tuple(judged), file.path, lab.path)
