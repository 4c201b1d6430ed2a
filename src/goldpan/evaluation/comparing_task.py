"""Compares models on one task, by their answers to its examples."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from goldpan.datasets.task import Task
from goldpan.evaluation.answers import (
    ExampleNumbers,
    example_numbers,
    projects,
    side_by_side,
)
from goldpan.evaluation.comparison_result import ComparisonResult, Question
from goldpan.evaluation.statistics.comparison import Comparison
from goldpan.evaluation.statistics.randomization import Measure, compare_answers


def compare_on_task(
    result: ComparisonResult, name: str, task: Task | None, question: Question
) -> Comparison | None:
    """Compare by the answers to one task, None where the metric does not allow it."""
    if task is None:
        return None
    runs_of: dict[str, list[ExampleNumbers]] = {}
    for system in result.systems:
        if system.name in result.block.models:
            runs = system.runs[name]
            of_runs = [example_numbers(task, run.predictions(), run.scores.main) for run in runs]
            defined = [numbers for numbers in of_runs if numbers is not None]
            if len(defined) < len(runs) or len({numbers.ids for numbers in defined}) > 1:
                return None
            runs_of[system.name] = defined
    answers = side_by_side(runs_of)
    first = next(iter(answers.values()))
    scores = [
        float(numbers.measure(numbers.columns.sum(axis=0)[None, :])[0])
        for numbers in answers.values()
    ]
    if {numbers.ids for numbers in answers.values()} != {first.ids} or not np.isfinite(
        scores
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
