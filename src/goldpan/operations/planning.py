"""Plans: the whole pipeline, declared in one file and run where something changed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from goldpan.operations.values import LOCAL, Execution, several

if TYPE_CHECKING:
    from goldpan.demo.pipeline import DemoResult
    from goldpan.operations.workspace import Workspace
    from goldpan.plan.results import PlanResult
    from goldpan.plan.status import DryRun


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
    from goldpan.plan.progress import listening
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


def demo(self: Workspace) -> DemoResult:
    """Run the whole pipeline offline on a small repository that ships with Goldpan.

    The workspace is demo-workspace where none is named.
    """
    from goldpan.demo.pipeline import run_demo

    is_named = "workspace" in self.given
    lab = self if is_named else type(self)("demo-workspace", progress=self.shows_progress)
    return run_demo(lab, progress=lab.shows_progress)
