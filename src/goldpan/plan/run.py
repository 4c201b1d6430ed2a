"""Runs a plan: only what is due, each unit for itself, with a record of each."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from itertools import groupby

from goldpan.core.errors import UsageError, WorkspaceError
from goldpan.core.parallel.engine import RayCluster
from goldpan.core.storage.workspace import hold_lock, make_directory
from goldpan.core.terminal import Reporter
from goldpan.plan.cluster import PlanCluster
from goldpan.plan.due import Assessment, Job, RunSelection, assess, assess_all, priced
from goldpan.plan.file import PlanFile
from goldpan.plan.make import make_steps
from goldpan.plan.mining import (
    Selection,
    is_current,
    mine_together,
    price_together,
    read_selection,
    repositories_of,
    select_repositories,
    summary_of,
    write_selection,
)
from goldpan.plan.results import Ended, Event, Kind, Listener, PlanResult, UnitResult, now
from goldpan.plan.step import Context, Step
from goldpan.plan.unit import Change, Stage, UnitRecord
from goldpan.workspace.workspace import Workspace


class OpenPlan:
    """A plan with its workspace, its repositories and its steps."""

    def __init__(
        self,
        file: PlanFile,
        lab: Workspace,
        reporter: Reporter,
        *,
        select: bool = False,
        keep: bool = True,
    ) -> None:
        """Open it; GitHub is searched where repositories are selected and were not before.

        What it finds is stored where `keep` says so.
        """
        self.context = Context(file, lab)
        self._reporter = reporter
        selection = self._select(anew=select, keep=keep)
        self.repositories = repositories_of(file.plan.repositories, selection)
        self.steps: list[Step] = make_steps(self.context, self.repositories)
        self._stages = Counter(step.unit.stage for step in self.steps)
        self._numbers = {step.unit.name: number for number, step in enumerate(self.steps, 1)}

    def assess(self, chosen: RunSelection, *, price: bool = False) -> list[Assessment]:
        """Judge all units, with what those that are due would take where `price` says so."""
        self._check_selection(chosen)
        judged = assess_all(self.steps, chosen)
        taken = [assessment for assessment in judged if chosen.takes(assessment.unit)]
        if not price:
            return taken
        steps = {step.unit.name: step for step in self.steps}
        due = [steps[assessment.unit.name] for assessment in taken if assessment.is_open]
        mining = price_together(due, self.context, self._reporter)
        costs = {step.unit.name: mining.get(step.unit.name) or step.price() for step in due}
        past: dict[Stage, list[UnitRecord]] = defaultdict(list)
        for assessment in judged:
            if (record := assessment.record) is not None and record.seconds:
                past[assessment.unit.stage].append(record)
        return [
            priced(assessment, costs[name], past[assessment.unit.stage])
            if (name := assessment.unit.name) in costs
            else assessment
            for assessment in taken
        ]

    def run(
        self, chosen: RunSelection, listener: Listener, ray: RayCluster | None = None
    ) -> PlanResult:
        """Run what is due, here or on a cluster."""
        self._check_selection(chosen)
        started, (file, lab) = time.monotonic(), (self.context.file, self.context.lab)
        jobs: dict[str, Job] = {}
        make_directory(self.context.folder)
        busy = WorkspaceError(
            f"Another goldpan is running the plan {file.name} in {lab.path}", "Wait for it"
        )
        with hold_lock(self.context.folder / "lock", busy), ExitStack() as stack:
            self.context.records.clear()
            cluster = None
            if ray is not None:
                cluster = PlanCluster(ray, file, lab, self._reporter)
                stack.enter_context(cluster.checked())
            for (stage, _), steps in groupby(self.steps, _rank):
                for step in steps:
                    jobs[step.unit.name] = self._judge(step, chosen, jobs, listener)
                self._run_jobs(stage, [job for job in jobs.values() if not job.result], cluster)
        taken = [jobs[step.unit.name] for step in self.steps if chosen.takes(step.unit)]
        ended = tuple(job.result for job in taken if job.result is not None)
        seconds = time.monotonic() - started
        return PlanResult(file.name, lab.path, self.repositories, ended, seconds)

    def _select(self, *, anew: bool, keep: bool) -> Selection | None:
        context, repositories = self.context, self.context.file.plan.repositories
        if not repositories.select:
            return None
        earlier = read_selection(context.selection_file)
        if earlier is not None and not anew and is_current(earlier, repositories):
            return earlier
        selection = select_repositories(context.lab.settings, repositories, self._reporter)
        if keep:
            write_selection(context.selection_file, selection)
        self._reporter.note(summary_of(selection, repositories))
        return selection

    def _check_selection(self, chosen: RunSelection) -> None:
        for name in chosen.only:
            if not any(RunSelection((name,)).takes(step.unit) for step in self.steps):
                raise UsageError(
                    f"--only {name} names no unit of the plan {self.context.file.name}",
                    "Give a stage, a repository or both, as filter/OWNER/NAME; --dry-run lists all",
                )

    def _run_jobs(self, stage: Stage, due: Sequence[Job], cluster: PlanCluster | None) -> None:
        """Run what is due of a stage, of units none of which depends on another."""
        if stage == "mine" and len(due) > 1:
            mine_together(due, self.context, self._reporter)
        else:
            sent = []
            for job in due:
                if cluster is not None and cluster.takes(job.step):
                    sent.append(job)
                else:
                    job.run()
            if cluster is not None:
                cluster.run(sent)
        self.context.memory.clear()

    def _judge(
        self, step: Step, chosen: RunSelection, jobs: Mapping[str, Job], listener: Listener
    ) -> Job:
        """Return a unit as a job, which has a result where it is not due."""
        unit, record = step.unit, step.record
        numbers = self._numbers[unit.name], len(self.steps), self._stages[unit.stage]

        def tell(kind: Kind, why: tuple[Change, ...], result: UnitResult | None) -> None:
            listener(Event(kind, unit, *numbers, now(), why, result))

        job = Job(step, tell)
        needed = [jobs[name].result for name in unit.needs if name in jobs]
        blocker = next((result for result in needed if result and result.blocks_others), None)
        if blocker is not None:
            because = blocker.because or blocker.unit.name
            cause = jobs[because].result
            how = {"failed": "failed", "partial": "waits"}.get(
                cause.state if cause else "", "was skipped"
            )
            job.finish("skipped", said=f"needs {because}, which {how}", because=because)
            return job
        try:
            judged = assess(step, chosen)
        except Exception as error:  # noqa: BLE001 - no unit stops the others
            job.fail(error, ran=False)
            return job
        assert judged.recipe is not None
        job.recipe, job.why = judged.recipe, judged.why
        if not judged.why:
            assert record is not None
            state: Ended = "partial" if record.lacks else "fresh"
            job.finish(state, said=record.said, lacks=record.lacks, waits=record.waits)
        elif not chosen.takes(unit):
            left_out = f"it is not up to date, and --only leaves it out: {judged.why[0]}"
            job.finish("skipped", said=left_out)
        return job


def _rank(step: Step) -> tuple[Stage, bool]:
    """Return the stage, and whether the unit needs another one of it."""
    stage = step.unit.stage
    return stage, any(name.startswith(f"{stage}/") for name in step.unit.needs)
