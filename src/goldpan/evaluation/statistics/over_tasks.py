"""Tests of models over the same tasks: significance tests, and a Bayesian one with a ROPE.

Values are models x tasks. Functions of all models give the p of each pair, keyed by the places of
their rows, the smaller first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from goldpan.evaluation.statistics.scores import Floats, rounded, scipy_stats

_EXACT = 50
"""Up to so many differences Wilcoxon's p comes from all their signs, ties included."""


def paired_t(first: Floats, second: Floats) -> float:
    """Return the two-sided p of the paired t test; for normal differences, outliers hurt."""
    difference = rounded(first - second)
    if np.ptp(difference) == 0:
        return 1.0 if difference[0] == 0 else 0.0
    return float(scipy_stats().ttest_rel(first, second).pvalue)


def wilcoxon(first: Floats, second: Floats) -> float:
    """Return the two-sided p of Wilcoxon's signed-rank test; ties of both models are left out.

    Differences that are equal as decimals share their rank. p is exact for up to 50 of them,
    else of the normal approximation with the correction for ties. Autorank's is one-sided in the
    direction that the data show, which halves p.
    """
    difference = rounded(first - second)
    moved = difference[difference != 0]
    if not moved.size:
        return 1.0
    if moved.size > _EXACT:
        return float(scipy_stats().wilcoxon(moved, correction=False, method="approx").pvalue)
    # Ranks that are shared are halves, so twice the rank is whole.
    doubled = np.rint(2 * scipy_stats().rankdata(np.abs(moved))).astype(np.intp)
    ways = np.ones(1)
    for rank in doubled:
        longer = np.zeros(len(ways) + rank)
        longer[: len(ways)] += ways / 2
        longer[rank:] += ways / 2
        ways = longer
    whole, reached = int(doubled.sum()), int(doubled[moved > 0].sum())
    return min(1.0, 2 * float(ways[: min(reached, whole - reached) + 1].sum()))


def holm(values: Sequence[float] | Floats) -> Floats:
    """Return p values corrected for being several (Holm 1979), in the order given."""
    p = np.asarray(values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    corrected = np.empty_like(p)
    scaled = np.minimum(1.0, np.arange(len(p), 0, -1) * p[order])
    corrected[order] = np.maximum.accumulate(scaled)
    return corrected


@dataclass(frozen=True, slots=True)
class Assumptions:
    """Normality and variances of the scores of several models over tasks."""

    normal: bool
    normality: tuple[float | None, ...]
    """Shapiro-Wilk p of each model; None where its scores are all the same."""
    normality_alpha: float
    """Bonferroni-corrected for the number of models."""
    same_variance: bool
    variance_test: Literal["bartlett", "levene"]
    variance_p: float | None
    """None where a model's scores are all the same."""
    sphericity_p: float | None
    """Mauchly's p; None with two models, or with too few tasks for it."""
    spherical: bool
    """True where no test rejects equal variances, of the scores and of their differences."""


def check_assumptions(values: Floats, alpha: float) -> Assumptions:
    """Check normality and equal variances of models (rows) over tasks (columns, at least 3).

    As Autorank does: Shapiro-Wilk a model, then Bartlett for normal data, Levene for other.
    Mauchly's sphericity comes on top, because ECSER's Table 6 asks for it.
    """
    stats = scipy_stats()
    varied = [bool(np.ptp(row) > 0) for row in values]
    normality = tuple(
        float(stats.shapiro(row).pvalue) if varies else None
        for row, varies in zip(values, varied, strict=True)
    )
    level = alpha / len(values)
    normal = all(p is not None and p >= level for p in normality)
    variance_p = None
    if all(varied):
        test = stats.bartlett if normal else stats.levene
        variance_p = float(test(*values).pvalue)
    same_variance = variance_p is not None and variance_p >= alpha
    sphericity_p = mauchly(values) if all(varied) else None
    return Assumptions(
        normal=normal,
        normality=normality,
        normality_alpha=level,
        same_variance=same_variance,
        variance_test="bartlett" if normal else "levene",
        variance_p=variance_p,
        sphericity_p=sphericity_p,
        spherical=same_variance and (sphericity_p is None or sphericity_p >= alpha),
    )


def mauchly(values: Floats) -> float | None:
    """Return the p of Mauchly's test that all differences between models vary alike.

    None for two models, and where there are too few tasks or models that agree everywhere.
    """
    models, tasks = values.shape
    contrasts = models - 1
    if contrasts < 2 or tasks <= contrasts + 1:
        return None
    centring = np.eye(models) - 1 / models
    basis = np.linalg.svd(centring)[0][:, :contrasts]
    spread = basis.T @ np.cov(values) @ basis
    sign, log_det = np.linalg.slogdet(spread)
    trace = float(np.trace(spread))
    if sign <= 0 or trace <= 0 or not math.isfinite(log_det):
        return None
    log_w = log_det - contrasts * math.log(trace / contrasts)
    factor = tasks - 1 - (2 * contrasts**2 + contrasts + 2) / (6 * contrasts)
    freedom = contrasts * (contrasts + 1) / 2 - 1
    return float(scipy_stats().chi2.sf(-factor * log_w, freedom))


@dataclass(frozen=True, slots=True)
class Omnibus:
    """Result of an omnibus test, which asks if models differ at all."""

    name: str
    statistic: float
    p: float


def mean_ranks(values: Floats) -> Floats:
    """Return each model's mean rank over tasks: 1 is the best, ties share their ranks."""
    ranks: Floats = scipy_stats().rankdata(-rounded(values), axis=0).mean(axis=1)
    return ranks


def friedman(values: Floats) -> Omnibus:
    """Test by ranks, with Friedman's correction for ties: no assumption on distributions."""
    values = rounded(values)
    if np.ptp(values, axis=0).max() == 0:
        return Omnibus("friedman", 0.0, 1.0)
    result = scipy_stats().friedmanchisquare(*values)
    return Omnibus("friedman", float(result.statistic), float(result.pvalue))


def critical_difference(models: int, tasks: int, alpha: float) -> float:
    """Return how far apart mean ranks must be to differ (Nemenyi; Demsar 2006)."""
    quantile = float(scipy_stats().studentized_range.ppf(1 - alpha, models, math.inf))
    return quantile * math.sqrt(models * (models + 1) / (12 * tasks))


def nemenyi(values: Floats) -> dict[tuple[int, int], float]:
    """Compare all pairs by their mean ranks; p is corrected for all pairs."""
    models, tasks = values.shape
    ranks = mean_ranks(values)
    unit = math.sqrt(models * (models + 1) / (12 * tasks))
    return _studentized(ranks / unit, models, math.inf)


def anova(values: Floats) -> Omnibus:
    """Test by a repeated-measures ANOVA: for normal data whose differences vary alike."""
    models, tasks = values.shape
    between = tasks * float(((values.mean(axis=1) - values.mean()) ** 2).sum())
    error, freedom = _residual(values)
    if error == 0:
        return Omnibus("anova", 0.0, 1.0 if between == 0 else 0.0)
    statistic = between / (models - 1) / (error / freedom)
    p = float(scipy_stats().f.sf(statistic, models - 1, freedom))
    return Omnibus("anova", statistic, p)


def tukey(values: Floats) -> dict[tuple[int, int], float]:
    """Compare all pairs by their means (Tukey's HSD); p is corrected for all pairs.

    The error is that of the repeated-measures ANOVA. Autorank's is that of independent groups:
    differences between tasks then drown those between models.
    """
    models, tasks = values.shape
    error, freedom = _residual(values)
    means = values.mean(axis=1)
    if error == 0:
        return {(i, j): float(means[i] == means[j]) for i, j in combinations(range(models), 2)}
    return _studentized(means / math.sqrt(error / freedom / tasks), models, freedom)


def _residual(values: Floats) -> tuple[float, int]:
    """Return the sum of squares that neither models nor tasks explain, and its freedom."""
    models, tasks = values.shape
    residuals = values - values.mean(axis=1, keepdims=True) - values.mean(axis=0) + values.mean()
    error = float((residuals**2).sum())
    # What is left of numbers that cancel exactly is noise of their last digits.
    negligible = values.size * (np.finfo(np.float64).eps * float(np.abs(values).max())) ** 2 * 16
    return (error if error > negligible else 0.0), (models - 1) * (tasks - 1)


def _studentized(scaled: Floats, models: int, freedom: float) -> dict[tuple[int, int], float]:
    pairs = list(combinations(range(models), 2))
    distances = np.array([abs(scaled[i] - scaled[j]) for i, j in pairs])
    chances = scipy_stats().studentized_range.sf(distances, models, freedom)
    return dict(zip(pairs, np.clip(chances, 0, 1).tolist(), strict=True))


# Bayesian comparison with a region of practical equivalence (Benavoli et al. 2017, "Time for a
# change"). `signed_rank_pairs` draws what baycomp draws for the same seed, so it gives the same
# probabilities, but for all pairs at once: baycomp's loop takes minutes where this takes seconds.

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
