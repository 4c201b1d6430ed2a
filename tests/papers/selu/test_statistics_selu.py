"""SELU's ranking from its replication kit's scores, and by how much its text differs from them."""

from __future__ import annotations

import re
from functools import cache
from statistics import mean

import numpy as np
import pytest

from goldpan.evaluation.compare.methods import compare_by_name
from goldpan.evaluation.compare.result import Comparison
from goldpan.evaluation.compare.scores import Floats
from goldpan.papers.selu.tables import agreement
from tests.papers.selu.selu_tables import (
    BASELINES,
    KIT_DECISIONS,
    MODELS,
    TIERS,
    kit_scores,
    needs_scores,
)

pytest.importorskip("scipy")
pytestmark = needs_scores
SIGNS = {"better": ">", "equal": "=", "undecided": "?", "worse": "<"}
DOMAIN = tuple(model for model in MODELS if re.match("code|Code|starcoder", model))
"""The models that are adapted to code."""


@cache
def ranking() -> Comparison:
    return compare_by_name(kit_scores(), "bayesian")


def scores_of(model: str) -> Floats:
    scores = kit_scores()
    means: Floats = scores.means()[scores.models.index(model)]
    return means


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
    assert [pair.first for pair in differing] == ["gpt2-xl", "CodeLlama-7b-hf", "TFIDF+XGBoost"]
    assert [pair.second for pair in differing] == ["starcoder2-3b", "starcoder2-7b", "FastText"]
    for pair in differing:
        assert pair.posterior is not None
        assert abs(pair.posterior.better - 0.95) < 0.003


@pytest.mark.nightly
def test_another_seed_changes_only_pairs_at_the_limit_and_no_tier() -> None:
    first, other = ranking(), compare_by_name(kit_scores(), "bayesian", seed=1)
    for old, new in zip(first.pairs, other.pairs, strict=True):
        assert old.posterior is not None
        shares = (old.posterior.worse, old.posterior.equal, old.posterior.better)
        assert old.decision == new.decision or any(abs(p - 0.95) < 0.003 for p in shares)
    for old_place, new_place in zip(first.standings, other.standings, strict=True):
        assert old_place.tier == new_place.tier


def test_tiers_from_the_decisions() -> None:
    """Ours agree with 89 % of the decisions, the paper's four with 79 %."""
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
    """Tiers 1 and 2 are as it says. Tier 3: 66.4 % inconclusive, not "about 67 %"."""
    assert undecided(TIERS[0], range(26)) == (1, 49)
    assert ranking().decision("Llama-3.2-1B", "gpt2-xl") == "undecided"
    assert ranking().decision("Llama-3.2-3B", "Llama-3.2-1B") == "equal"
    assert undecided(TIERS[1], range(7, 26)) == (5, 95)
    assert undecided(TIERS[1], TIERS[1])[1] == 10
    assert undecided(TIERS[1], TIERS[1])[0] >= 7
    assert abs(undecided(TIERS[2], range(26))[0] - 95) <= 1
    assert undecided(TIERS[2], range(26))[1] == 143


def test_tier_4_does_not_underperform_every_model_above_it() -> None:
    """The paper says it does; 47 of the 144 pairs are inconclusive."""
    count, pairs = undecided(range(18), TIERS[3])
    assert pairs == 144
    assert abs(count - 47) <= 1


def test_no_substantial_mass_within_the_rope() -> None:
    """V-A says so of the models from the 8th place on: it is 0.9 % at most."""
    comparison = ranking()
    shares = [
        pair.posterior.equal
        for pair in comparison.pairs
        if pair.first == MODELS[0] and pair.second in MODELS[7:] and pair.posterior
    ]
    assert len(shares) == 19
    assert 0.005 < max(shares) < 0.012


def test_domain_adapted_models_lead_by_less_than_printed() -> None:
    """V-B says 0.054; it is 0.053 with the proprietary models as generalists, 0.047 without."""
    means = {model: float(scores_of(model).mean()) for model in MODELS}
    generalist = [model for model in MODELS if model not in (*DOMAIN, *BASELINES)]
    open_source = [model for model in generalist if not model.startswith(("gpt-4o", "claude"))]
    adapted = mean(means[model] for model in DOMAIN)
    assert round(adapted - mean(means[model] for model in generalist), 4) == 0.0527
    assert round(adapted - mean(means[model] for model in open_source), 4) == 0.0472


def test_codellama_is_the_best_on_four_tasks() -> None:
    scores = kit_scores()
    winners = [scores.models[at] for at in np.argmax(scores.means(), axis=0)]
    assert winners.count("CodeLlama-7b-hf") == 4
