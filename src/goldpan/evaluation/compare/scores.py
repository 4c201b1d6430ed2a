"""Scores of models on tasks, answers by independent units, and places: what comparisons need.

Rows of one document or project hang together, so the document or the project is the unit; where
rows are independent, each row is one. Units lie in at most `BINS` bins: swapping whole bins of
independent units at random is a subgroup of swapping units, so a test on bins keeps its level.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldpan.core.errors import GoldpanError
from goldpan.core.imports import load
from goldpan.evaluation.units import Unit


class StatisticsError(GoldpanError):
    """Scores cannot be compared as they are."""


def scipy_stats() -> Any:
    """Return `scipy.stats`; raises `StatisticsError` where its extra is not installed."""
    return load("scipy.stats", "A comparison", StatisticsError)


def check_settings(alpha: float, rope: float = 0.0, samples: int = 1) -> None:
    """Raise `StatisticsError` for settings of a comparison that are out of range."""
    if not 0 < alpha < 1:
        raise StatisticsError(f"alpha is {alpha}, not between 0 and 1", "Give one such as 0.05")
    if not 0 <= rope < math.inf:
        raise StatisticsError(f"rope is {rope}, not a width of 0 or more", "Give one such as 0.01")
    if samples < 1:
        raise StatisticsError(f"samples is {samples}, not 1 or more", "Give one such as 10000")


Floats = NDArray[np.float64]
_DECIMALS = 10
"""To which scores and their differences are rounded: they are written with fewer, and 0.3 - 0.2 is
not 0.1."""


def as_decimal(value: float) -> float:
    """Return a score without the rounding errors in its last digits."""
    return round(value, _DECIMALS) + 0.0


def rounded(values: Floats) -> Floats:
    """Return values without the rounding errors in their last digits."""
    return values.round(_DECIMALS) + 0.0


def fewest_swapped(alpha: float) -> int:
    """Return how many units a swap of each can bring p below alpha: p is at least 2 / 2^units."""
    return 2 + math.floor(-math.log2(alpha) + 1e-9)


def rank(scores: Mapping[str, float]) -> dict[str, int]:
    """Return the place of each entry, the highest score first; equal as decimals share a place."""
    rounded_scores = {name: as_decimal(score) for name, score in scores.items()}
    ordered = sorted(scores, key=lambda name: (-rounded_scores[name], name))
    return {
        name: 1 + sum(other > rounded_scores[name] for other in rounded_scores.values())
        for name in ordered
    }


@dataclass(frozen=True, slots=True)
class ScoreMatrix:
    """Scores of every model on every task; no cell is empty."""

    metric: str
    models: tuple[str, ...]
    """Sorted."""
    tasks: tuple[str, ...]
    """Sorted."""
    cells: tuple[tuple[tuple[float, ...], ...], ...]
    """A row a model, a cell a task, in it the scores by rising seed."""

    def means(self) -> Floats:
        """Return the mean over seeds, models x tasks; what is equal as decimals is equal."""
        means = [[math.fsum(cell) / len(cell) for cell in row] for row in self.cells]
        return rounded(np.array(means))


def score_matrix(scores: Mapping[tuple[str, str], Sequence[float]], metric: str) -> ScoreMatrix:
    """Arrange scores of one metric by model and task, a score a seed, as models x tasks.

    Higher is better: turn errors round first, such as 1 - SMAPE. Raises `StatisticsError` where a
    score is no number, fewer than two models are left, or a model lacks a task: tests over tasks
    need every pair.
    """
    for (model, task), values in scores.items():
        if wrong := [value for value in values if not math.isfinite(value)]:
            raise StatisticsError(
                f"{model} has {wrong[0]} as its {metric} on {task}",
                "Run it again, or leave the model or the task out",
            )
    models, tasks = (tuple(sorted({pair[side] for pair in scores})) for side in (0, 1))
    if len(models) < 2:
        raise StatisticsError(
            f"A comparison needs two models that share a task, there is {(*models, 'none')[0]}",
            "Run another model on the same tasks",
        )
    for model, task in product(models, tasks):
        if not scores.get((model, task)):
            raise StatisticsError(
                f"{model} has no {metric} on {task}",
                "Run it there, or leave the model or the task out",
            )
    cells = tuple(tuple(tuple(scores[model, task]) for task in tasks) for model in models)
    return ScoreMatrix(metric, models, tasks, cells)


BINS = 1024
"""Contributions that are held: more units than that share bins, evenly and at random."""
_STEP = 1e-4

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
    bins: NDArray[np.intp]
    """The bin of each row of `columns`, over all tasks: tasks that share a document share it."""
    models: Mapping[str, ModelEvidence]
    measure: Measure


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


def models_evidence(models: Floats, measure: Measure) -> list[ModelEvidence]:
    """Return the evidence of the runs of each model, models x seeds x bins x columns."""
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
    # A column that is 0 does not move, and ratios jump there.
    return np.where(sums == 0, 0.0, slopes)


def defined(measure: Measure) -> Measure:
    """Return a measure that is 0 for sums that define no score."""
    return lambda sums: np.nan_to_num(measure(sums), nan=0.0, posinf=0.0, neginf=0.0)


def tiers(order: Sequence[str], beats: Mapping[str, Collection[str]]) -> dict[str, int]:
    """Return the tier of each model, 1 the best: the division that agrees with most decisions.

    Tiers are stretches of the ranking. A pair agrees with them when it is undecided or equal and
    shares a tier, or when it is decided and does not. Of divisions that agree as well, the one
    with fewer tiers counts. One pair that flips by chance shifts the count by one, so it seldom
    moves a border; rules that go from model to model let it move all that follow.
    """
    count = len(order)
    decided = np.array([[lower in beats[upper] for lower in order] for upper in order])
    signs = np.where(decided | decided.T, 1, -1)

    def decided_in(start: int, end: int) -> int:
        """Return the decided pairs of a stretch, less those that are not."""
        return int(np.triu(signs[start:end, start:end], 1).sum())

    best: list[tuple[int, int]] = [(0, 0)]
    cut = [0]
    for end in range(1, count + 1):
        options = [
            ((best[start][0] + decided_in(start, end), best[start][1] + 1), start)
            for start in range(end)
        ]
        cost, start = min(options)
        best.append(cost)
        cut.append(start)
    borders = {count}
    while (start := cut[min(borders)]) > 0:
        borders.add(start)
    return {model: 1 + sum(border <= at for border in borders) for at, model in enumerate(order)}
