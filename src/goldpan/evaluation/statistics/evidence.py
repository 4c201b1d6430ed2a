"""Evidence on several models from their answers to one test set, by independent units.

Rows of one document or project hang together, so the document or the project is the unit; where
rows are independent, each row is one. Units lie in at most `BINS` bins: swapping whole bins of
independent units at random is a subgroup of swapping units, so a test on bins keeps its level.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from goldpan.evaluation.statistics.scores import Floats

BINS = 1024
"""Contributions that are held: more units than that share bins, evenly and at random."""
_STEP = 1e-4

Unit = Literal["projects", "documents", "rows"]
Measure = Callable[[Floats], Floats]
"""Turns sums, sets x columns, into a score a set; higher is better."""


@dataclass(frozen=True, slots=True, eq=False)
class ModelEvidence:
    """Sums of the runs of one model on one test set."""

    columns: Floats
    """Bins x columns, the mean over seeds."""
    scores: tuple[float, ...]
    """The score of each seed."""
    seed_variance: float
    """Estimated variance of the mean score because other seeds would train other models: what
    the seeds' scores vary by more than single answers do, over the number of seeds. 0 with one
    seed, which does not show it."""
    answer_variance: float = 0.0
    """Estimated variance of one seed's score because that seed draws single answers anew."""
    training: str = ""
    """Name of the training of each seed where it answered other tasks too, whose scores then
    rise and fall together; empty where each task had a training of its own."""

    @property
    def score(self) -> float:
        """Return the mean over seeds."""
        return float(np.mean(self.scores))


@dataclass(frozen=True, slots=True, eq=False)
class TaskEvidence:
    """The answers of several models to one test set."""

    task: str
    source: str
    """The data set: tasks of one data set are not independent of each other."""
    unit: Unit
    units: int
    rows: int
    bins: NDArray[np.intp]
    """The bin of each row of `columns`, over all tasks: tasks that share a document share it."""
    models: Mapping[str, ModelEvidence]
    measure: Measure
    paired: bool = True
    """Whether all models answered the same rows; else their answers count as independent."""


def bins_of(units: Sequence[NDArray[np.intp]]) -> list[NDArray[np.intp]]:
    """Return the bins of the units of each task; a unit that several tasks have keeps its bin.

    `units` holds, a task, the number of each unit; numbers are the same where units are.
    """
    count = 1 + max((int(task.max()) for task in units if task.size), default=-1)
    if count <= BINS:
        return [task.astype(np.intp) for task in units]
    shuffled = np.random.default_rng(count).permutation(count) % BINS
    return [shuffled[task].astype(np.intp) for task in units]


def add_up(columns: Floats, bins: NDArray[np.intp]) -> tuple[NDArray[np.intp], Floats]:
    """Return the bins that occur, rising, and the sums of the last but one axis in each."""
    order = np.argsort(bins, kind="stable")
    distinct, starts = np.unique(bins[order], return_index=True)
    if len(distinct) == len(bins):
        return distinct, columns[..., order, :]
    return distinct, np.add.reduceat(columns[..., order, :], starts, axis=-2)


def model_evidence(seeds: Floats, measure: Measure, training: str = "") -> ModelEvidence:
    """Return what the runs of a model say, seeds x bins x columns."""
    return replace(models_evidence(seeds[None], measure)[0], training=training)


def models_evidence(models: Floats, measure: Measure) -> list[ModelEvidence]:
    """Return what the runs of each model say, models x seeds x bins x columns."""
    count, seeds, _, columns = models.shape
    sums = models.sum(axis=2)
    scores = defined(measure)(sums.reshape(-1, columns)).reshape(count, seeds)
    means = models.mean(axis=1)
    excess, by_answers = [0.0] * count, [0.0] * count
    if seeds > 1:
        slopes = gradients(measure, sums.mean(axis=1))
        for at, slope in enumerate(slopes):
            by_answers[at] = float((models[at] @ slope).var(axis=0, ddof=1).sum())
            excess[at] = max(0.0, float(scores[at].var(ddof=1)) - by_answers[at]) / seeds
    return [
        ModelEvidence(mean, tuple(score.tolist()), variance, answers)
        for mean, score, variance, answers in zip(means, scores, excess, by_answers, strict=True)
    ]


def gradients(measure: Measure, sums: Floats) -> Floats:
    """Return how the measure grows with each column at these sums, sets x columns.

    By central differences: measures are ratios of sums, whose third derivatives are far below the
    step's error limit. Where a measure is not defined, it does not grow.
    """
    sets, columns = sums.shape
    steps = _STEP * np.maximum(1.0, np.abs(sums))
    moves = np.eye(columns)[None, :, :] * steps[:, None, :]
    around = np.concatenate([sums[:, None, :] + moves, sums[:, None, :] - moves], axis=1)
    values = defined(measure)(around.reshape(-1, columns)).reshape(sets, 2, columns)
    slopes: Floats = (values[:, 0] - values[:, 1]) / (2 * steps)
    # What nobody counted does not move, and ratios jump there.
    return np.where(sums == 0, 0.0, slopes)


def defined(measure: Measure) -> Measure:
    """Let sums that define no score count as no score at all."""
    return lambda sums: np.nan_to_num(measure(sums), nan=0.0, posinf=0.0, neginf=0.0)
