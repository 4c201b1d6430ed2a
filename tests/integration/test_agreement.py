"""Measures of agreement against worked examples that were published."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.annotation.agreement import (
    Rating,
    agree,
    count_choices,
    krippendorff_alpha,
    raw_agreement,
)
from goldpan.core.proportions import cohen_kappa

# J. Cohen, A coefficient of agreement for nominal scales, Educational and Psychological
# Measurement 20 (1960), as worked by Fleiss, Cohen and Everitt, Psychological Bulletin 72 (1969).
COHEN = [[88, 14, 18], [10, 40, 10], [2, 6, 12]]

# J. L. Fleiss, Measuring nominal scale agreement among many raters, Psychological Bulletin 76
# (1971), table 1: 30 patients, 6 psychiatrists, 5 diagnoses.
FLEISS = """
00060 03003 01401 00006 03030 20400 00402 20310 20040 00006 10050 11040 03300 10050 02031
00501 30012 51000 02040 10203 00006 01050 02013 20040 10041 05010 40002 02040 10500 00006
"""

# K. Krippendorff, Computing Krippendorff's alpha-reliability (2011), examples A to C.
A = ("0100000010", "1110010000")
B = ("aabbdcccedda", "babbbcccedda"[:11] + "d")
C = ("123321412...", "1233224125.3", ".3332342251.", "1233244125 1.".replace(" ", ""))


def ratings(*rows: str) -> list[Rating]:
    """Return ratings by rows, a rater each, a letter an item; a dot is missing."""
    return [
        Rating(f"u{index:02}", f"r{rater}", (letter,))
        for index, column in enumerate(zip(*rows, strict=True))
        for rater, letter in enumerate(column)
        if letter != "."
    ]


def test_cohen_1960() -> None:
    table = np.array(COHEN)
    first, other = (np.repeat(side.ravel(), table.ravel()) for side in np.indices(table.shape))
    assert cohen_kappa(first, other) == pytest.approx(0.492, abs=5e-4)


def test_fleiss_1971() -> None:
    counts = np.array([[int(count) for count in row] for row in FLEISS.split()])
    assert counts.sum(axis=0).tolist() == [26, 26, 30, 55, 43]
    each = np.ones(len(counts), dtype=np.int64)
    assert raw_agreement(counts, each) == pytest.approx(0.5556, abs=5e-5)
    # 0.430 is Fleiss' kappa; alpha corrects it for the number of ratings (Krippendorff 2011).
    assert krippendorff_alpha(counts, each) == pytest.approx(0.430 + 0.570 / 180, abs=5e-4)


@pytest.mark.parametrize(
    ("rows", "alpha", "items", "single"),
    [(A, 0.095, 10, 0), (B, 0.692, 12, 0), (C, 0.743, 11, 1)],
    ids=["binary", "two observers", "missing values"],
)
def test_krippendorff_2011(rows: tuple[str, ...], alpha: float, items: int, single: int) -> None:
    agreement = agree("x", ratings(*rows), samples=10)
    assert agreement.alpha.value == pytest.approx(alpha, abs=5e-4)
    assert (agreement.items, agreement.single) == (items, single)


def test_what_is_not_defined_is_none() -> None:
    agreement = agree("x", ratings("aaa", "aaa"), samples=10)
    assert (agreement.raw.value, agreement.alpha.value) == (1.0, None)
    assert agreement.pairs[0].kappa.value is None
    empty = agree("x", [])
    assert (empty.items, empty.raw.value, empty.categories) == (0, None, ())
    assert cohen_kappa([], []) is None


def test_disagreements_are_listed_with_who_chose_what() -> None:
    agreement = agree("x", ratings("aab", "abb"), samples=10)
    ((item, labels),) = agreement.disagreements.items()
    assert (item, labels) == ("u01", {"r0": ("a",), "r1": ("b",)})
    assert agreement.differing == 1
    assert agreement.pairs[0].choices == ("a", "b")
    assert agreement.pairs[0].counts == ((1, 1), (0, 1))


def test_sets_of_labels_are_compared_whole_and_label_by_label() -> None:
    judgments = [
        Rating("1", "ann", ("bug", "doc")),
        Rating("1", "bob", ("doc", "bug")),
        Rating("2", "ann", ("bug",)),
        Rating("2", "bob", ("bug", "doc")),
        Rating("3", "ann", ()),
        Rating("3", "bob", ()),
    ]
    agreement = agree("x", judgments, samples=10)
    assert agreement.raw.value == pytest.approx(2 / 3)
    by_name = {category.category: category for category in agreement.categories}
    assert (by_name["bug"].chosen, by_name["bug"].alpha.value) == (4, 1.0)
    assert by_name["doc"].chosen == 3


def test_a_rater_counts_once() -> None:
    with pytest.raises(ValueError, match="ann rated 1 twice"):
        agree("x", [Rating("1", "ann", ("a",)), Rating("1", "ann", ("b",))])


def test_intervals_hold_the_value_repeat_and_narrow() -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 3, 400)
    noisy = np.where(rng.random(400) < 0.8, truth, rng.integers(0, 3, 400))
    rows = ["".join("abc"[choice] for choice in row) for row in (truth, noisy)]
    few = agree("x", ratings(*(row[:50] for row in rows)))
    many = agree("x", ratings(*rows))
    assert many == agree("x", ratings(*rows))
    assert many != agree("x", ratings(*rows), seed=1)
    widths = []
    for agreement in (few, many):
        by_category = [category.alpha for category in agreement.categories]
        for estimate in (agreement.raw, agreement.pairs[0].kappa, *by_category, agreement.alpha):
            low, value, high = (one or 0.0 for one in (estimate.low, estimate.value, estimate.high))
            assert low < value < high
            assert {type(low), type(value), type(high)} == {float}, "which JSON can hold"
        widths.append(high - low)
    assert widths[1] < widths[0]


rows_of_labels = st.integers(2, 30).flatmap(
    lambda size: st.lists(st.text("abc", min_size=size, max_size=size), min_size=2, max_size=4)
)


def counted(rows: list[str]) -> Any:
    columns = zip(*rows, strict=True)
    return count_choices([tuple((one,) for one in column) for column in columns])


@given(rows_of_labels)
def test_order_and_names_do_not_matter(rows: list[str]) -> None:
    counts = counted(rows)
    other = counted([row[::-1].translate(str.maketrans("abc", "zyx")) for row in rows[::-1]])
    for measure in (raw_agreement, krippendorff_alpha):
        each = np.ones(len(counts), dtype=np.int64)
        value, same = measure(counts, each), measure(other, each)
        assert value == same if value is None or same is None else value == pytest.approx(same)
