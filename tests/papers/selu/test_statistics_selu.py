"""SELU's ranking from its replication kit's scores, and by how much its text differs from them."""

from __future__ import annotations

from functools import cache

import pytest

from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.evaluation.compare.methods import compare_by_name
from goldpan.evaluation.compare.result import Comparison
from goldpan.papers.selu.tables import _matrix, agreement
from goldpan.reproduce.cells import PaperContext
from goldpan.reproduce.data import DataFolder
from goldpan.reproduce.finding import find_recipe
from tests.places import DATA

pytest.importorskip("scipy")
SCORES = DATA / "selu" / "scores.csv"
pytestmark = [
    pytest.mark.real_data,
    pytest.mark.skipif(
        not SCORES.exists(),
        reason=f"{SCORES} is missing; set GOLDPAN_REAL_DATA to the real data's folder",
    ),
]
SELU = find_recipe("selu")
MODELS = tuple(SELU.table("3").rows)
# Places in Table III; the kit cuts the ranking there (section V-A names examples only).
TIERS = (range(2), range(2, 7), range(7, 18), range(18, 26))
# The kit's own run, unseeded: each model against those below it, by place (> better, = equal,
# ? inconclusive). This is what Figure 5 shows.
KIT_DECISIONS = (
    "=>>>>>>>>>>>>>>>>>>>>>>>>",
    "?>>>>>>>>>>>>>>>>>>>>>>>",
    "???>>>>>>>>>>>>>>>>>>>>",
    "??>>>>>>>>>>>>>>>>>>>>",
    "??>?>>>>>>>>>>>>>>>>>",
    "?>>>>>>>>>>>>>>>>>>>",
    "??>>?>>>>?>>>>>>>>>",
    "??????>>?>>>>>>>>>",
    "?>??>>??>>>>>>>>>",
    "?????????>>>>>>>",
    "?????????>?>>>>",
    "?????????>?>>>",
    "???????????>>",
    "??????????>>",
    "?????????>>",
    "?????????>",
    "????????>",
    "???????>",
    "??????>",
    "?????>",
    "????>",
    "???>",
    "??>",
    "?>",
    "?",
    "",
)


SIGNS = {"better": ">", "equal": "=", "undecided": "?", "worse": "<"}


@cache
def ranking() -> Comparison:
    place = WorkspaceLayout(DATA / "none")
    context = PaperContext(SELU, DataFolder(DATA), place, Reporter(quiet=True))
    return compare_by_name(_matrix(context), "bayesian")


def test_decisions_are_those_of_the_kit() -> None:
    """Figure 5: of 325 pairs, only ones that are marked as a matter of the seed may differ."""
    comparison = ranking()
    assert comparison.models == MODELS
    pairs = iter(comparison.pairs)
    differing = [
        pair
        for row in KIT_DECISIONS
        for sign in row
        if SIGNS[(pair := next(pairs)).decision] != sign
    ]
    assert [pair.first for pair in differing] == ["GPT-2 xl", "CodeLlama 7b", "TFIDF+XGBoost"]
    assert [pair.second for pair in differing] == ["StarCoder2 3b", "StarCoder2 7b", "FastText"]
    for pair in differing:
        assert pair.posterior is not None
        assert abs(pair.posterior.better - 0.95) < 0.003


def test_tiers_from_the_decisions() -> None:
    """Ours agree with 89% of the decisions, the paper's four with 79%."""
    comparison = ranking()
    ours = {standing.model: standing.tier for standing in comparison.standings}
    theirs = {MODELS[index]: tier for tier, places in enumerate(TIERS, start=1) for index in places}
    assert [list(ours.values()).count(tier) for tier in range(1, 6)] == [2, 4, 3, 16, 1]
    assert MODELS[:2] == tuple(model for model in MODELS if ours[model] == theirs[model] == 1)
    assert round(agreement(comparison, ours), 3) == 0.892
    assert round(agreement(comparison, theirs), 3) == 0.788


def undecided(rows: range, columns: range) -> tuple[int, int]:
    comparison = ranking()
    pairs = [(MODELS[i], MODELS[j]) for i in rows for j in columns if i < j]
    return sum(comparison.decision(*pair) == "undecided" for pair in pairs), len(pairs)


def test_what_the_paper_says_of_its_tiers() -> None:
    """Tiers 1 and 2 are as it says. Tier 3: 66.4% inconclusive, not "about 67%"."""
    assert undecided(TIERS[0], range(26)) == (1, 49)
    assert ranking().decision("Llama 3.2 1b", "GPT-2 xl") == "undecided"
    assert ranking().decision("Llama 3.2 3b", "Llama 3.2 1b") == "equal"
    assert undecided(TIERS[1], range(7, 26)) == (5, 95)
    assert undecided(TIERS[1], TIERS[1])[1] == 10
    assert undecided(TIERS[1], TIERS[1])[0] >= 7
    assert abs(undecided(TIERS[2], range(26))[0] - 95) <= 1
    assert undecided(TIERS[2], range(26))[1] == 143
