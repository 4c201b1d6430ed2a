"""Comparing any scores: what is refused, what decides, ties, tiers, few tasks, JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from itertools import combinations
from typing import get_args

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.core.result import json_data
from goldpan.evaluation.compare.methods import NamedMethod, autoranked, cohen_d, compare_by_name
from goldpan.evaluation.compare.paired_tests import holm
from goldpan.evaluation.compare.scores import (
    Floats,
    ScoreMatrix,
    StatisticsError,
    score_matrix,
    tiers,
)
from tests.drawing import examples

pytest.importorskip("scipy")


def matrix(
    rows: Mapping[str, float], tasks: int, *, noise: float = 0.02, seeds: int = 1, seed: int = 0
) -> ScoreMatrix:
    """Return scores around a mean a model; tasks differ more than models do."""
    random = np.random.default_rng(seed)
    hard = random.normal(0, 0.1, tasks)
    return score_matrix(
        {
            (model, f"task {at}"): [
                center + hard[at] + float(random.normal(0, noise)) for _ in range(seeds)
            ]
            for model, center in rows.items()
            for at in range(tasks)
        },
        "macro F1",
    )


METHODS: tuple[NamedMethod, ...] = get_args(NamedMethod)
THREE = {"good": 0.80, "also good": 0.80, "bad": 0.55}


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([("a", "t", float("nan")), ("b", "t", 0.5)], "a has nan as its f1 on t"),
        ([("a", "t", float("inf")), ("b", "t", 0.5)], "a has inf as its f1 on t"),
        ([("a", "t", 0.1)], "needs two models .*, there is a"),
        ([], "needs two models .*, there is none"),
        ([("a", "t", 0.1), ("b", "u", 0.2)], "a has no f1 on u"),
    ],
)
def test_scores_that_cannot_be_compared_are_refused(
    scores: list[tuple[str, str, float]], message: str
) -> None:
    with pytest.raises(StatisticsError, match=message):
        score_matrix({(model, task): [score] for model, task, score in scores}, "f1")


@pytest.mark.parametrize("wrong", [{"alpha": 0.0}, {"alpha": 1.0}, {"rope": -1.0}, {"samples": 0}])
def test_settings_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(StatisticsError, match=f"{next(iter(wrong))} is"):
        compare_by_name(matrix(THREE, 6), "bayesian", **wrong)  # type: ignore[arg-type]


def test_a_missing_autorank_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "autorank", None)
    with pytest.raises(StatisticsError, match=r'pip install .*\[statistics\]"'):
        compare_by_name(matrix(THREE, 6), "nemenyi")


@pytest.mark.parametrize("values", [np.full((2, 6), np.nan), np.ones((2, 4)), np.ones((1, 9))])
def test_autorank_is_not_asked_what_it_cannot_answer(values: Floats) -> None:
    with pytest.raises(StatisticsError, match="autorank cannot rank"):
        autoranked(values)


def test_models_that_cannot_be_told_apart_tie() -> None:
    comparison = compare_by_name(matrix(THREE, 12), "bayesian", rope=0.5, samples=5_000)
    assert comparison.decision("good", "bad") == comparison.decision("also good", "bad") == "better"
    assert comparison.decision("bad", "good") == "worse"
    places = {one.model: (one.best, one.worst, one.tier) for one in comparison.standings}
    assert places == {"good": (1, 2, 1), "also good": (1, 2, 1), "bad": (3, 3, 2)}
    with pytest.raises(KeyError, match="good and nobody"):
        comparison.decision("good", "nobody")


def test_the_same_scores_are_equal_and_share_a_place() -> None:
    scores = {(model, f"t{at}"): [0.5 + at / 20] for model in ("a", "b", "c") for at in range(6)}
    comparison = compare_by_name(score_matrix(scores, "f1"), "bayesian", samples=500)
    assert {pair.decision for pair in comparison.pairs} == {"equal"}
    places = [(one.place, one.best, one.worst, one.tier) for one in comparison.standings]
    assert places == [(1, 1, 3, 1)] * 3
    for method in METHODS[1:]:
        tested = compare_by_name(score_matrix(scores, "f1"), method)
        assert {pair.decision for pair in tested.pairs} == {"undecided"}


@pytest.mark.parametrize("method", ["bayesian", "frequentist"])
def test_the_same_input_gives_the_same_bytes(
    method: NamedMethod, capsys: pytest.CaptureFixture[str]
) -> None:
    """And nothing is printed, although autorank prints which tests it is forced to take."""
    scores = matrix(THREE, 9)
    made = [compare_by_name(scores, method, seed=4, samples=2_000) for _ in range(2)]
    compare_by_name(scores, "tukey")
    assert capsys.readouterr() == ("", "")
    first, second = (orjson.dumps(json_data(one), option=orjson.OPT_SORT_KEYS) for one in made)
    assert first == second
    read = json.loads(first)
    assert read["schema"] == 5
    assert read["test"]["approach"] == method
    json.dumps(json_data(made[0]), allow_nan=False)


def outliers() -> ScoreMatrix:
    """Return scores of which one model has two that are far off."""
    base = matrix(THREE, 15)
    odd = {
        (model, task): [0.05 if model == "bad" and at in (3, 7) else cell[0]]
        for model, row in zip(base.models, base.cells, strict=True)
        for at, (task, cell) in enumerate(zip(base.tasks, row, strict=True))
    }
    return score_matrix(odd, "macro F1")


THREE_ON_15, TWO_ON_10 = matrix(THREE, 15), matrix({"good": 0.8, "bad": 0.6}, 10)


@pytest.mark.parametrize(
    ("scores", "method", "chosen", "why"),
    [
        (THREE_ON_15, "frequentist", ("anova", "tukey", "mean"), "pass as normal"),
        (outliers(), "frequentist", ("friedman", "nemenyi", "mean rank"), "are not normal"),
        (THREE_ON_15, "nemenyi", ("friedman", "nemenyi", "mean rank"), "asked for: nemenyi"),
        (TWO_ON_10, "frequentist", (None, "paired t", "mean"), "pass as normal"),
        (TWO_ON_10, "nemenyi", (None, "one-sided wilcoxon", "median"), "asked for: nemenyi"),
    ],
)
def test_scores_and_demands_choose_the_test(
    scores: ScoreMatrix, method: NamedMethod, chosen: tuple[str | None, str, str], why: str
) -> None:
    comparison = compare_by_name(scores, method)
    assert (comparison.test.omnibus, comparison.test.name, comparison.central) == chosen
    assert why in comparison.test.why
    assert comparison.decision("good", "bad") == "better"
    if "also good" in scores.models:
        assert comparison.decision("good", "also good") == "undecided"


@pytest.mark.parametrize("method", METHODS)
def test_the_best_leads_and_effects_are_its_lead(method: NamedMethod) -> None:
    """autorank 1.3 puts the worst first where it ranks by mean ranks of scores to maximize."""
    rows = {"worst": 0.5, "middle": 0.6, "best": 0.8}
    comparison = compare_by_name(matrix(rows, 12), method, samples=2_000)
    assert comparison.models == ("best", "middle", "worst")
    effects = [standing.effect for standing in comparison.standings]
    assert effects[0] == 0
    assert all(effect is not None and effect > 0 for effect in effects[1:])
    assert comparison.standings[2].magnitude == "large"
    values = {name: matrix(rows, 12).means()[at] for at, name in enumerate(sorted(rows))}
    assert effects[2] == pytest.approx(cohen_d(values["best"], values["worst"]))


def test_more_than_ten_models_keep_their_intervals_apart() -> None:
    """Tukey's widths come in the order of names, in which m10 would stand before m2."""
    rows = {f"m{at}": 0.9 - at / 20 for at in range(12)}
    comparison = compare_by_name(matrix(rows, 15), "tukey")
    assert comparison.models == tuple(rows)
    assert comparison.decision("m0", "m11") == "better"


def test_an_alpha_that_tukey_does_not_follow_is_told() -> None:
    comparison = compare_by_name(THREE_ON_15, "tukey", alpha=0.2)
    assert "autorank's intervals of means are of 0.05" in comparison.test.why


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]).tolist() == [1.0, 1.0]


def test_effect_sizes_by_hand() -> None:
    first, second = np.array([1.0, 2.0, 3.0]), np.array([2.0, 3.0, 4.0])
    assert cohen_d(first, second) == pytest.approx(-1)
    assert cohen_d(np.ones(3), np.ones(3)) == 0
    assert cohen_d(np.ones(3), np.zeros(3)) is None


def test_no_pair_is_decided_where_the_omnibus_test_sees_nothing() -> None:
    comparison = compare_by_name(matrix({"a": 0.7, "b": 0.7, "c": 0.7}, 12), "frequentist")
    assert comparison.test.omnibus_p is not None
    assert comparison.test.omnibus_p >= 0.05
    assert {pair.decision for pair in comparison.pairs} == {"undecided"}
    assert "finds no difference" in comparison.test.why


@pytest.mark.parametrize(("tasks", "seeds"), [(1, 1), (4, 1), (2, 5)])
def test_few_tasks_stay_untested_and_seeds_do_not_stand_in(tasks: int, seeds: int) -> None:
    comparison = compare_by_name(matrix(THREE, tasks, seeds=seeds), "frequentist")
    assert comparison.test.name == "none"
    assert {pair.decision for pair in comparison.pairs} == {"untested"}
    assert "answers to test rows" in comparison.test.why
    assert "share a test set" in comparison.test.why
    assert all(bool(standing.seed_sd) == (seeds > 1) for standing in comparison.standings)
    assert {(one.best, one.worst, one.tier) for one in comparison.standings} == {(1, 3, 1)}
    assert (comparison.standings[0].sd is None) == (tasks == 1)
    json.dumps(json_data(comparison), allow_nan=False)


def test_bayesian_comparisons_may_have_no_rope() -> None:
    close = matrix({"a": 0.800, "b": 0.799}, 12, noise=0.001)
    without = compare_by_name(close, "bayesian", rope=0.0, samples=2_000)
    assert (without.test.rope, without.decision("a", "b")) == (0, "better")


DECISIONS = st.lists(st.booleans(), min_size=15, max_size=15)


def beaten(flags: list[bool]) -> tuple[list[str], dict[str, frozenset[str]]]:
    order = list("abcdef")
    pairs = [(i, j) for i in range(6) for j in range(i + 1, 6)]
    losers: dict[str, set[str]] = {name: set() for name in order}
    for (i, j), decided in zip(pairs, flags, strict=True):
        if decided:
            losers[order[i]].add(order[j])
    return order, {name: frozenset(below) for name, below in losers.items()}


def agreeing(tier_of: dict[str, int], beats: dict[str, frozenset[str]]) -> int:
    """Return the pairs that are decided where their tiers differ, and only there."""
    return sum(
        (other in beats[one] or one in beats[other]) == (tier_of[one] != tier_of[other])
        for one, other in combinations(tier_of, 2)
    )


@examples(100)
@given(DECISIONS)
def test_no_other_division_of_the_ranking_agrees_better(flags: list[bool]) -> None:
    order, beats = beaten(flags)
    division = tiers(order, beats)
    divisions = (np.cumsum([1, *cuts]).tolist() for cuts in np.ndindex(2, 2, 2, 2, 2))
    best = max(agreeing(dict(zip(order, one, strict=True)), beats) for one in divisions)
    assert agreeing(division, beats) == best
    assert list(division.values()) == sorted(division.values())
    assert set(division.values()) == set(range(1, max(division.values()) + 1))
