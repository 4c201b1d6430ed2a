"""Answers of each pair of models whether one is better on new rows, and on new tasks.

Each answer is `better` only where it holds for all pairs at once at the level asked for, which
null simulations check (`python -m benchmarks.calibration`), `equal` only inside a region of
practical equivalence, and else `undecided`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from goldpan.evaluation.compare.paired_tests import (
    FEWEST_SOURCES,
    ROUNDS,
    Common,
    Contributions,
    PairsTest,
    compare_on_rows,
    compare_over_sources,
    contributions,
    sides,
)
from goldpan.evaluation.compare.result import (
    ChosenTest,
    ComparedPair,
    Question,
    TestName,
    Verdicts,
    significant_decision,
    untested,
)
from goldpan.evaluation.compare.scores import (
    Floats,
    ScoreMatrix,
    TaskEvidence,
    fewest_swapped,
    scipy_stats,
)
from goldpan.evaluation.units import counted

ROPE = 0.01
"""Half the width of the region in which two scores count as equal, in points of the score."""


@dataclass(frozen=True, slots=True)
class Criteria:
    """The rules by which pairs of models are decided."""

    alpha: float = 0.05
    rope: float | None = ROPE
    """None where the scale of the scores is not known: then no two count as equal."""
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
    """Decide all pairs of models by their answers to these tasks, paired by row."""
    parts = contributions(tasks, models)
    return CalibratedAnswers(
        answer_on_new_rows(tasks, parts, criteria), answer_on_new_tasks(tasks, parts, criteria)
    )


def new_tasks_by_scores(scores: ScoreMatrix, criteria: Criteria = DEFAULT) -> Verdicts:
    """Decide all pairs for new tasks where only scores are known."""
    values = scores.means()
    pairs = list(combinations(range(len(values)), 2))
    differences = np.stack([values[i] - values[j] for i, j in pairs], axis=1)
    fewest = fewest_swapped(criteria.alpha)
    return _over_sources(differences, None, pairs, criteria, fewest=fewest, unit="tasks")


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
    counts = [[len(model.scores) for model in task.models.values()] for task in tasks]
    seeds = np.array(counts).max(axis=0)
    trained = (
        "Seeds are averaged first, and what other seeds would change is added"
        if seeds.max() > 1
        else "One seed does not show what training again would change, so it holds for the models "
        "as they were trained"
    )
    how = (
        f"The answers to {counted(units, unit)} are swapped between models at random,"
        f" {criteria.rounds:,} times, all pairs alike"
    )
    if seeds.min() == 1 < seeds.max():
        trained += ". Of models with one seed it is unknown, so it holds for these as they were"
    if parts.trainings.fewest is not None:
        trained += ". Tasks that one training answered rise and fall together, so they count as one"
    why = f"{how}. {trained}"
    if units < (fewest := fewest_swapped(alpha)):
        why += f". With {counted(units, unit)} p cannot fall below {2.0 ** (1 - units):.2g}: at"
        why += f" least {fewest} are needed"
    test = _test("hierarchical resampling", why, criteria, units, unit, "new rows")
    # Without any difference seen the variance is 0, and that of a new row is not: two more rows
    # that differ, one either way, keep few rows from passing as equal.
    unseen = 2 * sum((1 / task.units) ** 2 for task in tasks) / len(tasks) ** 2
    normal = float(scipy_stats().norm.isf(alpha / (2 * len(parts.pairs))))
    wide = np.sqrt(tested.half_width**2 + normal**2 * unseen)
    verdicts = _verdicts(tested, parts.pairs, wide, criteria)
    return Verdicts(test, "mean", verdicts)


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
        variance = (parts.by_source[source] ** 2).sum(axis=0) * scale
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
        verb = "is" if count == 1 else "are"
        why = f"There {verb} {counted(count, unit)}; an answer on new tasks needs at least {fewest}"
        return _untested(pairs, why, criteria, count, unit)
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
    enough = fewest_swapped(alpha / len(pairs)) if within is None else FEWEST_SOURCES
    if count < enough:
        why += f". Scores of {count} {unit} decide none of {len(pairs)} pairs: at least {enough}"
        why += " are needed"
    verdicts = _verdicts(tested, pairs, tested.half_width, criteria)
    return Verdicts(_test("random effects", why, criteria, count, unit), "mean", verdicts)


def _untested(
    pairs: Sequence[tuple[int, int]], why: str, criteria: Criteria, units: int, unit: str
) -> Verdicts:
    test = ChosenTest(
        "calibrated", "none", why, criteria.alpha, question="new tasks", units=units, unit=unit
    )
    return Verdicts(test, "mean", dict.fromkeys(pairs, ComparedPair()))


def _verdicts(
    tested: PairsTest, pairs: Sequence[tuple[int, int]], half_widths: Floats, criteria: Criteria
) -> dict[tuple[int, int], ComparedPair]:
    """Return the decisions on pairs whose differences have intervals of these half widths."""
    verdicts = {}
    rope = criteria.rope
    numbers = zip(tested.difference.tolist(), tested.p.tolist(), half_widths.tolist(), strict=True)
    for pair, (difference, p, half) in zip(pairs, numbers, strict=True):
        low, high = difference - half, difference + half
        decision = significant_decision(p, difference, criteria.alpha)
        if decision == "undecided" and rope is not None and -rope <= low and high <= rope:
            decision = "equal"
        verdicts[pair] = ComparedPair(decision=decision, p=p, low=low, high=high)
    return verdicts


def _test(
    name: TestName,
    why: str,
    criteria: Criteria,
    units: int,
    unit: str,
    question: Question = "new tasks",
) -> ChosenTest:
    return ChosenTest(
        approach="calibrated",
        name=name,
        why=why,
        alpha=criteria.alpha,
        rope=criteria.rope,
        seed=criteria.seed,
        question=question,
        units=units,
        unit=unit,
    )
