"""Metrics of regression, named entities and masked words."""

from __future__ import annotations

import math
import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.evaluation.metrics.entities import Entity, entities
from goldpan.evaluation.score import score
from tests.drawing import examples
from tests.scoring import make_predictions, make_task

REGRESSION = make_task("regression", metric="smape")
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
TAGS = st.sampled_from(["O", "B-app", "I-app", "B-os", "I-os"])


def value(name: str, truths: list[float], answers: list[float | None]) -> float | None:
    table = make_predictions("regression", truths, answers)
    return score(REGRESSION, table, resamples=0).value(name)


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
        table = make_predictions("regression", [2.0, 2.0], [none, 2.0])
        scores = score(REGRESSION, table, resamples=0)
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


@st.composite
def sentences(draw: st.DrawFn) -> tuple[list[list[str]], list[list[str]]]:
    sizes = draw(st.lists(st.integers(1, 8), min_size=1, max_size=5))
    texts = [[draw(st.lists(TAGS, min_size=n, max_size=n)) for n in sizes] for _ in range(2)]
    return texts[0], texts[1]


@examples(100)
@given(sentences())
def test_entities_agree_with_seqeval(case: tuple[list[list[str]], list[list[str]]]) -> None:
    peer: Any = pytest.importorskip("seqeval.metrics")
    scheme: Any = pytest.importorskip("seqeval.scheme")
    scores = score(make_task("ner"), make_predictions("ner", *case), resamples=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for share in ("f1", "precision", "recall"):
            expected = getattr(peer, f"{share}_score")
            assert (scores.value(f"seqeval_{share}") or 0) == pytest.approx(expected(*case))
            strict = expected(*case, mode="strict", scheme=scheme.IOB2)
            assert (scores.value(f"strict_seqeval_{share}") or 0) == pytest.approx(strict)
        tokens = peer.accuracy_score(*case)
    assert scores.value("token_accuracy") == pytest.approx(tokens)


def test_tags_that_are_none_or_too_few_find_nothing() -> None:
    truths = [["B-app", "O"], ["B-app", "O"], ["B-app", "I-app"]]
    table = make_predictions("ner", truths, [None, ["B-app"], ["B-app", "I-app"]])
    scores = score(make_task("ner"), table, resamples=0)
    assert scores.invalid == 2
    assert scores.value("seqeval_recall") == pytest.approx(1 / 3)
    assert scores.value("seqeval_precision") == 1
    assert scores.value("token_accuracy") == pytest.approx(2 / 6)
    # By tokens (SELU, Equation 3): 2 of 4 tokens in entities are found, and no wrong one.
    assert scores.value("token_micro_f1") == pytest.approx(2 * 2 / (2 + 4))


def test_masked_words_count_alike_whatever_their_text() -> None:
    table = make_predictions(
        "mlm", [["send", "store"], ["log"], ["Log"]], [["send"], None, ["log", "x"]]
    )
    scores = score(make_task("mlm"), table, resamples=0)
    assert scores.value("mlm_accuracy") == 0.25
    assert scores.invalid == 1
    perfect = make_predictions("mlm", [["send"], []], [["send"], []])
    assert score(make_task("mlm"), perfect, resamples=0).value("mlm_accuracy") == 1
