"""Tests if a difference would hold on new rows of these tasks, and on new tasks.

On new rows: a task's units (projects, documents, or rows where these are independent) are
resampled, models stay paired, and seeds are averaged first: they share a test set, so they are no
further rows. What other seeds would change comes on top where it can be seen. All pairs share the
same draws, so that p is corrected for all of them together (Romano and Wolf 2005, step-down,
largest statistic).

The test of a pair is a randomization test of its units: under the hypothesis that two models are
alike, a unit's answers may be swapped between them. The score is linearized where both models
meet, at the mean of their sums. That point does not move when answers are swapped, so the test is
exact for two models that are alike, whatever the metric, and right in large samples for models of
the same score that err in different ways.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from goldpan.evaluation.compare.scores import (
    Floats,
    ModelEvidence,
    TaskEvidence,
    gradients,
    rounded,
    scipy_stats,
)

# What other trainings would change: the variance of a model's mean score over tasks.
#
# Where every task has a training of its own, the luck of each is independent, and the mean over
# many tasks evens it out. Where one training answers several tasks, its luck moves them all: the
# tasks are then one block, whose variance is seen only between seeds, and no number of tasks
# lessens it.


@dataclass(frozen=True, slots=True, eq=False)
class TrainingVariance:
    """The variance that other trainings would add to each model's mean over tasks."""

    total: Floats
    """Models."""
    freedom: float
    """Degrees of freedom of `total`; infinite where it is 0."""
    shared: Floats
    """Models: the part of it by trainings that answered several tasks."""
    shared_freedom: float
    fewest: int | None
    """The fewest seeds of a training that several tasks share; None where none is shared."""
    own: NDArray[np.bool_]
    """Tasks x models: True where the model's training for a task answered no other task."""


def training_variance(tasks: Sequence[TaskEvidence], models: Sequence[str]) -> TrainingVariance:
    """Return the variance that other trainings of each model would add over these tasks."""
    alone, shared, rough, rough_shared = np.zeros((4, len(models)))
    fewest = np.full(len(models), math.inf)
    own = np.zeros((len(tasks), len(models)), dtype=np.bool_)
    for at, name in enumerate(models):
        evidence = [task.models[name] for task in tasks]
        for (_, seeds), members in _trainings(evidence).items():
            variance = _block_variance([evidence[task] for task in members], len(tasks))
            unsure = variance**2 / max(1, seeds - 1)
            rough[at] += unsure
            if len(members) == 1:
                alone[at] += variance
                own[members, at] = True
            else:
                shared[at] += variance
                rough_shared[at] += unsure
                fewest[at] = min(fewest[at], seeds)
    several = np.array(
        [any(len(task.models[name].scores) > 1 for task in tasks) for name in models]
    )
    return TrainingVariance(
        total=_lent(alone + shared, several),
        freedom=_freedom(alone + shared, rough),
        shared=_lent(shared, np.isfinite(fewest) & (fewest > 1)),
        shared_freedom=_freedom(shared, rough_shared),
        fewest=int(fewest.min()) if np.isfinite(fewest).any() else None,
        own=own,
    )


def _trainings(evidence: Sequence[ModelEvidence]) -> Mapping[tuple[str, int], list[int]]:
    """Return the tasks of each training of a model and its number of seeds."""
    tasks: dict[tuple[str, int], list[int]] = defaultdict(list)
    for at, of_task in enumerate(evidence):
        tasks[of_task.training or f"\0task {at}", len(of_task.scores)].append(at)
    return tasks


def _block_variance(members: Sequence[ModelEvidence], tasks: int) -> float:
    """Return the variance of a block's share of the mean, over the number of its seeds."""
    seeds = len(members[0].scores)
    if seeds < 2:
        return 0.0
    if len(members) == 1:
        return members[0].seed_variance / tasks**2
    by_seed = np.sum([member.scores for member in members], axis=0) / tasks
    by_answers = sum(member.answer_variance for member in members) / tasks**2
    return max(0.0, float(by_seed.var(ddof=1)) - by_answers) / seeds


ROUNDS = 10_000
_HELD = 8_000_000
"""Numbers of a block of draws."""
_TIE = 1e-9
_PAIRS_AT_ONCE = 64
_RAREST = 1e-300


@dataclass(frozen=True, slots=True, eq=False)
class Contributions:
    """Contributions of units to the differences of pairs of models."""

    pairs: tuple[tuple[int, int], ...]
    difference: Floats
    """Difference of the scores, the mean over tasks, a number a pair."""
    by_source: dict[str, Floats]
    """Bins x pairs of each data set; the sum over all is the difference, linearized."""
    task_difference: Floats
    """Tasks x pairs."""
    trainings: TrainingVariance


@dataclass(frozen=True, slots=True, eq=False)
class PairsTest:
    """Pairs of models tested on new rows, or on new tasks."""

    difference: Floats
    p: Floats
    """Two-sided, corrected for all pairs."""
    half_width: Floats
    """Half the width of the interval that holds for all pairs at once."""


def sides(pairs: Iterable[tuple[int, int]]) -> tuple[NDArray[np.intp], ...]:
    """Return the first models of pairs, and the second ones."""
    return tuple(np.array(side, dtype=np.intp) for side in zip(*pairs, strict=True))


def contributions(tasks: Sequence[TaskEvidence], models: Sequence[str]) -> Contributions:
    """Return the share of each unit of these tasks in the mean difference of each pair."""
    pairs = tuple(combinations(range(len(models)), 2))
    first, second = sides(pairs)
    bins = 1 + max(int(task.bins.max()) for task in tasks)
    by_source: dict[str, Floats] = {}
    differences = np.zeros((len(tasks), len(pairs)))
    for at, task in enumerate(tasks):
        evidence = [task.models[name] for name in models]
        scores = np.array([model.score for model in evidence])
        differences[at] = rounded(scores[first] - scores[second])
        linear = _linear(task, np.stack([model.columns for model in evidence]), first, second)
        total = by_source.setdefault(task.source, np.zeros((bins, len(pairs))))
        np.add.at(total, task.bins, (linear[0] - linear[1]) / len(tasks))
    difference = rounded(differences.mean(axis=0))
    trainings = training_variance(tasks, models)
    return Contributions(pairs, difference, by_source, differences, trainings)


def _lent(variance: Floats, several: NDArray[np.bool_]) -> Floats:
    """Return the variances that models with several seeds lend each other.

    One variance from few seeds says little: no model counts as steadier than the average.
    """
    lent = variance.copy()
    if several.any():
        lent[several] = np.maximum(variance[several], variance[several].mean())
    return lent


def _freedom(variance: Floats, rough: Floats) -> float:
    """Return the degrees of freedom of variances that models lend each other."""
    return float(variance.sum() ** 2 / rough.sum()) if rough.any() else math.inf


def compare_on_rows(
    parts: Contributions, *, alpha: float = 0.05, rounds: int = ROUNDS, seed: int = 0
) -> PairsTest:
    """Test all pairs of models; the same contributions and seed give the same result."""
    added: Floats = sum(parts.by_source.values(), np.zeros(1))
    moved = added[(added != 0).any(axis=1)]
    first, second = sides(parts.pairs)
    rows = (moved**2).sum(axis=0)
    by_model, known = parts.trainings.total, parts.trainings.freedom
    seeds = by_model[first] + by_model[second]
    # Linearized and actual difference must agree: the smaller counts, none where signs differ.
    linear = moved.sum(axis=0)
    agree = np.sign(linear) == np.sign(parts.difference)
    size = np.where(agree, np.minimum(np.abs(linear), np.abs(parts.difference)), 0.0)
    # A variance from two or three seeds is too small more often than too large: without this,
    # models that two seeds each differ by chance are declared different in 7 of 100 cases.
    seeds = seeds * (1 + 2 / known)
    error = np.sqrt(rows + seeds)
    freedom = np.full(len(rows), math.inf)
    unsure = seeds > 0
    freedom[unsure] = known * (rows[unsure] + seeds[unsure]) ** 2 / seeds[unsure] ** 2
    z = _as_normal(np.divide(size, error, out=np.zeros_like(size), where=error > 0), freedom)
    p, most = _step_down(parts, moved, error, z, alpha, rounds, seed)
    tail = scipy_stats().norm.sf(most)
    half = error * np.where(np.isfinite(freedom), scipy_stats().t.isf(tail, freedom), most)
    return PairsTest(parts.difference, p, half)


def _linear(
    task: TaskEvidence, columns: Floats, first: NDArray[np.intp], second: NDArray[np.intp]
) -> Floats:
    """Return the share of each bin in either side of each pair: sides x bins x pairs."""
    sums = columns.sum(axis=1)
    sides = np.empty((2, columns.shape[1], len(first)))
    for start in range(0, len(first), _PAIRS_AT_ONCE):
        portion = slice(start, start + _PAIRS_AT_ONCE)
        left, other = first[portion], second[portion]
        slopes = gradients(task.measure, (sums[left] + sums[other]) / 2)
        sides[0, :, portion] = np.einsum("pbk,pk->bp", columns[left], slopes)
        sides[1, :, portion] = np.einsum("pbk,pk->bp", columns[other], slopes)
    return sides


def _as_normal(t: Floats, freedom: Floats) -> Floats:
    """Return the normal quantile that is as rare as a t of these degrees of freedom."""
    finite = np.isfinite(freedom)
    tails = scipy_stats().t.sf(t[finite], freedom[finite])
    z = t.copy()
    z[finite] = scipy_stats().norm.isf(np.maximum(tails, _RAREST))
    return z


def _step_down(
    parts: Contributions,
    moved: Floats,
    error: Floats,
    z: Floats,
    alpha: float,
    rounds: int,
    seed: int,
) -> tuple[Floats, float]:
    """Return corrected p, and how many errors the largest of all pairs reaches by chance."""
    random = np.random.default_rng(seed)
    seeds = parts.trainings.total
    first, second = sides(parts.pairs)
    scale = np.divide(1.0, error, out=np.zeros_like(error), where=error > 0)
    order = np.argsort(z, kind="stable")
    extreme = np.zeros(len(z))
    largest: list[Floats] = []
    left = rounds
    while left:
        block = min(left, max(1, _HELD // max(1, len(moved) + len(z))))
        samples = 2 * (coins(random, block, len(moved)) @ moved) - moved.sum(axis=0)
        if seeds.any():
            noise = random.standard_normal((block, len(seeds))) * np.sqrt(seeds)
            samples += noise[:, first] - noise[:, second]
        # In rising order of what was seen, so that each pair meets all that are no surer.
        samples = np.abs(samples * scale)[:, order]
        reached = np.maximum.accumulate(samples, axis=1)
        extreme += (reached >= z[order] * (1 - _TIE) - _TIE).sum(axis=0)
        largest.append(reached[:, -1])
        left -= block
    rising = np.maximum.accumulate(((extreme + 1) / (rounds + 1))[::-1])[::-1]
    p = np.empty_like(rising)
    p[order] = rising
    p[error == 0] = 1.0
    most = float(np.quantile(np.concatenate(largest), 1 - alpha, method="higher"))
    return p, most


def coins(random: np.random.Generator, rounds: int, units: int) -> Floats:
    """Return fair coins as 0 and 1, rounds x units."""
    bits = np.frombuffer(random.bytes(rounds * units // 8 + 1), dtype=np.uint8)
    return np.unpackbits(bits, count=rounds * units).reshape(rounds, units).astype(np.float64)


# New tasks: data sets are the units. The difference on one is that of all tasks, plus what is
# peculiar to this data set, plus the chance of its test rows. A t test over data sets takes in all
# three; its variance is at least that of the rows alone (Knapp and Hartung 2003, modified so that
# scores that happen to agree do not pass as certainty).

FEWEST_SOURCES = 3
"""Two differences have one degree of freedom: nothing realistic would ever be decided."""
_ENUMERATED = 14
_FLIPS = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class Common:
    """The variance of each difference that is the same on all data sets, and how well it is known.

    It is what other trainings would change, where one training answered several data sets.
    """

    variance: Floats
    freedom: float | Floats

    def added(self, variance: Floats, freedom: Floats) -> tuple[Floats, Floats]:
        """Return a variance with this one, and its degrees of freedom (Satterthwaite 1946)."""
        # From few seeds it is too small more often than too large, as on new rows.
        mine = self.variance * (1 + 2 / self.freedom)
        whole = variance + mine
        rough = variance**2 / freedom + mine**2 / self.freedom
        joint = np.divide(whole**2, rough, out=np.full_like(whole, np.inf), where=rough > 0)
        return whole, np.minimum(joint, freedom)


def compare_over_sources(
    differences: Floats,
    within: Floats | None,
    *,
    alpha: float,
    seed: int = 0,
    common: Common | None = None,
) -> PairsTest:
    """Test pairs by their differences on each data set, data sets x pairs.

    `within` holds the variance of each difference that comes from test rows and seeds. Without
    it, p is that of a sign-flip test of data sets where that is larger. `common` is what moves the
    differences on all data sets alike, so that no number of them lessens it.
    """
    stats = scipy_stats()
    count, pairs = differences.shape
    differences = rounded(differences)
    mean = rounded(differences.mean(axis=0))
    variance = differences.var(axis=0, ddof=1) / count
    if within is not None:
        variance = np.maximum(variance, within.sum(axis=0) / count**2)
    freedom = np.full(pairs, float(count - 1))
    if common is not None:
        variance, freedom = common.added(variance, freedom)
    error = np.sqrt(variance)
    size = np.divide(np.abs(mean), error, out=np.zeros_like(mean), where=error > 0)
    p = np.where(error > 0, 2 * stats.t.sf(size, freedom), (mean == 0).astype(np.float64))
    if within is None:
        p = np.maximum(p, _flipped(differences, seed))
    limit = stats.t.isf(alpha / (2 * pairs), freedom)
    return PairsTest(mean, holm(p), limit * error)


def holm(values: Sequence[float] | Floats) -> Floats:
    """Return p values corrected for being several (Holm 1979), in the order given."""
    p = np.asarray(values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    corrected = np.empty_like(p)
    scaled = np.minimum(1.0, np.arange(len(p), 0, -1) * p[order])
    corrected[order] = np.maximum.accumulate(scaled)
    return corrected


def _flipped(differences: Floats, seed: int) -> Floats:
    """Return the two-sided p of flipping the signs of whole data sets, exact for few of them."""
    count = len(differences)
    if count <= _ENUMERATED:
        numbers = np.arange(2**count)[:, None] >> np.arange(count)
        signs, extra = (numbers & 1) * 2.0 - 1.0, 0
    else:
        signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=(_FLIPS, count))
        extra = 1
    actual = np.abs(differences.sum(axis=0))
    extreme = (np.abs(signs @ differences) >= actual - 1e-12).sum(axis=0)
    p: Floats = (extreme + extra) / (len(signs) + extra)
    return p
