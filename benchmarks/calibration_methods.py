"""Each way to decide pairs of models, as null simulations call it.

`seeds shuffled` is the rule that Goldpan had: shuffling the seeds of two models within a task.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import product

import numpy as np

from benchmarks.null_models import Drawn
from goldpan.evaluation.compare.calibrated import Criteria, answer_on_new_rows, answer_on_new_tasks
from goldpan.evaluation.compare.methods import NamedMethod, compare_by_name
from goldpan.evaluation.compare.paired_tests import contributions, holm
from goldpan.evaluation.compare.scores import ScoreMatrix, scipy_stats, score_matrix

ALPHA = 0.05
NEW_ROWS, NEW_TASKS = "calibrated: new rows", "calibrated: new tasks"
_ROUNDS = 499

Decide = Callable[[Drawn, int], Mapping[tuple[int, int], str]]


def calibrated_rows(drawn: Drawn, seed: int) -> Mapping[tuple[int, int], str]:
    """Decide by the hierarchical resampling of rows."""
    criteria = Criteria(ALPHA, seed=seed, rounds=_ROUNDS)
    parts = contributions(drawn.evidence, drawn.models)
    verdicts = answer_on_new_rows(drawn.evidence, parts, criteria)
    return {pair: verdict.decision for pair, verdict in verdicts.of.items()}


def calibrated_tasks(drawn: Drawn, seed: int) -> Mapping[tuple[int, int], str]:
    """Decide for new tasks."""
    parts = contributions(drawn.evidence, drawn.models)
    verdicts = answer_on_new_tasks(drawn.evidence, parts, Criteria(ALPHA, seed=seed))
    return {pair: verdict.decision for pair, verdict in verdicts.of.items()}


def by_scores(method: NamedMethod) -> Decide:
    """Return a method that knows scores alone, by its name."""

    def decide(drawn: Drawn, seed: int) -> Mapping[tuple[int, int], str]:
        compared = compare_by_name(matrix(drawn), method, samples=2_000, seed=seed)
        numbers = {name: at for at, name in enumerate(drawn.models)}
        return {
            (numbers[pair.first], numbers[pair.second]): pair.decision for pair in compared.pairs
        }

    return decide


def matrix(drawn: Drawn) -> ScoreMatrix:
    """Return the scores as comparisons take them."""
    models, tasks, _ = drawn.scores.shape
    return score_matrix(
        {
            (drawn.models[i], f"t{j:02}"): drawn.scores[i, j].tolist()
            for i, j in product(range(models), range(tasks))
        },
        "macro_f1",
    )


def mcnemar_rows(drawn: Drawn, seed: int) -> Mapping[tuple[int, int], str]:
    """Decide by McNemar's exact test on the rows of the first task and seed, Holm-corrected."""
    del seed
    right = drawn.right[0][:, 0]
    pairs = _pairs(len(right))
    wins = [(int((right[i] > right[j]).sum()), int((right[i] != right[j]).sum())) for i, j in pairs]
    ps = [float(scipy_stats().binomtest(won, many).pvalue) if many else 1.0 for won, many in wins]
    return _significant(pairs, ps, [float((right[i] - right[j]).sum()) for i, j in pairs])


def highest_score(drawn: Drawn, seed: int) -> Mapping[tuple[int, int], str]:
    """Decide as competitions do: the higher mean score wins."""
    del seed
    means = drawn.scores.mean(axis=(1, 2))
    return {(i, j): "better" if means[i] != means[j] else "equal" for i, j in _pairs(len(means))}


def seeds_shuffled(drawn: Drawn, seed: int) -> Mapping[tuple[int, int], str]:
    """Decide by the old rule: scores of seeds are shuffled between models within each task."""
    random = np.random.default_rng(seed)
    models, tasks, seeds = drawn.scores.shape
    pairs = _pairs(models)
    ps, sides = [], []
    for i, j in pairs:
        actual, shuffled = 0.0, np.zeros(_ROUNDS)
        for task in range(tasks):
            pool = np.concatenate([drawn.scores[i, task], drawn.scores[j, task]])
            actual += pool[:seeds].mean() - pool[seeds:].mean()
            many = random.permuted(np.broadcast_to(pool, (_ROUNDS, pool.size)), axis=1)
            shuffled += many[:, :seeds].mean(axis=1) - many[:, seeds:].mean(axis=1)
        ps.append((int((np.abs(shuffled) >= abs(actual) - 1e-12).sum()) + 1) / (_ROUNDS + 1))
        sides.append(actual)
    return _significant(pairs, ps, sides)


def folds_and_projects(random: np.random.Generator) -> bool:
    """Return whether S8 finds a loss from ten folds to seven projects where there is none.

    Folds hold 100 rows each; projects hold 20 to 400 and differ in how hard they are.
    """
    base = 0.8
    folds = random.binomial(100, base, 10) / 100
    sizes = random.integers(20, 400, 7)
    hard = 1 / (1 + np.exp(-(math.log(base / (1 - base)) + random.normal(0, 0.4, 7))))
    projects = random.binomial(sizes, hard) / sizes
    return bool(scipy_stats().mannwhitneyu(projects, folds).pvalue < ALPHA)


METHODS: Mapping[str, Decide] = {
    NEW_ROWS: calibrated_rows,
    NEW_TASKS: calibrated_tasks,
    "bayesian signed rank": by_scores("bayesian"),
    "frequentist": by_scores("frequentist"),
    "nemenyi": by_scores("nemenyi"),
    "tukey": by_scores("tukey"),
    "mcnemar": mcnemar_rows,
    "nlbse23": highest_score,
    "seeds shuffled (old rule)": seeds_shuffled,
}


def _pairs(models: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(models) for j in range(i + 1, models)]


def _significant(
    pairs: list[tuple[int, int]], ps: list[float], sides: list[float]
) -> dict[tuple[int, int], str]:
    return {
        pair: "undecided" if p >= ALPHA or side == 0 else ("better" if side > 0 else "worse")
        for pair, p, side in zip(pairs, holm(ps), sides, strict=True)
    }
