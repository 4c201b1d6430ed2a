"""Our tests give what scipy, statsmodels, scikit-learn, baycomp and Autorank give."""

from __future__ import annotations

import time
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from goldpan.evaluation.metrics.curves import pr_curve, roc_curve, thinned
from goldpan.evaluation.statistics.decide import compare
from goldpan.evaluation.statistics.effects import (
    akinshin_gamma,
    cohen_d,
    mean_interval,
    median_interval,
)
from goldpan.evaluation.statistics.over_tasks import (
    anova,
    check_assumptions,
    critical_difference,
    friedman,
    holm,
    mauchly,
    mean_ranks,
    nemenyi,
    paired_t,
    signed_rank_pairs,
    tukey,
    wilcoxon,
)
from goldpan.evaluation.statistics.scores import Floats, RunScore, score_matrix

stats: Any = pytest.importorskip("scipy.stats")


def values(models: int, tasks: int, seed: int = 0) -> Floats:
    """Return scores that share what is hard about a task, and rise from model to model."""
    random = np.random.default_rng(seed)
    hard = random.normal(0.6, 0.15, tasks)
    better = np.linspace(0, 0.1, models)[:, None]
    return np.clip(hard + better + random.normal(0, 0.05, (models, tasks)), 0, 1)


@pytest.mark.parametrize("rope", [0.0, 0.01, 0.05])
@pytest.mark.parametrize("seed", [0, 42])
def test_signed_rank_is_that_of_baycomp(rope: float, seed: int) -> None:
    """To the last draw, as it takes the same random weights."""
    baycomp: Any = pytest.importorskip("baycomp")
    first, second = values(2, 12, seed)
    drawn = {"nsamples": 2000, "random_state": seed}
    theirs = baycomp.SignedRankTest(first, second, rope=rope, **drawn).probs()
    pair, ropes = np.stack([first, second]), np.full((2, 2), rope)
    ours = signed_rank_pairs(pair, ropes, samples=2000, seed=seed)[0, 1]
    # Theirs name the side that is better: the left one is ours to lose.
    assert (ours.better, ours.equal, ours.worse) == pytest.approx(theirs, abs=1e-12)


def test_signed_rank_does_not_depend_on_how_draws_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    several = values(3, 9)
    ropes = np.full((3, 3), 0.02)
    whole = signed_rank_pairs(several, ropes, samples=1000, seed=3)
    monkeypatch.setattr("goldpan.evaluation.statistics.over_tasks._BLOCK", 70)
    assert signed_rank_pairs(several, ropes, samples=1000, seed=3) == whole


def test_a_bayesian_comparison_is_that_of_autorank(capsys: pytest.CaptureFixture[str]) -> None:
    """Decisions and probabilities of all pairs, and faster by an order of magnitude."""
    autorank: Any = pytest.importorskip("autorank")
    pandas: Any = import_module("pandas")
    several = values(6, 10)
    names = [f"m{at}" for at in range(6)]
    frame = pandas.DataFrame(several.T, columns=names)
    started = time.process_time()
    theirs = autorank.autorank(
        frame, alpha=0.05, approach="bayesian", nsamples=1000, random_state=7, verbose=False
    )
    their_time = time.process_time() - started
    capsys.readouterr()
    cells = [(i, j) for i in range(6) for j in range(10)]
    scores = [RunScore(names[i], f"t{j:02}", 0, float(several[i, j])) for i, j in cells]
    matrix = score_matrix(scores, "f1")
    started = time.process_time()
    ours = compare(matrix, seed=7, samples=1000)
    our_time = time.process_time() - started
    words = {"smaller": "better", "larger": "worse", "equal": "equal", "inconclusive": "undecided"}
    assert ours.models == tuple(theirs.rankdf.index)
    for pair in ours.pairs:
        cell = theirs.decision_matrix.loc[pair.first, pair.second]
        assert pair.decision == words[cell]
        assert pair.posterior is not None
        posterior = (pair.posterior.better, pair.posterior.equal, pair.posterior.worse)
        assert posterior == pytest.approx(theirs.posterior_matrix.loc[pair.first, pair.second])
    assert ours.standings[1].effect == pytest.approx(theirs.rankdf["effect_size"].iloc[1])
    assert our_time < their_time


def test_anova_is_that_of_statsmodels() -> None:
    model: Any = pytest.importorskip("statsmodels.stats.anova")
    pandas: Any = import_module("pandas")
    several = values(4, 11)
    rows = [(i, j, several[i, j]) for i in range(4) for j in range(11)]
    frame = pandas.DataFrame(rows, columns=["model", "task", "score"])
    theirs = model.AnovaRM(frame, "score", "task", within=["model"]).fit().anova_table
    ours = anova(several)
    assert ours.statistic == pytest.approx(theirs["F Value"].iloc[0])
    assert ours.p == pytest.approx(theirs["Pr > F"].iloc[0])


def test_two_models_make_tukey_a_paired_t_test() -> None:
    two = values(2, 9)
    assert tukey(two)[0, 1] == pytest.approx(paired_t(two[0], two[1]), abs=1e-9)


def test_nemenyi_has_the_critical_values_of_demsar() -> None:
    """Table 5a of Demsar 2006: q at 0.05 for 2 to 10 classifiers."""
    printed = [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]
    for models, q in enumerate(printed, start=2):
        unit = np.sqrt(models * (models + 1) / (6 * 20))
        assert critical_difference(models, 20, 0.05) / unit == pytest.approx(q, abs=1e-3)


def test_nemenyi_p_and_critical_difference_say_the_same() -> None:
    several = values(5, 12, seed=2)
    ranks = stats.rankdata(-several, axis=0).mean(axis=1)
    limit = critical_difference(5, 12, 0.05)
    for (i, j), p in nemenyi(several).items():
        assert (p < 0.05) == (abs(ranks[i] - ranks[j]) > limit)


def test_friedman_ranks_ties_together() -> None:
    several = np.round(values(3, 8), 1)
    assert friedman(several).p == pytest.approx(float(stats.friedmanchisquare(*several).pvalue))
    assert friedman(np.ones((3, 6))).p == 1


def test_mauchly_finds_models_whose_differences_vary_unlike() -> None:
    """Under sphericity its p is uniform; with one wild model it is small."""
    random = np.random.default_rng(0)
    calm = [mauchly(random.normal(size=(4, 25))) for _ in range(300)]
    p_values = np.array([p for p in calm if p is not None])
    assert 0.01 < (p_values < 0.05).mean() < 0.10
    assert 0.4 < p_values.mean() < 0.6
    wild = random.normal(size=(4, 25)) * np.array([[1], [1], [1], [9]])
    p = mauchly(wild)
    assert p is not None
    assert p < 1e-4
    assert mauchly(random.normal(size=(2, 25))) is None
    assert mauchly(random.normal(size=(6, 6))) is None


def test_assumptions_see_what_is_not_normal() -> None:
    several = values(3, 14)
    assert check_assumptions(several, 0.05).normal
    several[1] = np.array([0.5] * 12 + [0.99, 0.01])
    checked = check_assumptions(several, 0.05)
    assert (checked.normal, checked.variance_test) == (False, "levene")
    several[2] = 0.5
    constant = check_assumptions(several, 0.05)
    assert (constant.normality[2], constant.variance_p, constant.spherical) == (None, None, False)


def test_paired_tests_and_their_edges() -> None:
    first, second = values(2, 12)
    assert wilcoxon(first, second) == pytest.approx(float(stats.wilcoxon(first, second).pvalue))
    assert wilcoxon(first, first) == paired_t(first, first) == 1
    assert paired_t(np.array([0.5, 0.75]), np.array([0.25, 0.5])) == 0


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]).tolist() == [1.0, 1.0]


def test_effect_sizes_by_hand() -> None:
    first, second = np.array([1.0, 2.0, 3.0]), np.array([2.0, 3.0, 4.0])
    assert cohen_d(first, second) == pytest.approx(-1)
    assert akinshin_gamma(first, second) == pytest.approx(-1 / 1.4826)
    assert cohen_d(np.ones(3), np.ones(3)) == 0
    assert cohen_d(np.ones(3), np.zeros(3)) is None


def test_intervals_cover_as_often_as_they_say() -> None:
    random = np.random.default_rng(1)
    draws = random.normal(size=(2000, 15))
    means = [mean_interval(row, 0.1) for row in draws]
    medians = [median_interval(row, 0.1) for row in draws]
    assert 0.88 < np.mean([interval.low <= 0 <= interval.high for interval in means]) < 0.92
    promised = medians[0].confidence
    assert 0.9 <= promised < 0.97
    covered = np.mean([interval.low <= 0 <= interval.high for interval in medians])
    assert abs(covered - promised) < 0.02


def test_a_median_of_few_values_says_how_little_is_sure() -> None:
    interval = median_interval(np.array([3.0, 1.0, 2.0, 5.0, 4.0]), 0.05, 26)
    assert (interval.low, interval.high) == (1, 5)
    assert interval.confidence == pytest.approx(1 - 2 / 2**5)


def test_curves_are_those_of_scikit_learn() -> None:
    metrics: Any = pytest.importorskip("sklearn.metrics")
    random = np.random.default_rng(2)
    truth = random.random(300) < 0.2
    scores = np.round(random.normal(size=300) + truth, 1)
    roc = roc_curve("m", "d", truth.tolist(), scores.tolist())
    pr = pr_curve("m", "d", truth.tolist(), scores.tolist())
    assert roc.area == pytest.approx(metrics.roc_auc_score(truth, scores))
    assert pr.area == pytest.approx(metrics.average_precision_score(truth, scores))
    fpr, tpr, _ = metrics.roc_curve(truth, scores, drop_intermediate=False)
    assert roc.x == pytest.approx(tuple(fpr))
    assert roc.y == pytest.approx(tuple(tpr))
    few = thinned(roc, 10)
    assert (len(few.x), few.area) == (10, roc.area)
    assert (few.x[0], few.y[-1]) == (0, 1)


def test_wilcoxon_takes_equal_decimals_as_ties() -> None:
    """In binary 0.8 - 0.7 is not 0.3 - 0.2, so ranks came apart: p 0.086 here, not 0.102."""
    first = np.array([0.71, 0.62, 0.53, 0.44, 0.85, 0.36, 0.57, 0.68])
    steps = np.array([1, 1, 2, 2, 3, 3, 4, -3]) / 100
    second = (first - steps).round(2)
    wholes = np.array([1, 1, 2, 2, 3, 3, 4, -3])
    exact = stats.wilcoxon(wholes, method=stats.PermutationMethod(n_resamples=np.inf)).pvalue
    assert wilcoxon(first, second) == pytest.approx(float(exact))
    assert wilcoxon(first, second) == wilcoxon(wholes / 1.0, np.zeros(8))


def test_wilcoxon_is_that_of_scipy() -> None:
    random = np.random.default_rng(2)
    for count in (5, 12, 30):
        first, second = random.normal(0.2, 1, count), np.zeros(count)
        theirs = stats.wilcoxon(first, method="exact").pvalue
        assert wilcoxon(first, second) == pytest.approx(float(theirs), rel=1e-9)
    first = random.normal(0.2, 1, 80).round(1)
    theirs = stats.wilcoxon(first[first != 0], method="asymptotic").pvalue
    assert wilcoxon(first, np.zeros(80)) == pytest.approx(float(theirs))


def test_ranks_take_equal_decimals_as_ties() -> None:
    """The mean of 0.1, 0.2 and 0.3 is not 0.2 in binary."""
    means = np.array([[np.mean([0.1, 0.2, 0.3]), 0.5], [0.2, 0.4]])
    assert means[0, 0] != means[1, 0]
    assert mean_ranks(means).tolist() == [1.25, 1.75]
