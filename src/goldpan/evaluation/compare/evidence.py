"""Evidence on many models from their stored predictions, unit by unit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from goldpan.datasets.tasks.task import Task
from goldpan.evaluation.compare.question import System
from goldpan.evaluation.compare.scores import (
    ModelEvidence,
    TaskEvidence,
    add_up,
    bins_of,
    models_evidence,
)
from goldpan.evaluation.metrics.estimate import Floats, Measure, MetricEvidence, Totals, means
from goldpan.evaluation.record import RunRecord
from goldpan.evaluation.score import outcomes_of, ranking_values
from goldpan.evaluation.units import Units, units_of

_NAMES = ("id", "repo", "document")


@dataclass(frozen=True, slots=True, eq=False)
class ExampleNumbers:
    """The answers of one model to one test set, by id."""

    ids: tuple[str, ...]
    units: Units
    columns: Floats
    """Examples x numbers."""
    measure: Callable[[Floats], Floats]
    """From sums of columns to the score that ranks, higher is better."""


def example_numbers(
    task: Task, predictions: pa.Table, metric: str, *, part: bool = False
) -> ExampleNumbers | None:
    """Return the share of each example in a metric, None where it is no function of sums."""
    table = predictions.take(pc.sort_indices(predictions, sort_keys=[("id", "ascending")]))
    kinds, kind_of = _kinds(table)
    for evidence in _evidence(task, kinds, part):
        if not isinstance(evidence, Totals):
            continue
        for measure in evidence.measures:
            if measure.name == metric and measure.label is None:
                ids, repos, documents = (tuple(table[name].to_pylist()) for name in _NAMES)
                units, columns = units_of(ids, repos, documents), evidence.columns[kind_of]
                return ExampleNumbers(ids, units, columns, _ranking_values(measure))
    return None


def _kinds(table: pa.Table) -> tuple[pa.Table, NDArray[np.intp]]:
    """Return a row of each pair of truth and answer that occurs, and the pair of each row.

    100,000 rows with one label each have as many pairs as labels squared.
    """
    if not pa.types.is_string(table.schema.field("truth").type):
        return table, np.arange(len(table))
    truths, answers = (
        np.asarray(
            pc.fill_null(pc.dictionary_encode(table[name].combine_chunks()).indices, -1),
            dtype=np.int64,
        )
        for name in ("truth", "answer")
    )
    width = 2 + int(answers.max(initial=-1))
    _, firsts, kind_of = np.unique(
        truths * width + answers + 1, return_index=True, return_inverse=True
    )
    return table.take(pa.array(firsts)), kind_of.reshape(-1)


def _ranking_values(measure: Measure) -> Callable[[Floats], Floats]:
    if measure.higher_is_better:
        return measure.compute
    return lambda sums: ranking_values(measure.name, measure.compute(sums))


def _evidence(task: Task, table: pa.Table, part: bool) -> list[MetricEvidence]:
    truths, answers = table["truth"].to_pylist(), table["answer"].to_pylist()
    rows = {"truth": truths, "answer": answers, "scores": [None] * len(truths)}
    evidence = outcomes_of(task, rows, None, part=part).evidence
    if task.type not in ("binary", "multi-class"):
        return evidence
    right = np.array([truth == answer for truth, answer in zip(truths, answers, strict=True)])
    # The matrix counts the pairs of labels that occur, which differ between models.
    shared = [item for item in evidence if not any(part.name == "mcc" for part in item.measures)]
    shares = {"accuracy": right.astype(np.float64), "hamming_loss": 1.0 - right}
    return [*shared, means(shares, lower=frozenset({"hamming_loss"}))]


@dataclass(frozen=True, slots=True, eq=False)
class TaskAnswers:
    """The answers of several models to the rows of one test set."""

    task: str
    source: str
    """The data set: its tasks share units that are named alike."""
    runs: Mapping[str, Sequence[ExampleNumbers | None]]
    """By model, for each seed; None where the score is no function of sums over rows."""
    trainings: Mapping[str, str]
    """By model, as `ModelEvidence` names them."""


def evidence_of(
    systems: Sequence[System], tasks: Sequence[str], tasks_by_name: Mapping[str, Task]
) -> tuple[TaskEvidence, ...] | str:
    """Return evidence from the answers to these tasks, or why systems cannot be compared."""
    answers = []
    for name in tasks:
        if name not in tasks_by_name:
            return f"the registry does not know {name}"
        task = tasks_by_name[name]
        runs = {
            system.name: [
                example_numbers(task, run.predictions(), run.scores.main)
                for run in system.runs[name]
            ]
            for system in systems
        }
        trainings = {system.name: _training(system.runs[name]) for system in systems}
        answers.append(TaskAnswers(name, task.source.dataset, runs, trainings))
    return task_evidence(answers)


def _training(runs: Sequence[RunRecord]) -> str:
    """Return the trainings of a model's seeds by name; empty where one is of its task alone."""
    trainings = [run.learning.training for run in runs]
    return " ".join(trainings) if all(trainings) else ""


def task_evidence(answers: Sequence[TaskAnswers]) -> tuple[TaskEvidence, ...] | str:
    """Return evidence on test sets from the answers to their rows by each run of each model.

    Or why there is none: the scores must be functions of sums over rows, and all runs be of the
    same rows.
    """
    numbers: dict[tuple[str, str, str], int] = {}
    known, units = [], []
    for task in answers:
        runs = {name: [run for run in own if run] for name, own in task.runs.items()}
        if any(len(runs[name]) < len(own) for name, own in task.runs.items()):
            return f"the score of {task.task} is no function of sums over rows"
        first = next(iter(runs.values()))[0]
        if any(run.ids != first.ids for own in runs.values() for run in own):
            return f"models answered different rows of {task.task}"
        names = ((task.source, first.units.kind, name) for name in first.units.names)
        of_rows = [numbers.setdefault(name, len(numbers)) for name in names]
        units.append(np.array(of_rows, dtype=np.intp))
        known.append(runs)
    return tuple(map(_summed, answers, known, bins_of(units)))


def _summed(
    task: TaskAnswers, runs: Mapping[str, Sequence[ExampleNumbers]], bins: NDArray[np.intp]
) -> TaskEvidence:
    models: dict[str, ModelEvidence] = {}
    first = next(iter(runs.values()))[0]
    for name, seeds in runs.items():
        own_bins, sums = add_up(np.stack([run.columns for run in seeds]), bins)
        (evidence,) = models_evidence(sums[None], first.measure)
        models[name] = replace(evidence, training=task.trainings[name])
    return TaskEvidence(
        task=task.task,
        source=task.source,
        unit=first.units.kind,
        units=len(set(first.units.names)),
        bins=own_bins,
        models=models,
        measure=first.measure,
    )
