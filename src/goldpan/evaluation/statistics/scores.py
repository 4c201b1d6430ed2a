"""Scores of models on tasks, each from one or more seeds: what all comparisons start from."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldpan.core.errors import GoldpanError
from goldpan.core.imports import load


class StatisticsError(GoldpanError):
    """Scores cannot be compared as they are."""


def scipy_stats() -> Any:
    """Return `scipy.stats`; raises `StatisticsError` where its extra is not installed."""
    return load("scipy.stats", "A comparison", StatisticsError)


def check_settings(alpha: float, rope: float = 0.0, samples: int = 1) -> None:
    """Raise `StatisticsError` for settings of a comparison that are out of range."""
    if not 0 < alpha < 1 or not 0 <= rope < math.inf or samples < 1:
        raise StatisticsError(
            f"alpha {alpha}, rope {rope} and samples {samples} cannot be used",
            "Give an alpha between 0 and 1, a rope of at least 0 and at least one sample",
        )


Floats = NDArray[np.float64]
_DECIMALS = 10
"""To which scores and their differences are rounded: they are written with fewer, and 0.3 - 0.2 is
not 0.1."""


def as_decimal(value: float) -> float:
    """Return a score without what computing with decimals left in its last digits."""
    return round(value, _DECIMALS) + 0.0


def rounded(values: Floats) -> Floats:
    """Return values without what computing with decimals left in their last digits."""
    return values.round(_DECIMALS) + 0.0


@dataclass(frozen=True, slots=True)
class Ranked:
    """An entry of a ranking; entries with equal scores share a place."""

    place: int
    name: str
    score: float


def rank(scores: Mapping[str, float] | Iterable[tuple[str, float]]) -> tuple[Ranked, ...]:
    """Rank entries from the highest score on; scores equal as decimals share the better place."""
    pairs = scores.items() if isinstance(scores, Mapping) else scores
    ordered = sorted(
        ((name, value, as_decimal(value)) for name, value in pairs),
        key=lambda entry: (-entry[2], entry[0]),
    )
    ranks: dict[float, int] = {}
    for number, (_, _, decimal) in enumerate(ordered, start=1):
        ranks.setdefault(decimal, number)
    return tuple(Ranked(ranks[decimal], name, value) for name, value, decimal in ordered)


@dataclass(frozen=True, slots=True)
class Score:
    """Score of one run. Higher is better: turn errors round first, such as 1 - SMAPE."""

    model: str
    task: str
    seed: int
    value: float


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
    left_out: tuple[str, ...] = ()
    """Tasks that were dropped to leave no cell empty, a sentence each."""

    def means(self) -> Floats:
        """Return the mean over seeds, models x tasks; what is equal as decimals is equal."""
        means = [[math.fsum(cell) / len(cell) for cell in row] for row in self.cells]
        return rounded(np.array(means))

    @property
    def fewest_seeds(self) -> int:
        """Return the number of scores in the smallest cell."""
        return min(len(cell) for row in self.cells for cell in row)


def score_matrix(
    scores: Iterable[Score], metric: str, *, drop_incomplete_tasks: bool = False
) -> ScoreMatrix:
    """Arrange scores of one metric as models x tasks.

    Raises `StatisticsError` where a score is no number, a run is given twice, fewer than two
    models are left, or a model lacks a task: tests over tasks need every pair. With
    `drop_incomplete_tasks` such tasks go, and `left_out` names them.
    """
    values: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    for score in scores:
        if not math.isfinite(score.value):
            raise StatisticsError(
                f"{score.model} has {score.value} as its {metric} on {score.task}"
                f" (seed {score.seed})",
                "Run it again, or leave the model or the task out",
            )
        if score.seed in values[score.model, score.task]:
            raise StatisticsError(
                f"{score.model} has two scores on {score.task} with seed {score.seed}",
                "Keep one of them",
            )
        values[score.model, score.task][score.seed] = score.value
    models = tuple(sorted({model for model, _ in values}))
    if len(models) < 2:
        raise StatisticsError(
            f"A comparison needs two models, there is {models[0] if models else 'none'}",
            "Run another model on the same tasks",
        )
    tasks = sorted({task for _, task in values})
    without_run = {
        task: missing
        for task in tasks
        if (missing := [model for model in models if (model, task) not in values])
    }
    if without_run and not drop_incomplete_tasks:
        task, missing = next(iter(without_run.items()))
        raise StatisticsError(
            f"{missing[0]} has no {metric} on {task}",
            "Run it there, or leave the model or the task out",
        )
    complete = tuple(task for task in tasks if task not in without_run)
    if not complete:
        raise StatisticsError(
            "There is no task that every model was run on", "Compare fewer models, or run the rest"
        )
    return ScoreMatrix(
        metric=metric,
        models=models,
        tasks=complete,
        cells=tuple(
            tuple(
                tuple(value for _, value in sorted(values[model, task].items()))
                for task in complete
            )
            for model in models
        ),
        left_out=tuple(
            f"{task}: not run by {', '.join(without_run[task])}" for task in without_run
        ),
    )
