"""Says that there are too few tasks for a test over tasks, and what to do instead."""

from __future__ import annotations

from goldpan.evaluation.statistics.comparison import Approach, ChosenTest
from goldpan.evaluation.statistics.decide import Verdict, Verdicts
from goldpan.evaluation.statistics.scores import ScoreMatrix

FEWEST_TASKS = 5
"""Autorank's limit. Wilcoxon's p cannot fall below 0.0625 with five tasks, 0.031 with six."""


def decide_few(scores: ScoreMatrix, *, alpha: float, approach: Approach) -> Verdicts:
    """Leave all pairs `untested`: seeds share a test set, so they cannot stand in for tasks."""
    tasks = len(scores.tasks)
    why = (
        f"There {'is 1 task' if tasks == 1 else f'are {tasks} tasks'}, and tests over tasks need "
        f"{FEWEST_TASKS}. More seeds cannot replace them, because they share a test set. Compare "
        "by the answers to test rows (approach calibrated), or run more tasks"
    )
    pairs = [(i, j) for i in range(len(scores.models)) for j in range(i + 1, len(scores.models))]
    test = ChosenTest(approach, "none", why, alpha)
    return Verdicts(test, "mean", {pair: Verdict("untested") for pair in pairs})
