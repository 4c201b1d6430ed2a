"""Shares estimated from strata: intervals cover as they say, and such a sample knows more."""

from __future__ import annotations

import numpy as np
import pytest

from goldpan.core.proportions import Stratum, allocate, stratified

DOUBTS = {"keep": 0.3, "drop": 0.45, "undecided": 0.5}
POPULATIONS = [
    {"keep": (700, 0.95), "drop": (200, 0.3), "undecided": (100, 0.5)},
    {"keep": (300, 0.8), "drop": (600, 0.1), "undecided": (300, 0.5)},
    {"keep": (120, 0.5), "drop": (120, 0.5), "undecided": (120, 0.5)},  # a vote that says nothing
    {"keep": (900, 0.99), "drop": (60, 0.02), "undecided": (40, 0.9)},
    {"keep": (40, 0.9), "drop": (30, 0.2), "undecided": (50, 0.6)},  # most of it is read
]
_STUDIES = 500


def study(
    population: dict[str, tuple[int, float]], most: int, seed: int
) -> tuple[float, float, bool]:
    """Return the error, the width, and whether the interval of one sample covers the truth."""
    rng = np.random.default_rng(seed)
    rows = {name: rng.random(size) < share for name, (size, share) in population.items()}
    chosen = allocate({name: len(each) for name, each in rows.items()}, DOUBTS, most)
    strata = [
        Stratum(len(each), chosen[name], int(rng.permutation(each)[: chosen[name]].sum()))
        for name, each in rows.items()
    ]
    truth = float(np.concatenate(list(rows.values())).mean())
    found = stratified(strata)
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    return found.value - truth, found.high - found.low, found.low <= truth <= found.high


@pytest.mark.parametrize("most", [30, 100])
@pytest.mark.parametrize("population", POPULATIONS)
def test_the_interval_covers_as_often_as_it_says(
    population: dict[str, tuple[int, float]], most: int
) -> None:
    found = [study(population, most, seed) for seed in range(_STUDIES)]
    covered = sum(each[2] for each in found) / _STUDIES
    assert covered >= 0.92  # 0.95 in truth gives less in one study of a thousand
    assert abs(float(np.mean([each[0] for each in found]))) < 0.015


def test_what_is_read_whole_is_known() -> None:
    known = stratified([Stratum(10, 10, 7), Stratum(5, 5, 5)])
    assert (known.value, known.low, known.high) == (0.8, 0.8, 0.8)
    assert stratified([Stratum(10, 0, 0)]).value is None
    half = stratified([Stratum(10, 10, 10), Stratum(10, 0, 0)])
    assert (half.value, half.low) == (0.75, 0.5)


def test_rows_are_allotted_by_size_and_doubt() -> None:
    sizes = {"keep": 900, "drop": 90, "undecided": 10}
    chosen = allocate(sizes, DOUBTS, 100)
    assert sum(chosen.values()) == 100
    assert chosen["keep"] > chosen["drop"] > chosen["undecided"] > 0
    assert chosen["drop"] > 9
    assert allocate(sizes, DOUBTS, 5_000) == sizes
    assert allocate(sizes, DOUBTS, 2) == {"keep": 1, "drop": 1, "undecided": 0}
    assert allocate({}, DOUBTS, 5) == {}
