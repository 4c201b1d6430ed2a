"""Models' verdicts beside people's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from goldpan.annotation.review.calibration import Key, calibrate, read_traits
from goldpan.core.errors import UsageError
from goldpan.core.proportions import wilson
from goldpan.core.schemas import VERDICTS
from goldpan.filters.answers import of_comment
from tests import filtering
from tests.filtering import REPO, issue, pair, pull

LETTERS = {"k": True, "d": False, "?": None}


def verdicts(letters: str, criterion: str = "question-answer", stage: str = "llm") -> pa.Table:
    """Return verdicts on issues 1, 2, ... out of k (keep), d (drop), ? (undecided), . (none)."""
    rows = [
        {
            "repo": REPO,
            "subject": "issue",
            "issue": number,
            "stage": stage,
            "criterion": criterion,
            "keep": LETTERS[letter],
        }
        for number, letter in enumerate(letters, 1)
        if letter != "."
    ]
    return pa.Table.from_pylist(rows, schema=VERDICTS.schema)


def compare(ours: str, theirs: str, traits: Any = None) -> Any:
    people = verdicts(theirs, "gold", "people")
    return calibrate(verdicts(ours), people, "question-answer", traits, samples=200)


def test_confusion_precision_recall_and_kappa() -> None:
    (group,) = compare("kkkkddd?k", "kkkdddkk?").groups
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


def test_who_judged_alone_is_counted_and_who_disagrees_is_listed() -> None:
    calibration = compare("kkd.k", "dkdk.")
    assert (calibration.only_model, calibration.only_people) == (1, 1)
    assert calibration.disagreements == ((REPO, "issue", 1, None, None),)


def test_verdicts_on_different_replies_are_not_compared() -> None:
    def about(table: pa.Table, *comments: int) -> pa.Table:
        at = table.schema.get_field_index("evidence")
        return table.set_column(at, "evidence", [[of_comment(n, "words") for n in comments]])

    calibration = calibrate(
        about(verdicts("kk"), 11, 21), about(verdicts("kd", "gold"), 11, 22), "question-answer"
    )
    assert calibration.groups[0].subjects == 1
    assert calibration.disagreements == ()


def test_each_trait_is_a_group() -> None:
    keys: list[Key] = [(REPO, "issue", number, None, None) for number in range(1, 5)]
    signals = {keys[0]: ("keyword",), keys[1]: ("keyword", "timeline"), keys[2]: ("timeline",)}
    calibration = compare("kkkk", "kdkd", {"signal": signals})
    shown = {group.name: (group.subjects, group.precision.value) for group in calibration.groups}
    assert shown == {"all": (4, 0.5), "signal: keyword": (2, 0.5), "signal: timeline": (2, 0.5)}


def test_traits_come_from_the_tables(tmp_path: Path) -> None:
    workspace = filtering.build(
        tmp_path, [issue(1), pull(2)], pairs=[pair(1, 2, signals=["keyword", "timeline"])]
    )
    traits = read_traits(workspace, [REPO])
    assert traits["signal"] == {(REPO, "pair", 1, REPO, 2): ("keyword", "timeline")}
    assert traits["language"] == {
        (REPO, "issue", 1, None, None): ("unknown",),
        (REPO, "pair", 1, REPO, 2): ("unknown",),
    }


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
