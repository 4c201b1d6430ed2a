"""Compares two models on one data set by their answers to the same examples (ECSER, S10).

An example adds a row of numbers to a score, such as what it counts in a confusion matrix, and a
measure turns their sums into the score. Under the hypothesis that both models are alike, each
pair of answers may be swapped; how often that gives a difference as large is the p value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from goldpan.evaluation.statistics.comparison import (
    ChosenTest,
    ComparedPair,
    Comparison,
    Verdicts,
    arrange,
    near_limit,
    significant_decision,
)
from goldpan.evaluation.statistics.over_tasks import holm
from goldpan.evaluation.statistics.resampling import coins
from goldpan.evaluation.statistics.scores import (
    Floats,
    Measure,
    RunScore,
    add_up,
    check_settings,
    fewest_swapped,
    score_matrix,
)
from goldpan.evaluation.units import Units, counted

ROUNDS = 10_000
_BLOCK = 4_000_000
_TIE = 1e-12


def randomization_test(
    first: Floats,
    second: Floats,
    measure: Measure,
    *,
    rounds: int = ROUNDS,
    seed: int = 0,
    groups: Sequence[str] | None = None,
) -> float:
    """Return the two-sided p of two models that answered the same examples (approximate).

    `first` and `second` are examples x numbers. With `groups`, such as each example's project,
    whole groups are swapped: examples of one group are seldom independent. p is never 0, as the
    actual answers count as one shuffle.
    """
    if groups is not None:
        names = np.asarray(groups, dtype=object).astype(str)
        group_of = np.unique(names, return_inverse=True)[1].reshape(-1)
        first, second = add_up(first, group_of)[1], add_up(second, group_of)[1]
    sums, others = first.sum(axis=0), second.sum(axis=0)
    actual = (measure(sums[None, :]) - measure(others[None, :]))[0]
    # Swaps of examples that weigh alike differ only in their number, which is binomial: so
    # 800,000 examples cost no more than the few kinds of pairs of answers among them.
    moved = second - first
    kinds, counts = np.unique(moved[moved.any(axis=1)], axis=0, return_counts=True)
    random = np.random.default_rng(seed)
    extreme, left = 0, rounds
    while left:
        block = min(left, max(1, _BLOCK // max(1, len(kinds))))
        swapped = _swaps(random, counts, block) @ kinds
        shuffled = measure(sums + swapped) - measure(others - swapped)
        extreme += int((np.abs(shuffled) >= abs(actual) - _TIE).sum())
        left -= block
    return (extreme + 1) / (rounds + 1)


def compare_answers(
    answers: Mapping[str, Floats],
    measure: Measure,
    *,
    metric: str,
    task: str,
    alpha: float = 0.05,
    rounds: int = ROUNDS,
    seed: int = 0,
    units: Units | None = None,
) -> Comparison:
    """Rank models on one data set: a randomization test a pair, corrected after Holm.

    `answers` holds each model's examples x numbers, as `randomization_test` takes them; whole
    `units` are swapped, single examples without any. With many pairs there are more than `rounds`
    rounds, as else no p could fall below `alpha`.
    """
    check_settings(alpha)
    scores = score_matrix(
        [
            RunScore(model, task, seed, float(measure(rows.sum(axis=0)[None, :])[0]))
            for model, rows in answers.items()
        ],
        metric,
    )
    pairs = list(combinations(range(len(scores.models)), 2))
    rounds = max(rounds, math.ceil(2 * len(pairs) / alpha))
    tests = [
        randomization_test(
            answers[scores.models[i]],
            answers[scores.models[j]],
            measure,
            rounds=rounds,
            seed=seed,
            groups=None if units is None else units.names,
        )
        for i, j in pairs
    ]
    values = scores.means()[:, 0]
    verdicts = {
        (i, j): ComparedPair(
            decision=significant_decision(p, float(values[i] - values[j]), alpha),
            p=p,
            fragile=near_limit(p, alpha, rounds),
        )
        for (i, j), p in zip(pairs, holm(tests).tolist(), strict=True)
    }
    kind, count = ("rows", len(answers[scores.models[0]]))
    if units is not None:
        kind, count = units.kind, len(set(units.names))
    why = (
        f"There is one data set, so answers to its {counted(count, kind)} are swapped between"
        " models at random. That says whether a difference would hold on other rows of this data"
        " set, and nothing of other data sets"
    )
    if count < (fewest := fewest_swapped(alpha / len(pairs))):
        why += f". So few cannot decide: at least {fewest} {kind} are needed"
    test = ChosenTest(
        approach="frequentist",
        name="randomization",
        why=why,
        alpha=alpha,
        samples=rounds,
        seed=seed,
    )
    return arrange(scores, Verdicts(test, "mean", verdicts))


def _swaps(random: np.random.Generator, counts: NDArray[np.intp], block: int) -> Floats:
    """Draw how many examples of each kind are swapped, `block` times."""
    if not len(counts) or counts.max() > 1:
        return random.binomial(counts, 0.5, size=(block, len(counts))).astype(np.float64)
    # Single coins, the case of scores that are no counts, come faster as random bits.
    return coins(random, block, len(counts))
