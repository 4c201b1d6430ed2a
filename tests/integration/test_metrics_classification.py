"""Metrics of labels, numbers, entities and blanks against references, by laws, and undefined."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.evaluation.metrics.words_and_numbers import Entity, entities
from goldpan.evaluation.score import score
from tests.drawing import examples
from tests.scoring import make_predictions, make_task, scored

sklearn: Any = pytest.importorskip("sklearn.metrics")

LABELS = ("bug", "feature", "question", "never")
OTHER = "?"
TASK = make_task("multi-class", LABELS)
YES = make_task("binary", ("yes", "no"))
PEERS = {
    "f1": sklearn.f1_score,
    "precision": sklearn.precision_score,
    "recall": sklearn.recall_score,
    "jaccard": sklearn.jaccard_score,
}


@st.composite
def single_labels(draw: st.DrawFn) -> tuple[list[str], list[str | None]]:
    size = draw(st.integers(1, 25))
    truths = st.lists(st.sampled_from(LABELS[:3]), min_size=size, max_size=size)
    answers = st.lists(st.sampled_from([*LABELS, None]), min_size=size, max_size=size)
    return draw(truths), draw(answers)


@examples(60)
@given(single_labels())
def test_single_labels_agree_with_scikit_learn(case: tuple[list[str], list[str | None]]) -> None:
    truths, answers = case
    scores = scored(TASK, truths, answers)
    given_labels = [answer or OTHER for answer in answers]
    for average in ("macro", "micro", "weighted"):
        for name, peer in PEERS.items():
            if average == "weighted" and name != "f1":
                continue
            expected = peer(truths, given_labels, labels=LABELS, average=average, zero_division=0)
            value = scores.value(f"{average}_{name}")
            assert (value or 0.0) == pytest.approx(expected), (average, name)
    for beta in (0.5, 2.0):
        expected = sklearn.fbeta_score(
            truths, given_labels, beta=beta, labels=LABELS, average="macro", zero_division=0
        )
        assert scores.value(f"macro_f{beta:g}") == pytest.approx(expected)
    assert scores.value("accuracy") == pytest.approx(sklearn.accuracy_score(truths, given_labels))
    hamming = sklearn.hamming_loss(truths, given_labels)
    assert scores.value("hamming_loss") == pytest.approx(hamming)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mcc = sklearn.matthews_corrcoef(truths, given_labels)
    assert (scores.value("mcc") or 0.0) == pytest.approx(mcc)
    matrix = sklearn.confusion_matrix(truths, given_labels, labels=[*LABELS, OTHER])
    assert scores.confusion and np.array_equal(matrix[:4], np.array(scores.confusion.counts))


@examples(40)
@given(single_labels(), st.randoms(use_true_random=False))
def test_values_are_bounded_and_the_order_of_rows_does_not_matter(
    case: tuple[list[str], list[str | None]], random: Any
) -> None:
    table = make_predictions("multi-class", *case, repos=[f"r{len(t) % 3}" for t in case[0]])
    order = list(range(len(case[0])))
    random.shuffle(order)
    scores = score(TASK, table, resamples=50)
    assert score(TASK, table.take(order), resamples=50) == scores
    for metric in scores.metrics:
        if metric.value is not None:
            assert (-1 if metric.name == "mcc" else 0) <= metric.value <= 1
        if metric.interval:
            assert metric.interval.low <= metric.interval.high


def test_an_answer_that_is_none_misses_its_label_and_finds_no_other() -> None:
    scores = scored(TASK, ["bug", "bug", "feature"], ["bug", None, None])
    assert scores.invalid == 2
    assert scores.value("accuracy") == pytest.approx(1 / 3)
    assert scores.value("precision", "bug") == 1
    assert scores.value("recall", "bug") == 0.5
    # The feature was not told from a bug: the label bug has no true negative.
    assert scores.value("specificity", "bug") == 0
    assert scores.metric("precision", "feature").reason == "the label was never answered"
    assert scores.value("f1", "feature") == 0
    assert scores.confusion and scores.confusion.counts[0] == (1, 0, 0, 0, 1)
    bug = scores.label_confusions[0]
    assert (bug.tp, bug.fp, bug.tn, bug.fn, bug.invalid) == (1, 0, 0, 1, 1)
    unknown = scored(TASK, ["bug", "bug", "feature"], ["bug", "Bug", "a bug"])
    assert unknown.invalid == 2


def test_the_positive_label_of_a_binary_task_is_its_first() -> None:
    case = ["yes", "no", "no"], ["yes", "yes", "no"]
    scores = scored(YES, *case)
    assert (scores.value("precision"), scores.value("recall")) == (0.5, 1)
    assert scores.value("precision") == scores.value("precision", "yes")
    other = make_task("binary", ("yes", "no"), settings={"positive": "no"})
    assert scored(other, *case).value("precision") == 1


@examples(40)
@given(
    st.lists(
        st.tuples(st.booleans(), st.integers(0, 4).map(lambda step: step / 4)),
        min_size=2,
        max_size=30,
    )
)
def test_areas_agree_with_scikit_learn(rows: list[tuple[bool, float]]) -> None:
    truths = ["yes" if positive else "no" for positive, _ in rows]
    scores = [[value, 1 - value] for _, value in rows]
    result = scored(YES, truths, truths, scores=scores)
    positive = np.array([truth == "yes" for truth in truths])
    values = np.array([value for _, value in rows])
    if positive.all() or not positive.any():
        assert result.value("auc") is None
        return
    assert result.value("auc") == pytest.approx(sklearn.roc_auc_score(positive, values))
    expected = sklearn.average_precision_score(positive, values)
    assert result.value("auprc") == pytest.approx(expected)


def test_areas_of_several_labels_are_the_mean_of_one_vs_rest() -> None:
    generator = np.random.default_rng(3)
    scores = generator.dirichlet(np.ones(3), size=60)
    truths = [LABELS[number] for number in generator.integers(0, 3, 60)]
    task = make_task("multi-class", LABELS[:3])
    area = scored(task, truths, truths, scores=scores.tolist()).value("macro_auc")
    expected = sklearn.roc_auc_score(truths, scores, multi_class="ovr", labels=LABELS[:3])
    assert area == pytest.approx(expected)


@pytest.mark.parametrize(
    ("scores", "reason"),
    [
        ([None, None], "the model gives no scores"),
        ([[0.1, 0.9], None], "1 of 2 examples have no scores"),
        ([[0.1, 0.9], [0.1]], "some examples do not have 2 scores, one a label"),
        ([[0.1, 0.9], [math.nan, 1]], "some scores are not numbers"),
    ],
)
def test_areas_without_scores_are_undefined_with_the_reason(
    scores: list[list[float] | None], reason: str
) -> None:
    result = scored(YES, ["yes", "no"], ["yes", "no"], scores=scores)
    for name in ("auc", "auprc", "macro_auc", "macro_auprc"):
        assert (result.value(name), result.metric(name).reason) == (None, reason)


SEVERAL = ("expand", "summary", "usage")
SOME = st.lists(st.sampled_from(SEVERAL), unique=True).map(sorted)
SEVERAL_TASK = make_task("multi-label", SEVERAL)


def indicators(rows: list[list[str]]) -> np.ndarray[Any, Any]:
    return np.array([[label in row for label in SEVERAL] for row in rows]).astype(int)


@examples(60)
@given(st.lists(st.tuples(SOME, SOME), min_size=1, max_size=20))
def test_several_labels_agree_with_scikit_learn(rows: list[tuple[list[str], list[str]]]) -> None:
    truths, answers = [row[0] for row in rows], [row[1] for row in rows]
    scores = scored(SEVERAL_TASK, truths, answers)
    truth, answer = indicators(truths), indicators(answers)
    for average in ("macro", "micro"):
        for name, peer in PEERS.items():
            expected = peer(truth, answer, average=average, zero_division=0)
            assert (scores.value(f"{average}_{name}") or 0) == pytest.approx(expected)
    assert scores.value("accuracy") == pytest.approx(sklearn.accuracy_score(truth, answer))
    assert scores.value("hamming_loss") == pytest.approx(sklearn.hamming_loss(truth, answer))
    expected = sklearn.jaccard_score(truth, answer, average="samples", zero_division=1)
    assert scores.value("example_jaccard") == pytest.approx(expected)
    matrices = sklearn.multilabel_confusion_matrix(truth, answer)
    for counts, matrix in zip(scores.label_confusions, matrices, strict=True):
        assert [[counts.tn, counts.fp], [counts.fn, counts.tp]] == matrix.tolist()


def test_labels_that_are_none_are_wrong_even_where_nothing_was_asked() -> None:
    scores = scored(SEVERAL_TASK, [[], ["usage"]], [None, ["usage", "other"]])
    assert scores.invalid == 2
    assert scores.value("accuracy") == 0
    assert scores.value("example_jaccard") == 0
    assert scores.value("hamming_loss") == 1
    assert scores.value("recall", "usage") == 0


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


@pytest.mark.parametrize("whole, last", ["SE", "UL"])
@pytest.mark.parametrize("strict", [True, False])
def test_tags_may_say_where_an_entity_ends(whole: str, last: str, strict: bool) -> None:
    tags = [f"{whole}-app", f"{whole}-app", "B-os", "I-os", f"{last}-os", "B-os", f"{last}-os"]
    found = {Entity("app", 0, 1), Entity("app", 1, 2), Entity("os", 2, 5), Entity("os", 5, 7)}
    assert entities(tags, strict=strict) == found


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
