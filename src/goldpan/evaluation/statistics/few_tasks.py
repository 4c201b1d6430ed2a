"""Compares models on too few tasks for a test over tasks: by their seeds, or not at all."""

from __future__ import annotations

import math

import numpy as np

from goldpan.evaluation.statistics.comparison import Approach, ChosenTest
from goldpan.evaluation.statistics.decide import (
    Verdict,
    Verdicts,
    near_limit,
    significant_decision,
)
from goldpan.evaluation.statistics.paired import holm
from goldpan.evaluation.statistics.scores import Floats, ScoreMatrix

FEWEST_TASKS = 5
"""Autorank's limit. Wilcoxon's p cannot fall below 0.0625 with five tasks, 0.031 with six."""
_ROUNDS = 10_000


def decide_few(scores: ScoreMatrix, *, alpha: float, approach: Approach, seed: int) -> Verdicts:
    """Decide by the seeds where every cell has several, else leave all pairs `untested`."""
    tasks = len(scores.tasks)
    few = (
        f"There {'is 1 task' if tasks == 1 else f'are {tasks} tasks'}, and tests over tasks need"
        f" {FEWEST_TASKS}"
    )
    pairs = [(i, j) for i in range(len(scores.models)) for j in range(i + 1, len(scores.models))]
    if scores.fewest_seeds < 2:
        why = (
            f"{few}; with one run a cell, seeds cannot stand in. Compare the runs of one task by"
            " their predictions (randomization test), or run more tasks or seeds"
        )
        test = ChosenTest(approach, "none", why, alpha)
        return Verdicts(test, "mean", {pair: Verdict("untested") for pair in pairs})
    tests = [permute_seeds(scores.cells[i], scores.cells[j], seed=seed) for i, j in pairs]
    corrected = holm([p for p, _ in tests])
    test = ChosenTest(
        approach="frequentist",
        name="permutation of seeds",
        why=f"{few}; instead, runs are shuffled between both models within each task. That says"
        " whether a difference is more than the noise of training on these tasks, and nothing of"
        " others",
        alpha=alpha,
        samples=_ROUNDS,
        seed=seed,
    )
    verdicts = {
        pair: Verdict(
            significant_decision(p, side, alpha), p=p, fragile=near_limit(p, alpha, _ROUNDS)
        )
        for pair, p, (_, side) in zip(pairs, corrected, tests, strict=True)
    }
    return Verdicts(test, "mean", verdicts)


def least_p(scores: ScoreMatrix) -> float:
    """Return the smallest p that a permutation of seeds can give the surest pair, corrected."""
    models = range(len(scores.models))
    shuffles = [
        math.prod(
            math.comb(len(mine) + len(theirs), len(mine))
            for mine, theirs in zip(scores.cells[i], scores.cells[j], strict=True)
        )
        for i in models
        for j in models[i + 1 :]
    ]
    return 2 * len(shuffles) / max(shuffles)


def permute_seeds(
    first: tuple[tuple[float, ...], ...],
    second: tuple[tuple[float, ...], ...],
    *,
    seed: int,
    rounds: int = _ROUNDS,
) -> tuple[float, float]:
    """Return the two-sided p of a stratified permutation test, and the difference of means.

    Each holds the scores of all seeds, a tuple a task; runs trade models within their task.
    """
    random = np.random.default_rng(seed)
    shuffled = np.zeros(rounds)
    actual = 0.0
    for mine, theirs in zip(first, second, strict=True):
        pool: Floats = np.array([*mine, *theirs])
        actual += _gap(pool[None, :], len(mine))[0]
        many = np.broadcast_to(pool, (rounds, pool.size))
        shuffled += _gap(random.permuted(many, axis=1), len(mine))
    extreme = int((np.abs(shuffled) >= abs(actual) - 1e-12).sum())
    return (extreme + 1) / (rounds + 1), actual / len(first)


def _gap(pools: Floats, mine: int) -> Floats:
    gaps: Floats = pools[:, :mine].mean(axis=1) - pools[:, mine:].mean(axis=1)
    return gaps
