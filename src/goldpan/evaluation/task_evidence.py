"""From the stored predictions of many models to what their units add to each score.

Units are the projects of a test set where it has enough of them, else its documents, else its
rows: rows of one document are seldom independent of each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from goldpan.datasets.task import Task
from goldpan.evaluation.answers import ExampleNumbers, example_numbers
from goldpan.evaluation.comparison_units import System
from goldpan.evaluation.record import RunRecord
from goldpan.evaluation.statistics.evidence import (
    ModelEvidence,
    TaskEvidence,
    Unit,
    add_up,
    bins_of,
    model_evidence,
)

MANY_PROJECTS = 10
"""From so many projects on they are the units; with fewer, answers hold for these projects."""


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """The independent units of a test set."""

    kind: Unit
    names: tuple[str, ...]
    """Of each row, in the order of ids."""
    projects: int
    """Named ones; 0 where none is."""


def evidence_of(
    systems: Sequence[System], tasks: Sequence[str], tasks_by_name: Mapping[str, Task]
) -> tuple[TaskEvidence, ...] | str:
    """Return what the systems' answers to these tasks say, or why they cannot be compared by them.

    The score of a system must be a function of sums over examples, and all runs of a task must
    have answered the same rows.
    """
    units: list[Units] = []
    runs: list[dict[str, list[ExampleNumbers]]] = []
    trainings: list[Mapping[str, str]] = []
    for name in tasks:
        if name not in tasks_by_name:
            return f"the registry does not know {name}"
        task_runs = _runs(systems, tasks_by_name[name])
        if isinstance(task_runs, str):
            return task_runs
        first = next(iter(task_runs.values()))[0]
        units.append(units_of(first.ids, first.repos, first.documents))
        runs.append(task_runs)
        trainings.append(
            {
                system.name: _training([run.record for run in system.runs[name]])
                for system in systems
            }
        )
    sources = [tasks_by_name[name].source.dataset for name in tasks]
    bins = bins_of(_numbers(sources, units))
    return tuple(
        _task_evidence(*of_task)
        for of_task in zip(tasks, sources, units, bins, runs, trainings, strict=True)
    )


def units_of(
    ids: Sequence[str], repos: Sequence[str | None], documents: Sequence[str | None]
) -> Units:
    """Return the units of rows: projects where there are ten, else documents, else rows."""
    projects = len({repo for repo in repos if repo})
    if projects >= MANY_PROJECTS:
        names = (repo or f"\0{row}" for row, repo in zip(ids, repos, strict=True))
        return Units("projects", tuple(names), projects)
    if any(documents):
        named = tuple(
            f"{repo or ''}\0{document}" if document else f"\0\0{row}"
            for row, repo, document in zip(ids, repos, documents, strict=True)
        )
        if len(set(named)) < len(named):
            return Units("documents", named, projects)
    return Units("rows", tuple(ids), projects)


def _runs(systems: Sequence[System], task: Task) -> dict[str, list[ExampleNumbers]] | str:
    runs: dict[str, list[ExampleNumbers]] = {}
    ids: tuple[str, ...] | None = None
    for system in systems:
        runs[system.name] = []
        for run in system.runs[task.name]:
            numbers = _quick(task, run.predictions(), run.scores.main)
            if numbers is None:
                return f"{run.scores.main} of {task.name} is no function of sums over rows"
            if ids is not None and numbers.ids != ids:
                return f"models answered different rows of {task.name}"
            ids = numbers.ids
            runs[system.name].append(numbers)
    return runs


def _quick(task: Task, predictions: pa.Table, metric: str) -> ExampleNumbers | None:
    """Return what the examples add to a metric, from the few pairs of truth and answer there are.

    100,000 rows with one label each have as many pairs as labels squared.
    """
    if not pa.types.is_string(predictions.schema.field("truth").type):
        return example_numbers(task, predictions, metric)
    table = predictions.take(pc.sort_indices(predictions, sort_keys=[("id", "ascending")]))
    codes = [
        np.asarray(
            pc.fill_null(pc.dictionary_encode(table[name].combine_chunks()).indices, -1),
            dtype=np.int64,
        )
        for name in ("truth", "answer")
    ]
    width = 2 + int(codes[1].max(initial=-1))
    _, firsts, kind_of = np.unique(
        codes[0] * width + codes[1] + 1, return_index=True, return_inverse=True
    )
    kinds = table.take(pa.array(firsts))
    labels = pa.array([f"{at:09d}" for at in range(len(kinds))], pa.string())
    kinds = kinds.set_column(kinds.schema.get_field_index("id"), "id", labels)
    numbers = example_numbers(task, kinds, metric)
    if numbers is None:
        return None
    return ExampleNumbers(
        ids=tuple(table["id"].to_pylist()),
        repos=tuple(table["repo"].to_pylist()),
        documents=tuple(table["document"].to_pylist()),
        columns=numbers.columns[kind_of.reshape(-1)],
        measure=numbers.measure,
    )


def _numbers(sources: Sequence[str], units: Iterable[Units]) -> list[NDArray[np.intp]]:
    """Return numbers of units, over all tasks; those of one data set share units named alike."""
    numbers: dict[tuple[str, str, str], int] = {}
    return [
        np.array(
            [numbers.setdefault((source, unit.kind, name), len(numbers)) for name in unit.names],
            dtype=np.intp,
        )
        for source, unit in zip(sources, units, strict=True)
    ]


def _training(records: Sequence[RunRecord]) -> str:
    """Return what names the trainings of a model's seeds; empty where one is of its task alone."""
    trainings = [record.learning.training for record in records]
    return " ".join(trainings) if all(trainings) else ""


def _task_evidence(
    task: str,
    source: str,
    units: Units,
    bins: NDArray[np.intp],
    runs: Mapping[str, Sequence[ExampleNumbers]],
    trainings: Mapping[str, str],
) -> TaskEvidence:
    models: dict[str, ModelEvidence] = {}
    own_bins = bins
    for name, numbers in runs.items():
        summed = []
        for run in numbers:
            own_bins, sums = add_up(run.columns, bins)
            summed.append(sums)
        models[name] = model_evidence(np.stack(summed), numbers[0].measure, trainings[name])
    return TaskEvidence(
        task=task,
        source=source,
        unit=units.kind,
        units=len(set(units.names)),
        rows=len(units.names),
        bins=own_bins,
        models=models,
        measure=next(iter(runs.values()))[0].measure,
    )
