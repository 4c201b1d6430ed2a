"""Verdicts of models beside those of people."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from goldpan.annotation.review.calibration import calibrate
from goldpan.core.errors import UsageError
from goldpan.core.proportions import wilson
from goldpan.filters.answers import comment_evidence
from tests.filtering import REPO
from tests.unit.test_review import verdicts


def compare(ours: str, theirs: str) -> Any:
    people = verdicts(theirs, "gold", "people")
    return calibrate(verdicts(ours), people, "question-answer", samples=200)


def test_confusion_precision_recall_and_kappa() -> None:
    group = compare("kkkkddd?k", "kkkdddkk?")
    assert group.subjects == 9
    assert group.confusion == {
        "keep": {"keep": 3, "drop": 1, "undecided": 1},
        "drop": {"keep": 1, "drop": 2, "undecided": 0},
        "undecided": {"keep": 1, "drop": 0, "undecided": 0},
    }
    assert group.precision.value == 3 / 4
    assert group.recall.value == 3 / 5
    # Observed 5/7; by chance (4 x 4 + 3 x 3) / 49.
    assert group.kappa.value == pytest.approx((5 / 7 - 25 / 49) / (1 - 25 / 49))
    assert group.kappa.low is not None
    assert group.kappa.high is not None
    assert group.kappa.low < group.kappa.value < group.kappa.high


@pytest.mark.parametrize(
    ("ours", "theirs", "words"),
    [
        ("k" * 20 + "d" * 20, "k" * 19 + "d" * 21, "the model helps"),
        ("kd" * 20, "kkdd" * 10, "nothing shows that the model helps"),
        ("?" * 8, "kd" * 4, "nothing shows that the model helps"),
    ],
)
def test_a_model_that_does_not_help_is_said_to_be_so(ours: str, theirs: str, words: str) -> None:
    group = compare(ours, theirs)
    assert group.helps is not words.startswith("nothing")
    assert f"  {words}\n" in str(group)
    assert group.without_model == wilson(theirs.count("k"), len(theirs))
    assert group.undecided == wilson(ours.count("?"), len(ours))


def test_who_judged_alone_is_counted_and_who_disagrees_is_listed() -> None:
    calibration = compare("kkd.k", "dkdk.")
    assert (calibration.only_model, calibration.only_people) == (1, 1)
    assert calibration.disagreements == ((REPO, "issue", 1, None, None),)


def test_verdicts_on_different_replies_are_not_compared() -> None:
    def about(table: pa.Table, *comments: int) -> pa.Table:
        at = table.schema.get_field_index("evidence")
        return table.set_column(at, "evidence", [[comment_evidence(n, "words") for n in comments]])

    calibration = calibrate(
        about(verdicts("kk"), 11, 21), about(verdicts("kd", "gold"), 11, 22), "question-answer"
    )
    assert calibration.subjects == 1
    assert calibration.disagreements == ()


def test_nothing_to_compare_and_two_verdicts_are_told() -> None:
    with pytest.raises(UsageError, match="No subject has a verdict of question-answer"):
        compare("k.", ".k")
    doubled = pa.concat_tables([verdicts("k", "gold"), verdicts("k", "gold")])
    with pytest.raises(UsageError, match=f"{REPO}#1 has two verdicts"):
        calibrate(verdicts("k"), doubled, "question-answer")


def test_wilson() -> None:
    # R. G. Newcombe, Statistics in Medicine 17 (1998), table I, method 3: 81 of 263, 15 of 148.
    for successes, trials, low, high in ((81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605)):
        estimate = wilson(successes, trials)
        assert estimate.low == pytest.approx(low, abs=5e-5)
        assert estimate.high == pytest.approx(high, abs=5e-5)
    none = wilson(0, 20)
    assert (none.value, none.low) == (0, 0)
    assert none.high == pytest.approx(0.1611, abs=5e-5)
    assert wilson(0, 0).value is None
