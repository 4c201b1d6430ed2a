"""Bayesian comparisons of two models, with a region of practical equivalence (ROPE).

Benavoli et al. 2017, "Time for a change". `signed_rank_pairs` draws what baycomp draws for the
same seed, so it gives the same probabilities, but for all pairs of models at once: baycomp's loop
takes minutes where this takes seconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from goldpan.evaluation.statistics.scores import Floats, StatisticsError, scipy_stats

SAMPLES = 50_000
_PRIOR = 0.5
"""The strength of the pseudo-observation at zero difference."""
_BLOCK = 4_000_000
"""Weights held at a time."""
_SAME = 1e-12


@dataclass(frozen=True, slots=True)
class Posterior:
    """How probable it is that the first of two models is worse, as good or better."""

    worse: float
    equal: float
    better: float

    def reversed(self) -> Posterior:
        """Return it from the second model's side."""
        return Posterior(self.better, self.equal, self.worse)


def signed_rank_pairs(
    values: Floats, ropes: Floats, *, samples: int = SAMPLES, seed: int = 0
) -> dict[tuple[int, int], Posterior]:
    """Compare all models (rows) over tasks (columns); `ropes` has a value a pair.

    Keys are places of rows, the smaller first. All pairs share their random weights, as
    Autorank's do for a fixed seed.
    """
    models, tasks = values.shape
    pairs = list(combinations(range(models), 2))
    won = {pair: np.zeros(3) for pair in pairs}
    # The legacy generator: its stream never changes, and it is the one that baycomp uses.
    random = np.random.RandomState(seed)
    prior = np.ones(tasks + 1)
    prior[0] = _PRIOR
    left = samples
    while left:
        many = min(left, max(1, _BLOCK // (tasks + 1)))
        weights = random.dirichlet(prior, many)
        for i, j in pairs:
            won[i, j] += _winners(weights, values[i] - values[j], float(ropes[i, j]))
        left -= many
    return {pair: Posterior(*(count / samples).tolist()) for pair, count in won.items()}


def correlated_t(first: Floats, second: Floats, rope: float, *, repeats: int = 1) -> Posterior:
    """Compare two models on one data set by the folds of a cross-validation.

    Folds share training data, so the variance gets Nadeau's and Bengio's correction. `repeats`
    says how often the cross-validation was run. Both models must have used the same folds.
    """
    count = first.size
    if first.shape != second.shape or count < 2 or repeats < 1 or count % repeats:
        raise StatisticsError(
            f"{count} and {second.size} scores are not {repeats} x the folds of both models",
            "Give the score of each fold of each repetition, in the same order",
        )
    folds = count // repeats
    if folds < 2:
        raise StatisticsError(
            "A correlated t test needs two folds", "Cross-validate with more folds"
        )
    difference = first - second
    mean = float(difference.mean())
    variance = float(difference.var(ddof=1)) * (1 / count + 1 / (folds - 1))
    if variance < _SAME**2:
        return Posterior(float(mean < -rope), float(abs(mean) <= rope), float(mean > rope))
    t = scipy_stats().t
    spread = math.sqrt(variance)
    worse = float(t.cdf(-rope, count - 1, mean, spread))
    better = float(t.sf(rope, count - 1, mean, spread))
    return Posterior(worse, max(0.0, 1 - worse - better), better)


def _winners(weights: Floats, difference: Floats, rope: float) -> Floats:
    """Count for how many weights the first model is worse, equal, better (Benavoli 2014, 4)."""
    if not difference.any():
        return np.array([0.0, len(weights), 0.0])
    padded = np.concatenate([[0.0], difference])
    sums = padded[:, None] + padded[None, :]
    better = (sums > 2 * rope) + 0.5 * (sums == 2 * rope)
    worse = (sums < -2 * rope) + 0.5 * (sums == -2 * rope)
    above = ((weights @ better) * weights).sum(axis=1)
    below = ((weights @ worse) * weights).sum(axis=1) if rope > 0 else 1 - above
    return _shared(np.stack([below, 1 - above - below, above], axis=1))


def _shared(shares: Floats) -> Floats:
    """Count the largest share of each row; shares that are as large split the row."""
    largest = shares >= shares.max(axis=1, keepdims=True) - _SAME
    split: Floats = (largest / largest.sum(axis=1, keepdims=True)).sum(axis=0)
    return split
