"""`Better` is as seldom wrong as it says: null simulations, their power, and the old rule."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from benchmarks.calibration_methods import NEW_ROWS, NEW_TASKS
from benchmarks.calibration_runs import LIMIT, above_limit, rates
from benchmarks.intervals import coverage
from benchmarks.null_models import Cell, draw, mean_of
from goldpan.evaluation.compare.calibrated import Criteria, answer_questions, new_tasks_by_scores
from goldpan.evaluation.compare.paired_tests import (
    compare_on_rows,
    compare_over_sources,
    contributions,
)
from goldpan.evaluation.compare.scores import (
    Floats,
    TaskEvidence,
    models_evidence,
    scipy_stats,
    score_matrix,
)
from tests.drawing import daily

ROWS, TASKS = NEW_ROWS, NEW_TASKS
OLD = "seeds shuffled (old rule)"
SEEN = Cell(tasks=3, rows=100, seeds=5, models=2, flip=0.1)
"""Three tasks, five seeds: the case in which 54 of 100 equal models were declared different."""
IN_DOCUMENTS = Cell(tasks=1, rows=100, seeds=1, models=2, flip=0.1, documents=10)

NULLS = (
    SEEN,
    IN_DOCUMENTS,
    Cell(tasks=1, rows=50, seeds=1, models=2, flip=0.0),
    Cell(tasks=2, rows=50, seeds=1, models=2, flip=0.0),
    Cell(tasks=1, rows=50, seeds=10, models=2, flip=0.2),
    Cell(tasks=1, rows=200, seeds=2, models=2, flip=0.1, seed_sd=0.2),
    Cell(tasks=1, rows=200, seeds=1, models=2, flip=0.1, lopsided=True),
    Cell(tasks=1, rows=100, seeds=1, models=10, flip=0.1, documents=40),
    Cell(tasks=1, rows=50, seeds=2, models=10, flip=0.1, shares=(0.9, 0.05, 0.05)),
)
"""A setting of each kind that makes it hard, of those in which rates are highest."""
MANY_TASKS = Cell(tasks=17, rows=50, seeds=3, models=2, flip=0.1, seed_sd=0.4, shared=True)
STUDIES = 60


@cache
def false_decisions(cell: Cell) -> int:
    """Return in how many studies equal models are declared different."""
    return rates(cell, [ROWS], STUDIES).different[ROWS]


@pytest.mark.parametrize("cell", daily(NULLS, [MANY_TASKS]), ids=Cell.named)
def test_equal_models_are_seldom_declared_different(cell: Cell) -> None:
    """At most 6%: more than that by so much that chance explains it in 1 of 100 runs fails."""
    assert not above_limit(false_decisions(cell), STUDIES, surely=0.01)


def test_over_all_settings_it_is_at_most_6_percent() -> None:
    assert sum(map(false_decisions, NULLS)) <= LIMIT * STUDIES * len(NULLS)


@pytest.mark.parametrize(("cell", "rule"), [(SEEN, OLD), (IN_DOCUMENTS, "mcnemar")])
def test_rules_that_take_rows_or_seeds_as_independent_fail_the_same_bound(
    cell: Cell, rule: str
) -> None:
    assert above_limit(rates(cell, [rule], 100).different[rule], 100)


def test_models_equal_over_tasks_are_seldom_declared_different_on_new_ones() -> None:
    cell = Cell(tasks=3, rows=50, seeds=2, models=3, task_sd=0.5)
    assert not above_limit(rates(cell, [TASKS], 200).different[TASKS], 200, surely=0.01)


SHARED = Cell(tasks=10, rows=50, seeds=3, models=2, flip=0.1, seed_sd=0.4, shared=True)


def test_the_luck_of_one_training_is_no_gain_on_new_tasks() -> None:
    assert not above_limit(rates(SHARED, [TASKS], 100).different[TASKS], 100, surely=0.01)


def test_one_training_of_all_tasks_says_nothing_of_new_ones() -> None:
    drawn = draw(replace(SHARED, seeds=1), np.random.default_rng(0))
    answers = answer_questions(drawn.evidence, drawn.models, Criteria(rounds=200))
    assert answers.new_tasks.of[0, 1].decision == "untested"
    assert "at least 2 trainings" in answers.new_tasks.test.why
    assert answers.new_rows.of[0, 1].decision != "untested"


def test_the_two_questions_are_distinct() -> None:
    """Models that are equal over all tasks do differ on these very ones."""
    cell = Cell(tasks=5, rows=60, seeds=2, models=3, task_sd=0.5)
    tally = rates(cell, [ROWS, TASKS], 40)
    assert above_limit(tally.different[ROWS], 40)
    assert not above_limit(tally.different[TASKS], 40)


def test_better_models_are_found() -> None:
    assert rates(replace(SEEN, gain=0.12), [ROWS], 40).power(ROWS) > 0.8
    cell = Cell(tasks=9, rows=100, seeds=2, gain=0.12, task_sd=0.2)
    assert rates(cell, [TASKS], 40).power(TASKS) > 0.6


def evidence(right: Floats, task: str = "t") -> TaskEvidence:
    """Return answers that are right or not, models x rows, as evidence on accuracy."""
    rows = right.shape[1]
    own = models_evidence(right[:, None, :, None], mean_of(rows))
    models = {f"m{at}": one for at, one in enumerate(own)}
    return TaskEvidence(task, task, "rows", rows, np.arange(rows), models, mean_of(rows))


def test_accuracy_of_two_models_on_one_task_is_the_exact_sign_test() -> None:
    right = (np.random.default_rng(3).random((2, 40)) < [[0.85], [0.6]]).astype(float)
    parts = contributions([evidence(right)], ["m0", "m1"])
    ours = compare_on_rows(parts, rounds=40_000)
    wins, moved = int((right[0] > right[1]).sum()), int((right[0] != right[1]).sum())
    exact = float(scipy_stats().binomtest(wins, moved).pvalue)
    assert float(ours.p[0]) == pytest.approx(exact, abs=0.005)
    assert float(ours.difference[0]) == pytest.approx(float((right[0] - right[1]).mean()))


def test_few_units_cannot_be_told_and_what_is_needed_is() -> None:
    right = np.array([[1.0] * 5, [0.0] * 5])
    answers = answer_questions([evidence(right)], ["m0", "m1"])
    verdict = answers.new_rows.of[0, 1]
    assert verdict.decision == "undecided"
    assert "at least 6" in answers.new_rows.test.why
    assert answers.new_tasks.of[0, 1].decision == "untested"
    assert "at least 3" in answers.new_tasks.test.why


def test_about_equal_takes_a_rope_and_rows_enough() -> None:
    random = np.random.default_rng(0)
    same = np.repeat((random.random(20_000) < 0.8).astype(float)[None, :], 2, axis=0)
    assert answer_questions([evidence(same)], ["m0", "m1"]).new_rows.of[0, 1].decision == "equal"
    few = answer_questions([evidence(same[:, :50])], ["m0", "m1"]).new_rows.of[0, 1]
    assert few.decision == "undecided"
    none = answer_questions([evidence(same)], ["m0", "m1"], Criteria(rope=0.0)).new_rows.of[0, 1]
    assert none.decision == "undecided"


def test_new_tasks_by_rows_are_a_t_test_where_tasks_differ() -> None:
    differences = np.array([[0.1], [0.02], [0.2], [0.12], [0.05]])
    ours = compare_over_sources(differences, np.zeros((5, 1)), alpha=0.05)
    theirs = stats.ttest_1samp(differences[:, 0], 0)
    assert float(ours.p[0]) == pytest.approx(float(theirs.pvalue))
    interval = theirs.confidence_interval(0.95)
    assert float(ours.difference[0] - ours.half_width[0]) == pytest.approx(interval.low)


def test_scores_that_happen_to_agree_are_no_certainty() -> None:
    """Three tasks with the very same difference: the chance of their rows is still there."""
    differences, within = np.full((3, 1), 0.02), np.full((3, 1), 0.03**2)
    ours = compare_over_sources(differences, within, alpha=0.05)
    assert float(ours.p[0]) > 0.2


def test_scores_alone_need_six_tasks() -> None:
    def scores(tasks: int) -> dict[tuple[int, int], str]:
        matrix = score_matrix(
            {
                (model, f"t{at}"): [base + at / 100 * (1 + (model == "a") / 10)]
                for model, base in (("a", 0.8), ("b", 0.6))
                for at in range(tasks)
            },
            "f1",
        )
        return {pair: verdict.decision for pair, verdict in new_tasks_by_scores(matrix).of.items()}

    assert scores(5) == {(0, 1): "untested"}
    assert scores(6) == {(0, 1): "better"}


@pytest.mark.parametrize(("projects", "equal"), [(2, True), (3, False), (10, True), (10, False)])
def test_intervals_cover_with_few_projects(projects: int, equal: bool) -> None:
    """Whole projects, drawn however few there are, cover far less."""
    shares = coverage(projects, equal=equal, studies=150)
    assert shares["score"] > 0.9
    assert shares["difference"] > 0.9
    assert shares["projects"] < (0.85 if projects < 10 else 0.95)
    documents = coverage(projects, equal=equal, studies=150, documents=True)
    assert documents["score"] > 0.85
