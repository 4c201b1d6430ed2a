"""Runs a plan: only what is due, each unit for itself, with a record of each."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import groupby

from goldpan.core.errors import UsageError, WorkspaceError
from goldpan.core.parallel.engine import RayCluster
from goldpan.core.storage.workspace import hold_lock, make_directory
from goldpan.core.terminal import Reporter
from goldpan.operations.workspace import Workspace
from goldpan.plan.cluster import PlanCluster
from goldpan.plan.due import Assessment, Job, RunSelection, assess, assess_all, priced
from goldpan.plan.file import PlanFile
from goldpan.plan.make import Store, make_steps, store_of
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
from goldpan.plan.unit import Change, Stage, UnitRecord, read_record, write_record


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
        self.file = file
        self.lab = lab
        self.store: Store = store_of(file, lab)
        self.records: dict[str, UnitRecord | None] = {}
        self.context = Context(file, lab, self.record)
        self.selection = self._select(reporter, anew=select, keep=keep)
        self.repositories = repositories_of(file.plan.repositories, self.selection)
        self.steps: list[Step] = make_steps(self.context, self.store, self.repositories)
        self._reporter = reporter
        self._cluster: PlanCluster | None = None
        self._numbers = {step.unit.name: number for number, step in enumerate(self.steps, 1)}

    def record(self, unit: str) -> UnitRecord | None:
        """Return what is kept of a unit."""
        if unit not in self.records:
            self.records[unit] = read_record(self.store.record(unit))
        return self.records[unit]

    def assess(self, chosen: RunSelection, *, price: bool = False) -> list[Assessment]:
        """Judge all units, with what those that are due would take where `price` says so."""
        self._check_selection(chosen)
        records = {step.unit.name: self.record(step.unit.name) for step in self.steps}
        judged = assess_all(self.steps, self.lab.path, records, chosen)
        pairs = [
            (assessment, step)
            for assessment, step in zip(judged, self.steps, strict=True)
            if chosen.takes(step.unit)
        ]
        if not price:
            return [assessment for assessment, _ in pairs]
        due = [step for assessment, step in pairs if assessment.why or assessment.after]
        mining = price_together(due, self.context, self._reporter)
        costs = {step.unit.name: mining.get(step.unit.name) or step.price() for step in due}
        return [
            priced(assessment, costs[step.unit.name], judged)
            if step.unit.name in costs
            else assessment
            for assessment, step in pairs
        ]

    def run(
        self, chosen: RunSelection, listener: Listener, ray: RayCluster | None = None
    ) -> PlanResult:
        """Run what is due, here or on a cluster."""
        self._check_selection(chosen)
        started = time.monotonic()
        results: dict[str, UnitResult] = {}
        make_directory(self.store.root)
        busy = WorkspaceError(
            f"Another goldpan is running the plan {self.file.name} in {self.lab.path}",
            "Wait for it",
        )
        with hold_lock(self.store.root / "lock", busy), ExitStack() as stack:
            self.records.clear()
            if ray is not None:
                cluster = PlanCluster(ray, self.file, self.lab, self._reporter)
                self._cluster = stack.enter_context(cluster.checked())
                stack.callback(setattr, self, "_cluster", None)
            for (stage, _), steps in groupby(self.steps, _rank):
                self._run_stage(stage, list(steps), chosen, results, listener)
        ended = [results[step.unit.name] for step in self.steps if chosen.takes(step.unit)]
        return PlanResult(
            self.file.name,
            self.lab.path,
            self.repositories,
            tuple(ended),
            time.monotonic() - started,
        )

    def _select(self, reporter: Reporter, *, anew: bool, keep: bool) -> Selection | None:
        repositories = self.file.plan.repositories
        if not repositories.select:
            return None
        earlier = read_selection(self.store.selection)
        if earlier is not None and not anew and is_current(earlier, repositories):
            return earlier
        selection = select_repositories(self.lab.settings, repositories, reporter)
        if keep:
            write_selection(self.store.selection, selection)
        reporter.note(summary_of(selection, repositories))
        return selection

    def _check_selection(self, chosen: RunSelection) -> None:
        for name in chosen.only:
            if not any(RunSelection((name,)).takes(step.unit) for step in self.steps):
                raise UsageError(
                    f"--only {name} names no unit of the plan {self.file.name}",
                    "Give a stage, a repository or both, as filter/OWNER/NAME; --dry-run lists all",
                )

    def _run_stage(
        self,
        stage: Stage,
        steps: Sequence[Step],
        chosen: RunSelection,
        results: dict[str, UnitResult],
        listener: Listener,
    ) -> None:
        """Run what is due of a stage, of units none of which depends on another."""
        of_stage = sum(other.unit.stage == stage for other in self.steps)
        due = []
        for step in steps:
            job = self._judge(step, chosen, results, listener, of_stage)
            if job.result is None:
                due.append(job)
            else:
                results[step.unit.name] = job.result
        if stage == "mine" and len(due) > 1:
            mine_together(due, self.context, self._reporter)
        else:
            sent = []
            for job in due:
                if self._cluster is not None and self._cluster.takes(job.step):
                    sent.append(job)
                else:
                    job.run()
            if self._cluster is not None:
                self._cluster.run(sent)
        self.context.memory.clear()
        results |= {job.step.unit.name: job.result for job in due if job.result is not None}

    def _judge(
        self,
        step: Step,
        chosen: RunSelection,
        results: dict[str, UnitResult],
        listener: Listener,
        of_stage: int,
    ) -> Job:
        """Return a unit as a job, which has a result where it is not due."""
        unit, total = step.unit, len(self.steps)

        def tell(kind: Kind, why: tuple[Change, ...], result: UnitResult | None) -> None:
            number = self._numbers[unit.name]
            listener(Event(kind, unit, number, total, of_stage, now(), why, result))

        job = Job(step, self.record(unit.name), self.lab.path, self._keep, tell)
        needed = [results[name] for name in unit.needs if name in results]
        blocker = next((result for result in needed if result.blocks_others), None)
        if blocker is not None:
            because = blocker.because or blocker.unit.name
            how = {"failed": "failed", "partial": "waits"}.get(
                results[because].state, "was skipped"
            )
            job.finish("skipped", said=f"needs {because}, which {how}", because=because)
            return job
        try:
            judged = assess(step, self.lab.path, job.record, chosen)
        except Exception as error:  # noqa: BLE001 - no unit stops the others
            job.fail(error, ran=False)
            return job
        assert judged.recipe is not None
        job.recipe, job.why = judged.recipe, judged.why
        if not judged.why:
            last = job.record
            assert last is not None
            state: Ended = "partial" if last.lacks else "fresh"
            job.finish(state, said=last.said, lacks=last.lacks, waits=last.waits)
        elif not chosen.takes(unit):
            left_out = f"it is not up to date, and --only leaves it out: {judged.why[0]}"
            job.finish("skipped", said=left_out)
        return job

    def _keep(self, record: UnitRecord) -> None:
        write_record(self.store.record(record.unit), record)
        self.records[record.unit] = record


def _rank(step: Step) -> tuple[Stage, bool]:
    """Return the stage, and whether the unit needs another one of it."""
    stage = step.unit.stage
    return stage, any(name.startswith(f"{stage}/") for name in step.unit.needs)
