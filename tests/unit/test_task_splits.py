"""Stratified splits keep the shares of labels; the official split is taken as it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.core.errors import DatasetError
from goldpan.datasets.splits import SplitCandidate, SplitPlan, assign_splits

LABELS = st.lists(st.sampled_from("abc"), min_size=1, max_size=80)
MANY = st.lists(st.sets(st.sampled_from("abcd")), min_size=1, max_size=80)


def rows(labels: Sequence[tuple[str, ...]]) -> list[SplitCandidate]:
    return [
        SplitCandidate(f"r{number}", f"r{number}", "", None, stratum=stratum)
        for number, stratum in enumerate(labels)
    ]


def sides(candidates: list[SplitCandidate], plan: str, seed: int = 0) -> dict[str, str | None]:
    names = assign_splits(candidates, SplitPlan.parse(plan, seed)).names
    return {row.id: name for row, name in zip(candidates, names, strict=True)}


@given(LABELS, st.integers(0, 5))
def test_every_label_has_its_share(labels: list[str], seed: int) -> None:
    candidates = rows([(label,) for label in labels])
    assigned = sides(candidates, "stratified:0.8,0.2", seed)
    assert None not in assigned.values()
    for label, count in Counter(labels).items():
        test = sum(assigned[row.id] == "test" for row in candidates if row.stratum == (label,))
        assert abs(test - 0.2 * count) < 1


@given(MANY)
def test_every_label_of_several_is_near_its_share(labels: list[set[str]]) -> None:
    candidates = rows([tuple(sorted(labels_of_row)) for labels_of_row in labels])
    assigned = sides(candidates, "stratified:0.5,0.25,0.25")
    for label in {label for names in labels for label in names}:
        mine = [row for row in candidates if label in row.stratum]
        test = sum(assigned[row.id] == "test" for row in mine)
        # Labels pull at each other: no method keeps all shares exactly.
        assert abs(test - 0.25 * len(mine)) <= 2 + 0.15 * len(mine)


@given(MANY, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(labels: list[set[str]], random: Random) -> None:
    candidates = rows([tuple(sorted(names)) for names in labels])
    assigned = sides(candidates, "stratified:0.8,0.2", 3)
    random.shuffle(candidates)
    assert sides(candidates, "stratified:0.8,0.2", 3) == assigned


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9)), min_size=1, max_size=60))
def test_groups_stay_together_and_nothing_is_dropped(pairs: list[tuple[str, int]]) -> None:
    candidates = [
        SplitCandidate(f"r{number}", f"g{group}", "", None, stratum=(label,))
        for number, (label, group) in enumerate(pairs)
    ]
    assigned = sides(candidates, "stratified:0.7,0.3")
    for group in {row.group for row in candidates}:
        assert len({assigned[row.id] for row in candidates if row.group == group}) == 1
    assert None not in assigned.values()


def test_a_seed_draws_other_rows() -> None:
    candidates = rows([("a",)] * 50 + [("b",)] * 50)
    first, again, other = (sides(candidates, "stratified:0.8,0.2", seed) for seed in (1, 1, 2))
    assert first == again != other
    assert Counter(first.values()) == {"train": 80, "test": 20}


def test_groups_weigh_as_many_rows_as_they_have() -> None:
    big = [SplitCandidate(f"b{n}", "big", "", None, stratum=("a",)) for n in range(20)]
    assigned = sides(big + rows([("a",)] * 80), "stratified:0.8,0.2")
    assert Counter(assigned.values()) == {"train": 80, "test": 20}


def test_the_official_split_is_taken_as_it_is() -> None:
    candidates = [
        SplitCandidate("a", "same", "", None, partition="train"),
        SplitCandidate("b", "same", "", None, partition="test"),
        SplitCandidate("c", "c", "", None, partition="validation"),
    ]
    splits = assign_splits(candidates, SplitPlan.parse("given"))
    assert splits.names == ("train", "test", "validation")
    assert splits.report.rows == {"train": 1, "validation": 1, "test": 1}
    assert (splits.report.straddling, splits.report.dropped) == (1, 0)


def test_a_row_without_official_split_has_no_side() -> None:
    for partition in (None, "dev"):
        with pytest.raises(DatasetError, match="x has no official split"):
            assign_splits(
                [SplitCandidate("x", "x", "", None, partition=partition)], SplitPlan.parse("given")
            )
