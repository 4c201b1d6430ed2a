"""Evaluations: which runs they take, and what those scored."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldpan.core.errors import EvaluationError, GoldpanError, UsageError
from goldpan.core.result import Result, Results
from goldpan.core.values import Execution
from goldpan.datasets.tasks.data import TaskData, task_directory
from goldpan.datasets.tasks.registry import load_tasks, tasks_of_family
from goldpan.evaluation.model import Model, UnansweredError, find_model
from goldpan.evaluation.protocol import Protocol, find_protocol, held_out_column, settings_for
from goldpan.evaluation.protocol import hold_out as hold_groups_out
from goldpan.evaluation.record import RunRecord
from goldpan.evaluation.run import estimate as estimate_run
from goldpan.evaluation.run import run as run_once
from goldpan.evaluation.task_input import (
    PLACE,
    TaskInput,
    read_places,
    read_task_input,
    with_columns,
    with_places,
)
from goldpan.llm.budget import RequestEstimate
from goldpan.workspace.dataset import Dataset, optional
from goldpan.workspace.opening import OpenWorkspace

if TYPE_CHECKING:
    import pandas as pd  # it is optional

    from goldpan.core.storage.workspace import WorkspaceLayout
    from goldpan.core.terminal import Reporter


@dataclass(frozen=True, slots=True)
class Score:
    """A run's main score, by which models are ranked."""

    task: str
    model: str
    seed: int
    metric: str
    value: float | None
    """None where it is not defined."""
    low: float | None
    """The lower end of the 95% bootstrap interval."""
    high: float | None
    examples: int
    directory: Path
    """The directory of the run's predictions and other scores."""

    @classmethod
    def of(cls, run: RunRecord) -> Score:
        """Return that of a run."""
        main = run.scores.metric(run.scores.main)
        low, high = (main.interval.low, main.interval.high) if main.interval else (None, None)
        about = (run.task, run.model, run.seed, main.name, main.value, low, high)
        return cls(*about, run.scores.examples, run.directory)


class Evaluation(Results[RunRecord]):
    """The finished runs of some models on some tasks, in the order in which they were done."""

    __slots__ = ("by", "failures")

    def __init__(
        self,
        runs: Iterable[RunRecord],
        failures: Iterable[GoldpanError] = (),
        by: Iterable[str] = (),
    ) -> None:
        super().__init__(runs)
        self.failures = tuple(failures)
        """Why other runs did not finish."""
        self.by = tuple(by)
        """The columns that scores were asked for by."""

    def __repr__(self) -> str:
        return f"Evaluation of {len(self)} run{'' if len(self) == 1 else 's'}\n{self}"

    @property
    def errors(self) -> Sequence[GoldpanError]:
        """Why other runs did not finish."""
        return self.failures

    @property
    def exit_code(self) -> int:
        """1 where a run failed, 3 where a model has not answered everything yet."""
        if not self.failures:
            return 0
        open_ones = all(isinstance(failure, UnansweredError) for failure in self.failures)
        return 3 if open_ones else 1

    @property
    def runs(self) -> tuple[RunRecord, ...]:
        """The runs."""
        return tuple(self)

    @property
    def scores(self) -> list[Score]:
        """Each run's main score, by which models are ranked."""
        return [Score.of(run) for run in self.runs]

    def to_pandas(self) -> pd.DataFrame:
        """Return the scores as a data frame, one row per run."""
        rows = [asdict(score) for score in self.scores]
        frame: pd.DataFrame = optional("pandas").DataFrame(rows)
        return frame


@dataclass(frozen=True, slots=True)
class RunEstimate(Result):
    """The estimated cost of a run in money; None for a model that costs none."""

    task: str
    model: str
    seed: int
    estimate: RequestEstimate | None


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A planned run: a task, a model and a seed."""

    workspace: OpenWorkspace
    task_input: TaskInput
    directory: Path
    """Where its rows lie, from which a model's own columns are read."""
    model: Model
    protocol: Protocol
    seed: int
    by: tuple[str, ...] = ()
    """Columns to score by, beside the project."""

    def run(self) -> RunRecord:
        """Do it, or return the finished run with the same settings."""
        taken = self.task_input
        return run_once(*self._given(), files=taken.files, ablated=taken.ablated, by=self.by)

    def estimate(self) -> RunEstimate:
        """Return what it would cost in money; nothing is sent."""
        estimate = estimate_run(*self._given())
        return RunEstimate(self.task_input.data.task.name, self.model.name, self.seed, estimate)

    def _given(self) -> tuple[WorkspaceLayout, TaskData, Model, Protocol, int, Reporter]:
        """Return what a run takes; its rows have the model's columns, as no other's may."""
        model, data, lab = self.model, self.task_input.data, self.workspace
        if model.check is not None:
            model.check(data.task)
        rows = with_columns(data, self.directory, model.columns)
        return lab.layout, rows, model, self.protocol, self.seed, lab.reporter


@dataclass(frozen=True, slots=True)
class RunPlan:
    """Planned runs; the rows of a task are read when its first run starts."""

    workspace: OpenWorkspace
    tasks: tuple[tuple[str, Path | None], ...]
    """With the directory of the rows, None for that of the workspace."""
    models: tuple[Model, ...]
    seeds: tuple[int, ...]
    protocol: Protocol
    ablate: tuple[str, ...] = ()
    hold_out: str | None = None
    by: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.tasks) * len(self.models) * len(self.seeds)

    def __iter__(self) -> Iterator[PlannedRun]:
        layout = self.workspace.layout
        for name, directory in self.tasks:
            task = self.workspace.find_task(name)
            folder = directory or task_directory(layout, task)
            task_input = read_task_input(folder, task, self.ablate)
            held_out = () if self.hold_out is None else (held_out_column(self.hold_out),)
            try:
                data = with_columns(task_input.data, folder, (*self.by, *held_out))
            except UsageError:
                for model in self.models:  # what cannot do the task at all is told first
                    if model.check is not None:
                        model.check(task)
                raise
            by = self.by
            if places := read_places(layout, task, folder):
                data, by = with_places(data, places), (*by, PLACE)
            protocol = self.protocol
            if self.hold_out is not None:
                data, protocol = hold_groups_out(data, protocol, self.hold_out)
            for model, seed in product(self.models, self.seeds):
                taken = replace(task_input, data=data)
                yield PlannedRun(self.workspace, taken, folder, model, protocol, seed, by)


def plan_runs(
    workspace: OpenWorkspace,
    data: Sequence[str | Dataset],
    directory: Path | None,
    *,
    models: Sequence[str],
    seeds: tuple[int, ...],
    settings: Mapping[str, Any],
    protocol: str,
    **inputs: Any,
) -> RunPlan:
    """Find what an evaluation names; raises `UsageError` for what there is not.

    Without seeds, the protocol's is taken; `inputs` are the last fields of a `RunPlan`.
    """
    chosen = find_protocol(protocol)
    found = tuple(find_model(name, settings_for(chosen, name, settings)) for name in models)
    tasks = (
        (_task_of(workspace, source), source.path)
        if isinstance(source, Dataset)
        else (source, directory)
        for source in data
    )
    return RunPlan(
        workspace, tuple(dict.fromkeys(tasks)), found, seeds or (chosen.seed,), chosen, **inputs
    )


def run_on_cluster(
    plan: RunPlan,
    models: Sequence[str],
    inputs: Mapping[str, Any],
    work: Callable[[Mapping[str, Any]], RunRecord],
    execution: Execution,
    gpus: float,
) -> Evaluation:
    """Have a cluster do runs, each by itself with `gpus` of one machine; what fails stops none."""
    from goldpan.core.parallel.engine import RayCluster, open_engine

    finished: list[RunRecord] = []
    failures: list[GoldpanError] = []
    with open_engine(execution, os.cpu_count() or 1) as engine:
        assert isinstance(engine, RayCluster)
        if gpus > engine.gpus:
            plan.workspace.reporter.note(f"Runs wait for a machine with {gpus:g} GPUs")
        submitted = []
        for (task, directory), model, seed in product(plan.tasks, models, plan.seeds):
            rows = () if directory is None else (directory.absolute(),)
            values = {"task": task, "dataset": rows, "model": model, "seed": seed, **inputs}
            submitted.append(engine.submit(work, values, gpus=gpus))
        for run in submitted:
            try:
                finished.append(run.result())
            except EvaluationError as error:
                failures.append(error)
    if failures and len(submitted) == 1:
        raise failures[0]
    return Evaluation(finished, failures, plan.by)


def _task_of(workspace: OpenWorkspace, data: Dataset) -> str:
    """Return the task whose rows a dataset holds."""
    names = tasks_of_family(data.family, load_tasks(workspace.own_tasks))
    if len(names) == 1:
        return names[0]
    raise UsageError(
        f"No task is that of {data.path}"
        if not names
        else f"{data.path} is of several tasks: {', '.join(names)}",
        "Name one of goldpan tasks list, with the rows in the workspace",
    )
