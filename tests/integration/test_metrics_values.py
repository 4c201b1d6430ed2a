"""Metrics of regression, named entities and masked words."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.evaluation.metrics.words_and_numbers import Entity, entities
from tests.scoring import make_task, scored

REGRESSION = make_task("regression", metric="smape")
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
SHARES = ("precision", "recall", "f1")


def value(name: str, truths: list[float], answers: list[float | None]) -> float | None:
    return scored(REGRESSION, truths, answers).value(name)


def test_smape_by_hand() -> None:
    # |3 - 1| / 2, nothing, all of it: SELU's Equation 2 reaches 2, not 1 as the paper says.
    assert value("smape", [1, 5, 0], [3, 5, 7]) == pytest.approx((1 + 0 + 2) / 3)
    assert value("smape_score", [1, 5, 0], [3, 5, 7]) == pytest.approx(0)
    assert value("smape", [0], [0]) == 0
    assert value("smape", [-1], [1]) == 2
    assert value("mae", [1, 5, 0], [3, 5, 7]) == 3


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=10))
def test_smape_is_bounded_symmetric_and_0_only_for_equal_numbers(
    pairs: list[tuple[float, float]],
) -> None:
    truths, answers = [truth for truth, _ in pairs], [other for _, other in pairs]
    smape = value("smape", truths, list(answers))
    assert smape is not None and 0 <= smape <= 2 + 1e-12
    assert value("smape", answers, list(truths)) == smape
    assert value("smape", truths, list(truths)) == 0
    assert (smape == 0) == (truths == answers)


def test_numbers_that_are_none_are_as_wrong_as_can_be() -> None:
    for none in (None, math.nan, math.inf):
        scores = scored(REGRESSION, [2.0, 2.0], [none, 2.0])
        assert (scores.invalid, scores.value("smape")) == (1, 1)
        assert scores.value("mae") is None
        assert scores.metric("mae").reason == "1 of 2 answers are not valid"
        assert scores.value("valid_mae") == 0


def test_the_two_readings_of_tags() -> None:
    tags = ["I-app", "I-app", "O", "B-os", "I-app", "B-app"]
    assert entities(tags) == {
        Entity("app", 0, 2),
        Entity("os", 3, 4),
        Entity("app", 4, 5),
        Entity("app", 5, 6),
    }
    assert entities(tags, strict=True) == {Entity("os", 3, 4), Entity("app", 5, 6)}


# Precision, recall and F1 as seqeval 1.2.2 has them by default, then in its mode strict with IOB2,
# then its accuracy; a letter is a tag, and sentences are apart. (seqeval comes as source alone.)
LETTERS = {"A": "B-app", "a": "I-app", "S": "B-os", "s": "I-os", "O": "O"}
BY_SEQEVAL = [
    ("Aa", "Aa", (1, 1, 1, 1, 1, 1, 1)),
    ("aa", "Aa", (1, 1, 1, 0, 0, 0, 0.5)),
    ("Aas", "AaS", (1, 1, 1, 0.5, 1, 0.666667, 0.666667)),
    ("O", "a", (0, 0, 0, 0, 0, 0, 0)),
    ("Ss", "AS", (0, 0, 0, 0, 0, 0, 0)),
    ("SOssSsS O", "aOsOOOS O", (0.333333, 0.25, 0.285714, 1, 0.333333, 0.5, 0.5)),
    ("OOOAOsS", "OOaaOOS", (0.5, 0.333333, 0.4, 1, 0.5, 0.666667, 0.571429)),
    ("SOaSaaa", "SSaSaAO", (0.5, 0.75, 0.6, 0.5, 1, 0.666667, 0.571429)),
    ("AOaaSOSA OsO aAsO", "AOaaSSSA OsO aASO", (0.9, 1, 0.947368, 0.714286, 1, 0.833333, 0.866667)),
]


@pytest.mark.parametrize(("truths", "answers", "expected"), BY_SEQEVAL)
def test_entities_agree_with_seqeval(
    truths: str, answers: str, expected: tuple[float, ...]
) -> None:
    case = [
        [[LETTERS[sign] for sign in tags] for tags in side.split()] for side in (truths, answers)
    ]
    scores = scored(make_task("ner"), *case)
    names = [f"{kind}_{share}" for kind in ("seqeval", "strict_seqeval") for share in SHARES]
    values = [scores.value(name) or 0 for name in (*names, "token_accuracy")]
    assert values == pytest.approx(expected, abs=1e-6)


def test_tags_that_are_none_or_too_few_find_nothing() -> None:
    truths = [["B-app", "O"], ["B-app", "O"], ["B-app", "I-app"]]
    scores = scored(make_task("ner"), truths, [None, ["B-app"], ["B-app", "I-app"]])
    assert scores.invalid == 2
    assert scores.value("seqeval_recall") == pytest.approx(1 / 3)
    assert scores.value("seqeval_precision") == 1
    assert scores.value("token_accuracy") == pytest.approx(2 / 6)
    # By tokens (SELU, Equation 3): 2 of 4 tokens in entities are found, and no wrong one.
    assert scores.value("token_micro_f1") == pytest.approx(2 * 2 / (2 + 4))


def test_masked_words_count_alike_whatever_their_text() -> None:
    task, truths = make_task("mlm"), [["send", "store"], ["log"], ["Log"]]
    scores = scored(task, truths, [["send"], None, ["log", "x"]])
    assert scores.value("mlm_accuracy") == 0.25
    assert scores.invalid == 1
    assert scored(task, [["send"], []], [["send"], []]).value("mlm_accuracy") == 1
