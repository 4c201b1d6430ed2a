"""Metrics of multi-label tasks against scikit-learn, and what counts as wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.evaluation.score import score
from tests.drawing import examples
from tests.scoring import make_predictions, make_task

sklearn: Any = pytest.importorskip("sklearn.metrics")

LABELS = ("expand", "summary", "usage")
SOME = st.lists(st.sampled_from(LABELS), unique=True).map(sorted)
TASK = make_task("multi-label", LABELS)


def indicators(rows: list[list[str]]) -> np.ndarray[Any, Any]:
    return np.array([[label in row for label in LABELS] for row in rows]).astype(int)


@examples(60)
@given(st.lists(st.tuples(SOME, SOME), min_size=1, max_size=20))
def test_agrees_with_scikit_learn(rows: list[tuple[list[str], list[str]]]) -> None:
    truths, answers = [row[0] for row in rows], [row[1] for row in rows]
    scores = score(TASK, make_predictions("multi-label", truths, answers), resamples=0)
    truth, answer = indicators(truths), indicators(answers)
    for average in ("macro", "micro"):
        for name, peer in {
            "f1": sklearn.f1_score,
            "precision": sklearn.precision_score,
            "recall": sklearn.recall_score,
            "jaccard": sklearn.jaccard_score,
        }.items():
            expected = peer(truth, answer, average=average, zero_division=0)
            assert (scores.value(f"{average}_{name}") or 0) == pytest.approx(expected)
    assert scores.value("accuracy") == pytest.approx(sklearn.accuracy_score(truth, answer))
    assert scores.value("hamming_loss") == pytest.approx(sklearn.hamming_loss(truth, answer))
    expected = sklearn.jaccard_score(truth, answer, average="samples", zero_division=1)
    assert scores.value("example_jaccard") == pytest.approx(expected)
    matrices = sklearn.multilabel_confusion_matrix(truth, answer)
    for counts, matrix in zip(scores.label_confusions, matrices, strict=True):
        assert [[counts.tn, counts.fp], [counts.fn, counts.tp]] == matrix.tolist()


def test_an_answer_that_is_none_is_wrong_even_where_nothing_was_asked() -> None:
    table = make_predictions("multi-label", [[], ["usage"]], [None, ["usage", "other"]])
    scores = score(TASK, table, resamples=0)
    assert scores.invalid == 2
    assert scores.value("accuracy") == 0
    assert scores.value("example_jaccard") == 0
    assert scores.value("hamming_loss") == 1
    assert scores.value("recall", "usage") == 0


def test_areas_are_one_vs_rest() -> None:
    truths = [["expand"], ["expand", "usage"], [], ["usage"]]
    scores = [[0.9, 0.1, 0.2], [0.8, 0.1, 0.9], [0.1, 0.1, 0.1], [0.85, 0.1, 0.7]]
    table = make_predictions("multi-label", truths, truths, scores=scores)
    result = score(TASK, table, resamples=0)
    assert result.value("auc", "expand") == 0.75
    assert result.value("auc", "usage") == 1
    assert result.value("auc", "summary") is None
    assert result.value("macro_auc") == 0.875
