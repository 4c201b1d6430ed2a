"""Comparing models on one data set by their answers."""

from __future__ import annotations

import time
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.null_models import mean_of
from goldpan.evaluation.metrics.curves import BinaryConfusion, label_counts, label_scores
from goldpan.evaluation.score import predictions_schema
from goldpan.evaluation.statistics.randomization import compare_answers, randomization_test
from goldpan.evaluation.statistics.scores import Floats, StatisticsError

pytest.importorskip("scipy")
LABELS = ("bug", "question")


def right(share: float, examples: int = 200, seed: int = 0) -> Floats:
    """Return for each example whether a model was right, as one column."""
    return (np.random.default_rng(seed).random((examples, 1)) < share).astype(float)


def test_it_is_the_exact_test_where_all_swaps_can_be_tried() -> None:
    first, second = right(0.9, 10, 1), right(0.4, 10, 2)
    moved = (first - second)[:, 0]
    actual = abs(moved.mean())
    swaps = [abs(float(np.mean(moved * np.array(signs)))) for signs in product((1, -1), repeat=10)]
    exact = np.mean([swap >= actual - 1e-12 for swap in swaps])
    p = randomization_test(first, second, mean_of(10), rounds=20_000)
    assert p == pytest.approx(float(exact), abs=0.01)


def test_equal_models_differ_as_seldom_as_alpha_says() -> None:
    ps = [
        randomization_test(right(0.7, 80, at), right(0.7, 80, at + 999), mean_of(80), rounds=300)
        for at in range(200)
    ]
    assert np.mean(np.array(ps) < 0.05) < 0.1
    assert min(ps) >= 1 / 301


def test_the_same_answers_give_a_p_of_one_and_the_same_seed_the_same_p() -> None:
    same = right(0.5)
    assert randomization_test(same, same, mean_of(200)) == 1
    answers = (right(0.6), right(0.5, seed=5))
    assert randomization_test(*answers, mean_of(200)) == randomization_test(*answers, mean_of(200))


def test_examples_of_one_project_are_swapped_together() -> None:
    """A difference that comes from one project of ten does not hold for other projects."""
    first, second = right(0.5, 200), right(0.5, 200)
    first[:20], second[:20] = 1, 0
    groups = [f"project {at // 20}" for at in range(200)]
    alone = randomization_test(first, second, mean_of(200))
    grouped = randomization_test(first, second, mean_of(200), groups=groups)
    assert alone < 0.001
    assert grouped == 1


def test_800_000_examples_take_a_moment() -> None:
    """They have no more kinds of pairs of answers than 80."""
    first, second = right(0.800, 800_000, 1), right(0.802, 800_000, 2)
    started = time.process_time()
    assert randomization_test(first, second, mean_of(800_000)) < 0.05
    assert time.process_time() - started < 20


def predictions(answers: list[str | None], truth: list[str], scores: bool = True) -> pa.Table:
    rows = [
        {
            "id": str(at),
            "truth": target,
            "answer": answer,
            "scores": [0.5 + at / 100, 0.5] if scores else None,
        }
        for at, (answer, target) in enumerate(zip(answers, truth, strict=True))
    ]
    return pa.Table.from_pylist(rows, schema=predictions_schema("multi-class"))


TRUTH = ["bug", "bug", "question", "question"]
GIVEN: list[str | None] = ["bug", "question", None, "question"]


def test_predictions_become_counts_and_scores() -> None:
    table = predictions(GIVEN, TRUTH)
    assert label_counts(table, "bug") == BinaryConfusion(tp=1, fp=0, tn=2, fn=1)
    assert label_counts(table, "question") == BinaryConfusion(tp=1, fp=1, tn=1, fn=1)
    scored = label_scores(table, LABELS, "bug")
    assert scored == ([True, True, False, False], [0.5, 0.51, 0.52, 0.53])
    assert label_scores(predictions(GIVEN, TRUTH, scores=False), LABELS, "bug") is None
    with pytest.raises(StatisticsError, match="fewer scores than the task has labels"):
        label_scores(table, ("x", "y", "bug"), "bug")


def test_models_are_ranked_on_one_data_set() -> None:
    answers = {"good": right(0.9, 300, 1), "fair": right(0.87, 300, 2), "bad": right(0.5, 300, 3)}
    comparison = compare_answers(
        answers, mean_of(300), metric="accuracy", task="issue_type", rounds=2000
    )
    assert comparison.models == ("good", "fair", "bad")
    assert comparison.decision("good", "bad") == comparison.decision("fair", "bad") == "better"
    assert comparison.decision("good", "fair") == "undecided"
    places = [(one.best, one.worst, one.tier) for one in comparison.standings]
    assert places == [(1, 2, 1), (1, 2, 1), (3, 3, 2)]
    assert comparison.test.samples == 2000
    facts = (comparison.test.name, comparison.test.seed, comparison.tasks)
    assert facts == ("randomization", 0, ("issue_type",))
    assert comparison.standings[0].low is None


@pytest.mark.nightly
def test_many_pairs_can_still_be_decided() -> None:
    """Of 105 pairs the surest wants a p below 0.05 / 105, which 1,000 rounds cannot give."""
    answers = {f"bad {at}": right(0.2, 200, at) for at in range(14)}
    answers["good"] = right(0.99, 200, 99)
    comparison = compare_answers(answers, mean_of(200), metric="accuracy", task="t", rounds=1_000)
    assert (comparison.test.samples or 0) > 105 / 0.05
    assert all(comparison.decision("good", f"bad {at}") == "better" for at in range(14))
