"""`goldpan run`, which imports what it needs when it is called."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from goldpan.core.errors import UsageError, choices
from goldpan.core.values import LOCAL, Execution, several
from goldpan.workspace.checking import checked
from goldpan.workspace.workspace import Workspace

if TYPE_CHECKING:
    from goldpan.core.terminal import Reporter
    from goldpan.plan.opened import OpenPlan
    from goldpan.plan.record import DryRun, PlanResult
    from goldpan.plan.section import PlanFile


@partial(checked, is_bound=False)
def run(
    plan: Path | str | None = None,
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
        dry_run: Only show what would run, and why.
        workspace: A directory or s3://BUCKET/NAME. (default: the plan's)
        progress: Show progress on standard error.
    """
    from goldpan.core.terminal import Reporter
    from goldpan.plan.file import load_plan
    from goldpan.plan.opened import open_workspace
    from goldpan.plan.record import DryRun
    from goldpan.plan.run import PlanRun, reported_to

    if plan is None:
        raise _without_plan(workspace)
    file, reporter = load_plan(plan), Reporter(quiet=not progress)
    lab = open_workspace(file, workspace, progress=progress)
    opened = open_plan(file, lab, reporter, execution, select=select, keep=not dry_run)
    running = PlanRun(
        opened, only=several(only), update=update, force=force, tell=reported_to(reporter)
    )
    if dry_run:
        return DryRun(running.judged(), file.path, lab.path)
    where = Execution(**opened.execution)
    if where.engine == "local":
        return running.run()
    from goldpan.core.parallel.engine import open_engine

    with open_engine(where, where.workers or os.cpu_count()):  # one cluster for all stages
        return running.run()


def _without_plan(workspace: str | Path | None) -> UsageError:
    """Return the error that offers the plans that are there."""
    from goldpan.core.settings.config import load_settings

    root = workspace or load_settings({}, with_tokens=False).workspace
    plans = dict.fromkeys((Path(root) / "plan.toml", Path("plan.toml")))
    there = [f"goldpan run {shlex.quote(str(path))}" for path in plans if path.exists()]
    remedy = f"Run {choices(there)}" if there else "Run goldpan init, which writes a plan to edit"
    return UsageError("PLAN is missing", remedy)


def open_plan(
    file: PlanFile,
    lab: Workspace,
    reporter: Reporter,
    execution: Execution = LOCAL,
    *,
    select: bool = False,
    keep: bool = True,
) -> OpenPlan:
    """Check a plan in its workspace and open it with its repositories; see `selection.select`."""
    from goldpan.core.storage.workspace import tasks_directory
    from goldpan.plan.file import check_plan
    from goldpan.plan.opened import OpenPlan
    from goldpan.plan.selection import select as select_repositories

    check_plan(file, tasks_directory(lab.path))
    stored = OpenPlan(file, lab).folder / "selection.json"
    planned = file.head.repositories
    settings = lab.github if planned.select else lab.settings
    repos = select_repositories(planned, stored, settings, reporter, anew=select, keep=keep)
    return OpenPlan(file, lab, repos, execution)
