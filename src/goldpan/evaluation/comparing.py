"""Compares what is stored: from finished runs to a ranking with its decisions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from goldpan.datasets.task import Task
from goldpan.evaluation.answers import (
    ExampleNumbers,
    example_numbers,
    projects,
    side_by_side,
)
from goldpan.evaluation.comparison_units import Block, System, complete, on_one_split, systems_of
from goldpan.evaluation.higher_is_better import ranking_score
from goldpan.evaluation.runs import Run
from goldpan.evaluation.statistics.calibrated import (
    ROPE,
    answer_on_new_rows,
    answer_questions,
    new_tasks_by_scores,
    no_rows,
)
from goldpan.evaluation.statistics.compare import compare
from goldpan.evaluation.statistics.comparison import Approach, Comparison
from goldpan.evaluation.statistics.decide import Choice
from goldpan.evaluation.statistics.errors import check_settings
from goldpan.evaluation.statistics.few_tasks import FEWEST_TASKS
from goldpan.evaluation.statistics.randomization import Measure, compare_answers
from goldpan.evaluation.statistics.ranking import arrange
from goldpan.evaluation.statistics.scores import Score, ScoreMatrix, score_matrix
from goldpan.evaluation.task_evidence import MANY_PROJECTS, evidence_of

MIXED = "score"
"""What the score is called where tasks rank by different metrics."""
_MOST_ALONE = 20
_MOST_NAMED = 4
"""Models that are compared on each of a few tasks alone: pairs grow with their square."""


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
_BAYESIAN_ROPE = 0.1


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


def compare_runs(
    runs: Sequence[Run],
    every: Sequence[Run],
    tasks: Mapping[str, Task],
    question: Question,
    *,
    keep_models: bool = False,
) -> ComparisonResult:
    """Compare the models of stored runs; the same runs and question give the same result.

    `every` holds all runs of the same tasks, and `tasks` those that the registry knows. Models
    and tasks that leave gaps stay out of the ranking, which says so; with `keep_models` only
    tasks do. One task is compared by the answers to its examples, more by `compare`. Raises
    `EvaluationError` where runs contradict each other, `StatisticsError` for settings that are
    out of range and where scipy is missing.
    """
    kept, elsewhere = on_one_split(runs)
    systems = systems_of(kept)
    have = {
        system.name: {task for task in system.runs if _scores(system, task)} for system in systems
    }
    block = complete(have, keep_models=keep_models)
    metrics = {run.task: ranking_score(run.scores).name for run in kept}
    result = ComparisonResult(
        systems=systems,
        tasks=tuple(sorted(metrics)),
        metrics=metrics,
        block=block,
        comparison="",
        new_tasks=None,
        alone=(),
        without_value=tuple(
            _undefined(run) for run in kept if ranking_score(run.scores).value is None
        ),
        elsewhere=tuple(elsewhere),
        every=tuple(every),
    )
    return _compare(result, tasks, question)


def matrix(compared: ComparisonResult) -> ScoreMatrix:
    """Return the scores of the block; raises `StatisticsError` for fewer than two models."""
    scores = [
        Score(system.name, task, seed, value)
        for system in compared.systems
        if system.name in compared.block.models
        for task in compared.block.tasks
        for seed, value in _scores(system, task).items()
    ]
    return score_matrix(scores, compared.metric)


def mean_score(system: System, task: str) -> float | None:
    """Return a system's score on a task, the mean over seeds; None where there is none."""
    values = list(_scores(system, task).values())
    return sum(values) / len(values) if values else None


def _compare(
    result: ComparisonResult, tasks: Mapping[str, Task], question: Question
) -> ComparisonResult:
    check_settings(question.alpha, question.rope or 0.0)
    models, shared = result.block.models, result.block.tasks
    if len(result.systems) < 2:
        only = result.systems[0].name
        return replace(result, comparison=f"There is one model, {only}; a comparison needs two")
    if len(models) < 2 or not shared:
        return replace(result, comparison="No two models have scores on the same task")
    if question.approach == "calibrated":
        return _calibrated(result, tasks, question)
    few = len(shared) < FEWEST_TASKS
    alone: tuple[Comparison, ...] = ()
    if few and (len(shared) == 1 or len(models) <= _MOST_ALONE):
        by_task = (_single_task(result, name, tasks.get(name), question) for name in shared)
        alone = tuple(comparison for comparison in by_task if comparison is not None)
    if len(shared) == 1 and alone:
        return replace(result, comparison=alone[0])
    approach, choice = METHODS[question.approach]
    over_tasks = compare(
        matrix(result),
        alpha=question.alpha,
        rope=_BAYESIAN_ROPE if question.rope is None else question.rope,
        approach=approach,
        seed=question.seed,
        choice=choice,
    )
    return replace(result, comparison=over_tasks, alone=alone)


def _calibrated(
    result: ComparisonResult, tasks: Mapping[str, Task], question: Question
) -> ComparisonResult:
    """Answer what holds on new rows and on new tasks, and on new rows of each of a few tasks."""
    scores = matrix(result)
    alpha, rope = question.alpha, ROPE if question.rope is None else question.rope
    systems = [system for system in result.systems if system.name in scores.models]
    evidence = evidence_of(systems, scores.tasks, tasks)
    if isinstance(evidence, str):
        why = f"Of new rows nothing can be told: {evidence}"
        on_tasks = new_tasks_by_scores(scores, alpha=alpha, rope=rope, seed=question.seed)
        return replace(
            result,
            comparison=arrange(scores, no_rows(len(scores.models), why, alpha)),
            new_tasks=arrange(scores, on_tasks),
        )
    answers = answer_questions(evidence, scores.models, alpha=alpha, rope=rope, seed=question.seed)
    alone: tuple[Comparison, ...] = ()
    count = len(evidence)
    if 1 < count < FEWEST_TASKS and len(scores.models) <= _MOST_ALONE:
        # A table of each task shows so many times the pairs, so each gets its share of alpha.
        by_task = [
            answer_on_new_rows(
                [task], scores.models, alpha=alpha / count, rope=rope, seed=question.seed
            )
            for task in evidence
        ]
        alone = tuple(
            arrange(_of_task(scores, task.task), answered)
            for task, answered in zip(evidence, by_task, strict=True)
        )
    comparison = arrange(scores, answers.new_rows)
    notes = (*comparison.notes, *_few_projects(result, tasks, scores))
    return replace(
        result,
        comparison=replace(comparison, notes=notes),
        new_tasks=arrange(scores, answers.new_tasks),
        alone=alone,
    )


def _of_task(scores: ScoreMatrix, task: str) -> ScoreMatrix:
    at = scores.tasks.index(task)
    return replace(scores, tasks=(task,), cells=tuple((row[at],) for row in scores.cells))


def _few_projects(
    result: ComparisonResult, tasks: Mapping[str, Task], scores: ScoreMatrix
) -> Iterator[str]:
    """Say which tasks have projects named, yet too few to resample whole projects."""
    few: dict[str, int] = {}
    system = next(system for system in result.systems if system.name in scores.models)
    for name in scores.tasks:
        repos = set(system.runs[name][0].predictions()["repo"].to_pylist()) - {None, ""}
        if 1 < len(repos) < MANY_PROJECTS:
            few[name] = len(repos)
    if few:
        named = ", ".join(f"{name} ({count})" for name, count in list(few.items())[:_MOST_NAMED])
        more = f" and {len(few) - _MOST_NAMED} more" if len(few) > _MOST_NAMED else ""
        yield (
            f"Of fewer than {MANY_PROJECTS} projects are {named}{more}: answers hold on new rows of"
            " these projects, and others may differ"
        )


def _single_task(
    result: ComparisonResult, name: str, task: Task | None, question: Question
) -> Comparison | None:
    """Compare by the answers to one task, None where the metric does not allow it."""
    if task is None:
        return None
    runs_of: dict[str, list[ExampleNumbers]] = {}
    for system in result.systems:
        if system.name in result.block.models:
            runs = [
                example_numbers(task, run.predictions(), run.scores.main)
                for run in system.runs[name]
            ]
            there = [numbers for numbers in runs if numbers is not None]
            if len(there) < len(runs) or len({numbers.ids for numbers in there}) > 1:
                return None
            runs_of[system.name] = there
    answers = side_by_side(runs_of)
    first = next(iter(answers.values()))
    measured = [
        float(numbers.measure(numbers.columns.sum(axis=0)[None, :])[0])
        for numbers in answers.values()
    ]
    if {numbers.ids for numbers in answers.values()} != {first.ids} or not np.isfinite(
        measured
    ).all():
        return None
    pairs = math.comb(len(answers), 2)
    groups = projects(first.repos, pairs, question.alpha)
    comparison = compare_answers(
        {system: numbers.columns for system, numbers in answers.items()},
        _defined(first.measure),
        metric=result.metrics[name],
        task=name,
        alpha=question.alpha,
        seed=question.seed,
        groups=groups,
    )
    few = len({repo for repo in first.repos if repo})
    if groups is not None or few < 2:
        return comparison
    note = (
        f"The examples are of {few} projects, too few to swap whole projects in so many"
        " comparisons: decisions hold for these projects, and others may differ"
    )
    return replace(comparison, notes=(*comparison.notes, note))


def _defined(measure: Measure) -> Measure:
    """Let shuffled answers that define no score count as no score at all."""
    return lambda sums: np.nan_to_num(measure(sums))


def _scores(system: System, task: str) -> dict[int, float]:
    scores = {run.seed: ranking_score(run.scores).value for run in system.runs.get(task, ())}
    return {seed: value for seed, value in scores.items() if value is not None}


def _undefined(run: Run) -> str:
    score = ranking_score(run.scores)
    return f"{run.model} on {run.task}, seed {run.seed}, has no {score.name}: {score.reason}"
