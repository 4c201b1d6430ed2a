"""Answers of each pair of models whether one is better on new rows, and on new tasks.

Each answer is `better` only where it holds for all pairs at once at the level asked for, which
null simulations check (`python -m benchmarks.calibration`), `equal` only inside a region of
practical equivalence, and else `undecided`, with what would be needed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from goldpan.evaluation.statistics.comparison import (
    ChosenTest,
    ComparedPair,
    TestName,
    Verdicts,
    near_limit,
    significant_decision,
    untested,
)
from goldpan.evaluation.statistics.over_tasks import holm
from goldpan.evaluation.statistics.resampling import (
    ROUNDS,
    Contributions,
    RowsTest,
    compare_on_rows,
    contributions,
    sides,
)
from goldpan.evaluation.statistics.scores import (
    Floats,
    ScoreMatrix,
    TaskEvidence,
    rounded,
    scipy_stats,
)

ROPE = 0.01
"""Half the width of the region in which two scores count as equal, in points of the score."""
_MOST_TIMES = 1000
_ONE_PAIR = 1.96
_LEAST_UNITS = 6
"""Swapping five units cannot fall below p = 0.0625."""


@dataclass(frozen=True, slots=True)
class Criteria:
    """The rules by which pairs of models are decided."""

    alpha: float = 0.05
    rope: float = ROPE
    seed: int = 0
    rounds: int = ROUNDS


DEFAULT = Criteria()


@dataclass(frozen=True, slots=True)
class CalibratedAnswers:
    """The decisions on all pairs of models, for each of the two questions."""

    new_rows: Verdicts
    new_tasks: Verdicts


def answer_questions(
    tasks: Sequence[TaskEvidence], models: Sequence[str], criteria: Criteria = DEFAULT
) -> CalibratedAnswers:
    """Decide all pairs of models by their answers to these tasks, paired unless they say not."""
    parts = contributions(tasks, models)
    return CalibratedAnswers(
        answer_on_new_rows(tasks, parts, criteria), answer_on_new_tasks(tasks, parts, criteria)
    )


def new_tasks_by_scores(scores: ScoreMatrix, criteria: Criteria = DEFAULT) -> Verdicts:
    """Decide all pairs for new tasks where only scores are known."""
    values = scores.means()
    pairs = list(combinations(range(len(values)), 2))
    differences = np.stack([values[i] - values[j] for i, j in pairs], axis=1)
    return _over_sources(
        differences, None, pairs, criteria, fewest=FEWEST_WITHOUT_ROWS, unit="tasks"
    )


def no_rows(models: int, why: str, alpha: float) -> Verdicts:
    """Return that nothing can be said about new rows, and why."""
    return untested(ChosenTest("calibrated", "none", why, alpha, question="new rows"), models)


def answer_on_new_rows(
    tasks: Sequence[TaskEvidence], parts: Contributions, criteria: Criteria = DEFAULT
) -> Verdicts:
    """Decide all pairs of models for new rows of these tasks."""
    alpha, seed = criteria.alpha, criteria.seed
    tested = compare_on_rows(parts, alpha=alpha, seed=seed, rounds=criteria.rounds)
    units = sum(task.units for task in tasks)
    names = sorted({task.unit for task in tasks})
    unit = names[0] if len(names) == 1 else "rows, documents or projects"
    several = max(len(model.scores) for task in tasks for model in task.models.values()) > 1
    trained = (
        "Seeds are averaged first, and what other seeds would change is added"
        if several
        else "One seed does not show what training again would change, so it holds for the models "
        "as they were trained"
    )
    paired = all(task.paired for task in tasks)
    how = (
        f"The answers to {units:,} {unit} are swapped between models at random, {tested.rounds:,}"
        " times, all pairs alike"
        if paired
        else "It is not known which rows the counts share, so the answers of two models are taken"
        " as independent, which finds less"
    )
    if parts.trainings.fewest is not None:
        trained += ". Tasks that one training answered rise and fall together, so they count as one"
    why = f"{how}. {trained}"
    if units < _LEAST_UNITS:
        why += f". With {units} {unit} p cannot fall below {2.0 ** (1 - units):.2g}: at least"
        why += f" {_LEAST_UNITS} are needed"
    test = replace(
        _test("hierarchical resampling", why, criteria, units, unit),
        samples=tested.rounds,
        question="new rows",
    )
    # Without any difference seen the variance is 0, and that of a new row is not: two more rows
    # that differ, one either way, keep few rows from passing as equal.
    unseen = 2 * sum((1 / task.units) ** 2 for task in tasks) / len(tasks) ** 2
    normal = float(scipy_stats().norm.isf(alpha / (2 * len(parts.pairs))))
    wide = np.sqrt(tested.half_width**2 + normal**2 * unseen)
    verdicts = {}
    for at, pair in enumerate(parts.pairs):
        verdict = _verdict(tested, at, float(wide[at]), criteria)
        open_ = verdict.decision == "undecided"
        verdicts[pair] = replace(
            verdict,
            fragile=near_limit(float(tested.p[at]), alpha, tested.rounds),
            needed=_units_needed(tested, at, units, normal) if open_ else None,
            needed_unit=unit,
        )
    return Verdicts(test, "mean", verdicts)


def _units_needed(tested: RowsTest, at: int, units: int, normal: float) -> int | None:
    """Return how many units would show the difference seen with a power of 80 %."""
    # Few units reach few levels of p, many all: at most Bonferroni's limit, at least that seen.
    limit = min(max(tested.critical, _ONE_PAIR), normal)
    target = (abs(float(tested.difference[at])) / (limit + POWER_QUANTILE)) ** 2
    left = target - float(tested.seeds_variance[at])
    if left <= 0:
        return None
    times = float(tested.rows_variance[at]) / left
    return max(_LEAST_UNITS, math.ceil(units * times)) if times <= _MOST_TIMES else None


def answer_on_new_tasks(
    tasks: Sequence[TaskEvidence], parts: Contributions, criteria: Criteria = DEFAULT
) -> Verdicts:
    """Decide all pairs of models for new tasks like these."""
    sources, trainings = list(parts.by_source), parts.trainings
    differences, within = [], []
    first, second = sides(parts.pairs)
    for source in sources:
        rows = [at for at, task in enumerate(tasks) if task.source == source]
        differences.append(parts.task_difference[rows].mean(axis=0))
        scale = (len(tasks) / len(rows)) ** 2
        variance = (parts.by_source[source] ** 2).sum(axis=0) + parts.unpaired[rows].sum(axis=0)
        variance = variance * scale
        for row in rows:
            spread = np.array([model.seed_variance for model in tasks[row].models.values()])
            spread = spread * trainings.own[row]
            variance = variance + (spread[first] + spread[second]) / len(rows) ** 2
        within.append(variance)
    unit = "tasks" if len(sources) == len(tasks) else "data sets"
    if trainings.fewest == 1 and len(sources) >= FEWEST_SOURCES:
        why = (
            "One training answered several tasks, and its luck is that of all of them: an answer on"
            " new tasks needs at least 2 trainings (seeds) of each model"
        )
        return _untested(parts.pairs, why, criteria, len(sources), unit)
    return _over_sources(
        np.stack(differences),
        np.stack(within),
        parts.pairs,
        criteria,
        fewest=FEWEST_SOURCES,
        unit=unit,
        common=Common(trainings.shared[first] + trainings.shared[second], trainings.shared_freedom)
        if trainings.shared.any()
        else None,
    )


def _over_sources(
    differences: Floats,
    within: Floats | None,
    pairs: Sequence[tuple[int, int]],
    criteria: Criteria,
    *,
    fewest: int,
    unit: str,
    common: Common | None = None,
) -> Verdicts:
    count = len(differences)
    if count < fewest:
        number = f"is 1 {unit.removesuffix('s')}" if count == 1 else f"are {count} {unit}"
        why = f"There {number}; an answer on new tasks needs at least {fewest}"
        return _untested(pairs, why, criteria, count, unit, needed=fewest)
    alpha, seed = criteria.alpha, criteria.seed
    tested = compare_over_sources(differences, within, alpha=alpha, seed=seed, common=common)
    trained = ", and with what other trainings would change on all of them" if common else ""
    why = (
        f"A t test over {count} {unit} ({count - 1} degrees of freedom, Holm), with the variance"
        f" between them, at least that of their rows{trained}"
        if within is not None
        else f"A t test over {count} {unit}, and sign flips of whole {unit}; the larger p counts"
        " (Holm)"
    )
    verdicts = {}
    for at, pair in enumerate(pairs):
        verdict = _verdict(tested, at, float(tested.half_width[at]), criteria)
        needed = tested.needed[at] if verdict.decision == "undecided" else None
        verdicts[pair] = replace(verdict, needed=needed, needed_unit=unit)
    return Verdicts(_test("random effects", why, criteria, count, unit), "mean", verdicts)


def _untested(
    pairs: Sequence[tuple[int, int]],
    why: str,
    criteria: Criteria,
    units: int,
    unit: str,
    needed: int | None = None,
) -> Verdicts:
    test = ChosenTest(
        "calibrated", "none", why, criteria.alpha, question="new tasks", units=units, unit=unit
    )
    verdict = ComparedPair(decision="untested", needed=needed, needed_unit=unit if needed else "")
    return Verdicts(test, "mean", dict.fromkeys(pairs, verdict))


def _verdict(
    tested: RowsTest | TasksTest, at: int, half: float, criteria: Criteria
) -> ComparedPair:
    """Return the decision on a pair whose difference has an interval of that half width."""
    difference, p = float(tested.difference[at]), float(tested.p[at])
    low, high = difference - half, difference + half
    decision = significant_decision(p, difference, criteria.alpha)
    if decision == "undecided" and -criteria.rope <= low and high <= criteria.rope:
        decision = "equal"
    return ComparedPair(decision=decision, p=p, low=low, high=high)


def _test(name: TestName, why: str, criteria: Criteria, units: int, unit: str) -> ChosenTest:
    return ChosenTest(
        approach="calibrated",
        name=name,
        why=why,
        alpha=criteria.alpha,
        rope=criteria.rope,
        rope_kind="absolute",
        seed=criteria.seed,
        question="new tasks",
        units=units,
        unit=unit,
    )


# New tasks: data sets are the units. The difference on one is that of all tasks, plus what is
# peculiar to this data set, plus the chance of its test rows. A t test over data sets takes in all
# three; its variance is at least that of the rows alone (Knapp and Hartung 2003, modified so that
# scores that happen to agree do not pass as certainty).

FEWEST_SOURCES = 3
"""Two differences have one degree of freedom: nothing realistic would ever be decided."""
FEWEST_WITHOUT_ROWS = 6
"""Sign flips of five scores cannot fall below p = 0.0625."""
MOST_SOURCES = 10_000
POWER_QUANTILE = 0.8416
"""Normal quantile of a power of 80 %."""
_ENUMERATED = 14
_ROUNDS = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class TasksTest:
    """Pairs of models tested on new tasks."""

    difference: Floats
    """The mean over data sets."""
    p: Floats
    """Two-sided, corrected for all pairs (Holm)."""
    half_width: Floats
    """Half the width of the interval that holds for all pairs at once (Bonferroni)."""
    needed: tuple[int | None, ...]
    """Data sets at which the difference seen would be found with a power of 80 %; None beyond
    `MOST_SOURCES`."""


@dataclass(frozen=True, slots=True, eq=False)
class Common:
    """The variance of each difference that is the same on all data sets, and how well it is known.

    It is what other trainings would change, where one training answered several data sets.
    """

    variance: Floats
    freedom: float

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
) -> TasksTest:
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
    own = np.sqrt(variance)
    if common is not None:
        variance, freedom = common.added(variance, freedom)
    error = np.sqrt(variance)
    size = np.divide(np.abs(mean), error, out=np.zeros_like(mean), where=error > 0)
    p = np.where(error > 0, 2 * stats.t.sf(size, freedom), (mean == 0).astype(np.float64))
    if within is None:
        p = np.maximum(p, _flipped(differences, seed))
    limit = stats.t.isf(alpha / (2 * pairs), freedom)
    return TasksTest(
        difference=mean,
        p=holm(p),
        half_width=limit * error,
        needed=(None,) * pairs
        if common is not None
        else sources_needed(np.abs(mean), own * math.sqrt(count), alpha / pairs),
    )


def sources_needed(differences: Floats, spreads: Floats, alpha: float) -> tuple[int | None, ...]:
    """Return how many data sets a t test needs to find differences of these spreads (80 %)."""
    t = scipy_stats().t

    def enough(counts: NDArray[np.intp]) -> NDArray[np.bool_]:
        reach = t.isf(alpha / 2, counts - 1) + POWER_QUANTILE
        shown: NDArray[np.bool_] = reach * spreads <= differences * np.sqrt(counts)
        return shown

    low = np.full(len(differences), FEWEST_SOURCES)
    high = np.full(len(differences), MOST_SOURCES)
    possible = (differences > 0) & enough(high)
    # All pairs are halved together, as one quantile for all costs little more than for one.
    while (low < high).any():
        middle = (low + high) // 2
        shown = enough(middle) | ~possible
        low, high = np.where(shown, low, middle + 1), np.where(shown, middle, high)
    return tuple(int(count) if shown else None for count, shown in zip(low, possible, strict=True))


def _flipped(differences: Floats, seed: int) -> Floats:
    """Return the two-sided p of flipping the signs of whole data sets, exact for few of them."""
    count = len(differences)
    if count <= _ENUMERATED:
        numbers = np.arange(2**count)[:, None] >> np.arange(count)
        signs, extra = (numbers & 1) * 2.0 - 1.0, 0
    else:
        signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=(_ROUNDS, count))
        extra = 1
    actual = np.abs(differences.sum(axis=0))
    extreme = (np.abs(signs @ differences) >= actual - 1e-12).sum(axis=0)
    p: Floats = (extreme + extra) / (len(signs) + extra)
    return p
