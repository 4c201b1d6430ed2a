"""What is asked about models, and what stored runs say of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from goldpan.evaluation.comparison_units import Block, System
from goldpan.evaluation.higher_is_better import ranking_score
from goldpan.evaluation.runs import Run
from goldpan.evaluation.statistics.comparison import Approach, Comparison
from goldpan.evaluation.statistics.decide import Choice
from goldpan.evaluation.statistics.scores import Score, ScoreMatrix, score_matrix

MIXED = "score"
"""What the score is called where tasks rank by different metrics."""

Method = Literal["calibrated", "bayesian", "frequentist", "wilcoxon", "nemenyi", "tukey"]
METHODS: Mapping[Method, tuple[Approach, Choice]] = {
    "calibrated": ("calibrated", "auto"),
    "bayesian": ("bayesian", "auto"),
    "frequentist": ("frequentist", "auto"),
    "wilcoxon": ("frequentist", "pairwise"),
    "nemenyi": ("frequentist", "nonparametric"),
    "tukey": ("frequentist", "parametric"),
}
"""How models can be compared, by name; all but the first are the papers' own."""


@dataclass(frozen=True, slots=True)
class Question:
    """How models are compared."""

    approach: Method = "calibrated"
    alpha: float = 0.05
    rope: float | None = None
    """Half the width of the region of practical equivalence: in points of the score (0.01) where
    `calibrated`, as a share of the spread over tasks (0.1) where `bayesian`."""
    seed: int = 0


@dataclass(frozen=True, slots=True)
class ComparisonResult:
    """What stored runs say of models."""

    systems: tuple[System, ...]
    """By name, also those that are left out of the ranking."""
    tasks: tuple[str, ...]
    metrics: Mapping[str, str]
    """What ranks on each task, higher is better."""
    block: Block
    """What is ranked."""
    comparison: Comparison | str
    """Or why there is none."""
    new_tasks: Comparison | None
    """What holds on new tasks, where `comparison` says what holds on new rows of these."""
    alone: tuple[Comparison, ...]
    """On each task by itself, by the answers to its examples, where there are few tasks."""
    without_value: tuple[str, ...]
    """Runs whose score is undefined, a sentence each."""
    elsewhere: tuple[Run, ...]
    """On another split of the same tasks: not comparable."""
    every: tuple[Run, ...]
    """All runs of the tasks, also those that are not compared."""

    @property
    def metric(self) -> str:
        """Return the name of the score that ranks."""
        names = {self.metrics[task] for task in self.block.tasks or self.tasks}
        return names.pop() if len(names) == 1 else MIXED

    @property
    def ranked(self) -> tuple[System, ...]:
        """Return all systems, those of the ranking first and by place, the others by mean."""
        ranks = {}
        if isinstance(self.comparison, Comparison):
            ranks = {name: at for at, name in enumerate(self.comparison.models)}

        def order(system: System) -> tuple[int, float, str]:
            means = [mean for task in system.runs if (mean := mean_score(system, task)) is not None]
            mean = sum(means) / len(means) if means else -np.inf
            return ranks.get(system.name, len(ranks)), -mean, system.name

        return tuple(sorted(self.systems, key=order))


def mean_score(system: System, task: str) -> float | None:
    """Return a system's score on a task, the mean over seeds; None where there is none."""
    values = list(scores_of(system, task).values())
    return sum(values) / len(values) if values else None


def scores_of(system: System, task: str) -> dict[int, float]:
    """Return a system's scores on a task by seed, without those that are undefined."""
    scores = {run.seed: ranking_score(run.scores).value for run in system.runs.get(task, ())}
    return {seed: value for seed, value in scores.items() if value is not None}


def matrix(compared: ComparisonResult) -> ScoreMatrix:
    """Return the scores of the block; raises `StatisticsError` for fewer than two models."""
    scores = [
        Score(system.name, task, seed, value)
        for system in compared.systems
        if system.name in compared.block.models
        for task in compared.block.tasks
        for seed, value in scores_of(system, task).items()
    ]
    return score_matrix(scores, compared.metric)
