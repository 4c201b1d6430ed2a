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
    return _over_sources(differences, None, pairs, criteria, unit="tasks")


def answer_on_new_rows(
    tasks: Sequence[TaskEvidence], parts: Contributions, criteria: Criteria = DEFAULT
) -> Verdicts:
    """Decide all pairs of models for new rows of these tasks."""
    alpha = criteria.alpha
    tested = compare_on_rows(parts, alpha=alpha, seed=criteria.seed, rounds=criteria.rounds)
    units = sum(task.units for task in tasks)
    names = {task.unit for task in tasks}
    unit = names.pop() if len(names) == 1 else "rows, documents or projects"
    seeds = np.max([[len(one.scores) for one in task.models.values()] for task in tasks], axis=0)
    why = (
        f"The answers to {counted(units, unit)} are swapped between models at random,"
        f" {criteria.rounds:,} times, all pairs alike. "
    )
    why += (
        "Seeds are averaged first, and the variation between seeds is added"
        if seeds.max() > 1
        else "One seed does not show what training again would change, so it holds for the models "
        "as they were trained"
    )
    if seeds.min() == 1 < seeds.max():
        why += ". Of models with one seed it is unknown, so it holds for these as they were"
    if parts.trainings.fewest is not None:
        why += ". Tasks that one training answered rise and fall together, so they count as one"
    if units < (fewest := fewest_swapped(alpha)):
        why += f". With {counted(units, unit)} p cannot fall below {2.0 ** (1 - units):.2g}: at"
        why += f" least {fewest} are needed"
    # Without any difference seen the variance is 0, and that of a new row is not: two more rows
    # that differ, one either way, keep few rows from passing as equal.
    unseen = 2 * sum((1 / task.units) ** 2 for task in tasks) / len(tasks) ** 2
    normal = float(scipy_stats().norm.isf(alpha / (2 * len(parts.pairs))))
    wide = np.sqrt(tested.half_width**2 + normal**2 * unseen)
    test = _test("hierarchical resampling", why, criteria, units, unit, "new rows")
    return _verdicts(test, tested, parts.pairs, wide)


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
        return untested(_test("none", why, criteria, len(sources), unit), parts.pairs)
    common = None
    if trainings.shared.any():
        shared = trainings.shared[first] + trainings.shared[second]
        common = Common(shared, trainings.shared_freedom)
    stacked = np.stack(differences), np.stack(within)
    return _over_sources(*stacked, parts.pairs, criteria, unit=unit, common=common)


def _over_sources(
    differences: Floats,
    within: Floats | None,
    pairs: Sequence[tuple[int, int]],
    criteria: Criteria,
    *,
    unit: str,
    common: Common | None = None,
) -> Verdicts:
    count, alpha = len(differences), criteria.alpha
    fewest = fewest_swapped(alpha) if within is None else FEWEST_SOURCES
    if count < fewest:
        verb = "is" if count == 1 else "are"
        why = f"There {verb} {counted(count, unit)}; an answer on new tasks needs at least {fewest}"
        return untested(_test("none", why, criteria, count, unit), pairs)
    tested = compare_over_sources(
        differences, within, alpha=alpha, seed=criteria.seed, common=common
    )
    if within is None:
        why = f"A t test over {count} {unit}, and sign flips of whole {unit}; the larger p counts"
        why += " (Holm)"
        if count < (enough := fewest_swapped(alpha / len(pairs))):
            why += f". Scores of {count} {unit} decide none of {len(pairs)} pairs: at least"
            why += f" {enough} are needed"
    else:
        why = f"A t test over {count} {unit} ({count - 1} degrees of freedom, Holm), with the"
        why += " variance between them, at least that of their rows"
        why += ", and with what other trainings would change on all of them" if common else ""
    test = _test("random effects", why, criteria, count, unit)
    return _verdicts(test, tested, pairs, tested.half_width)


def _verdicts(
    test: ChosenTest, tested: PairsTest, pairs: Sequence[tuple[int, int]], half_widths: Floats
) -> Verdicts:
    """Return the decisions on pairs whose differences have intervals of these half widths."""
    verdicts = {}
    rope = test.rope
    numbers = zip(tested.difference.tolist(), tested.p.tolist(), half_widths.tolist(), strict=True)
    for pair, (difference, p, half) in zip(pairs, numbers, strict=True):
        low, high = difference - half, difference + half
        decision = significant_decision(p, difference, test.alpha)
        if decision == "undecided" and rope is not None and -rope <= low and high <= rope:
            decision = "equal"
        verdicts[pair] = ComparedPair(decision=decision, p=p, low=low, high=high)
    return Verdicts(test, "mean", verdicts)


def _test(
    name: TestName,
    why: str,
    criteria: Criteria,
    units: int,
    unit: str,
    question: Question = "new tasks",
) -> ChosenTest:
    rope, seed = (None, None) if name == "none" else (criteria.rope, criteria.seed)
    return ChosenTest(
        approach="calibrated",
        name=name,
        why=why,
        alpha=criteria.alpha,
        rope=rope,
        seed=seed,
        question=question,
        units=units,
        unit=unit,
    )
