"""Decisions on each pair of models by one test, chosen by what the data allow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Literal

import numpy as np

from goldpan.evaluation.statistics.calibrated import ROPE, Criteria, new_tasks_by_scores
from goldpan.evaluation.statistics.comparison import (
    FEWEST_TASKS,
    Approach,
    ChosenTest,
    ComparedPair,
    Comparison,
    Decision,
    EffectSize,
    Verdicts,
    arrange,
    near_limit,
    significant_decision,
    untested,
)
from goldpan.evaluation.statistics.effects import pooled_mad, pooled_sd
from goldpan.evaluation.statistics.over_tasks import (
    SAMPLES,
    Assumptions,
    Posterior,
    anova,
    check_assumptions,
    critical_difference,
    friedman,
    holm,
    mean_ranks,
    nemenyi,
    paired_t,
    signed_rank_pairs,
    tukey,
    wilcoxon,
)
from goldpan.evaluation.statistics.scores import (
    Floats,
    ScoreMatrix,
    check_settings,
    rounded,
    scipy_stats,
)

Choice = Literal["auto", "parametric", "nonparametric", "pairwise"]
Pairs = Mapping[tuple[int, int], float]


def posterior_decision(posterior: Posterior, alpha: float) -> Decision:
    """Return the decision that is at least 1 - alpha probable, else `undecided` (SELU, IV-D)."""
    if posterior.better >= 1 - alpha:
        return "better"
    if posterior.equal >= 1 - alpha:
        return "equal"
    return "worse" if posterior.worse >= 1 - alpha else "undecided"


def decide_bayesian(
    values: Floats,
    *,
    normal: bool,
    alpha: float,
    rope: float,
    rope_kind: Literal["effect", "absolute"],
    samples: int,
    seed: int,
) -> Verdicts:
    """Decide by the Bayesian signed-rank test.

    A ROPE of kind `effect` is a share of the pair's pooled standard deviation, or of the pooled
    median absolute deviation where data are not normal, so it differs between pairs.
    """
    spread = pooled_sd if normal else pooled_mad
    ropes = np.full((len(values), len(values)), rope)
    if rope_kind == "effect":
        ropes = rope * np.array([[spread(first, other) for other in values] for first in values])
    tested = signed_rank_pairs(values, ropes, samples=samples, seed=seed)
    width = {
        "absolute": f"{rope:g}",
        "effect": f"{rope:g} x the pooled {'standard' if normal else 'median absolute'} deviation",
    }[rope_kind]
    test = ChosenTest(
        approach="bayesian",
        name="bayesian signed rank",
        why="Bayesian tests say how probable it is that a model is better, and when two are"
        f" practically equal: here, when they differ by no more than {width}",
        alpha=alpha,
        rope=rope,
        rope_kind=rope_kind,
        samples=samples,
        seed=seed,
    )
    verdicts = {
        pair: ComparedPair(
            decision=posterior_decision(posterior, alpha),
            posterior=posterior,
            fragile=any(
                near_limit(share, 1 - alpha, samples)
                for share in (posterior.worse, posterior.equal, posterior.better)
            ),
        )
        for pair, posterior in tested.items()
    }
    return Verdicts(test, "mean" if normal else "median", verdicts)


def decide_frequentist(
    values: Floats, checked: Assumptions, *, alpha: float, choice: Choice
) -> Verdicts:
    """Decide as ECSER's Table 6 says, or by the kind of test that `choice` demands.

    Two models: paired t where both are normal, else Wilcoxon. More: repeated-measures ANOVA and
    Tukey where all are normal and vary alike, else Friedman and Nemenyi; `pairwise` is Wilcoxon
    for each pair, corrected after Holm, which no third model can influence (Benavoli 2016).
    """
    two = len(values) == 2
    parametric = choice == "parametric" or (
        choice == "auto" and checked.normal and (two or checked.spherical)
    )
    why = f"{_why(checked, two)}; demanded: {choice}" if choice != "auto" else _why(checked, two)
    if two or choice == "pairwise":
        return _pairwise(values, parametric and two, alpha, why)
    if parametric:
        return _omnibus_first(values, "tukey", alpha, why)
    return _omnibus_first(values, "nemenyi", alpha, why)


def _why(checked: Assumptions, two: bool) -> str:
    normal = "Scores pass as normal" if checked.normal else "Scores are not normal"
    lowest = min((p for p in checked.normality if p is not None), default=None)
    reason = "some are constant" if None in checked.normality else f"lowest p {lowest:.3g}"
    text = f"{normal} (Shapiro-Wilk, {reason}, limit {checked.normality_alpha:.3g})"
    if two:
        return text
    alike = "alike" if checked.same_variance else "not alike"
    p = "" if checked.variance_p is None else f", p {checked.variance_p:.3g}"
    text += f"; their variances are {alike} ({checked.variance_test.title()}{p})"
    if checked.sphericity_p is not None:
        text += f"; sphericity p {checked.sphericity_p:.3g} (Mauchly)"
    return text


def _pairwise(values: Floats, parametric: bool, alpha: float, why: str) -> Verdicts:
    test: Callable[[Floats, Floats], float] = paired_t if parametric else wilcoxon
    pairs = list(combinations(range(len(values)), 2))
    corrected = holm([test(values[i], values[j]) for i, j in pairs]).tolist()
    sides = {(i, j): _side(values[i] - values[j], parametric) for i, j in pairs}
    chosen = ChosenTest("frequentist", "paired t" if parametric else "wilcoxon", why, alpha)
    verdicts = _significant(dict(zip(pairs, corrected, strict=True)), sides, alpha)
    return Verdicts(chosen, "mean" if parametric else "mean rank", verdicts)


def _side(difference: Floats, parametric: bool) -> float:
    if parametric:
        return float(difference.mean())
    difference = rounded(difference)
    moved = difference[difference != 0]
    return float((np.sign(moved) * scipy_stats().rankdata(np.abs(moved))).sum())


def _omnibus_first(
    values: Floats, name: Literal["tukey", "nemenyi"], alpha: float, why: str
) -> Verdicts:
    """Compare pairs only where the omnibus test finds a difference (ECSER, Table 11)."""
    first = anova(values) if name == "tukey" else friedman(values)
    tested = tukey(values) if name == "tukey" else nemenyi(values)
    central = values.mean(axis=1) if name == "tukey" else -mean_ranks(values)
    sides = {(i, j): float(central[i] - central[j]) for i, j in tested}
    verdicts = _significant(tested, sides, alpha)
    if first.p >= alpha:
        why += f"; {first.name} finds no difference at all, so no pair is decided"
        verdicts = {
            pair: ComparedPair(decision="undecided", p=verdict.p)
            for pair, verdict in verdicts.items()
        }
    test = ChosenTest(
        approach="frequentist",
        name=name,
        why=why,
        alpha=alpha,
        omnibus=first.name,
        omnibus_statistic=first.statistic,
        omnibus_p=first.p,
        critical_difference=(
            critical_difference(len(values), values.shape[1], alpha) if name == "nemenyi" else None
        ),
    )
    return Verdicts(test, "mean" if name == "tukey" else "mean rank", verdicts)


def _significant(pairs: Pairs, sides: Pairs, alpha: float) -> dict[tuple[int, int], ComparedPair]:
    return {
        pair: ComparedPair(decision=significant_decision(p, sides[pair], alpha), p=p)
        for pair, p in pairs.items()
    }


def decide_few(scores: ScoreMatrix, *, alpha: float, approach: Approach) -> Verdicts:
    """Leave all pairs `untested`: seeds share a test set, so they cannot stand in for tasks."""
    tasks = len(scores.tasks)
    why = (
        f"There {'is 1 task' if tasks == 1 else f'are {tasks} tasks'}, and tests over tasks need "
        f"{FEWEST_TASKS}. More seeds cannot replace them, because they share a test set. Compare "
        "by the answers to test rows (approach calibrated), or run more tasks"
    )
    return untested(ChosenTest(approach, "none", why, alpha), len(scores.models))


def compare(
    scores: ScoreMatrix,
    *,
    alpha: float = 0.05,
    rope: float = 0.1,
    approach: Approach = "bayesian",
    seed: int = 0,
    rope_kind: Literal["effect", "absolute"] = "effect",
    samples: int = SAMPLES,
    choice: Choice = "auto",
    effect_size: EffectSize | None = None,
) -> Comparison:
    """Rank models and decide each pair; the same scores and seed give the same result.

    `calibrated` answers whether differences hold on new tasks; answers to test rows say more
    (`calibrated.answer_questions`). Over five tasks or more, `bayesian` decides by the Bayesian
    signed-rank test with a ROPE, and `frequentist` by the test that the data allow or that
    `choice` demands. Over fewer, these leave pairs untested, and the test says why. Raises
    `StatisticsError` for settings out of range and where scipy is missing.
    """
    check_settings(alpha, rope, samples)
    if approach == "calibrated":
        width = rope if rope_kind == "absolute" else ROPE
        return arrange(scores, new_tasks_by_scores(scores, Criteria(alpha, width, seed)))
    values = scores.means()
    if len(scores.tasks) < FEWEST_TASKS:
        return arrange(scores, decide_few(scores, alpha=alpha, approach=approach))
    checked = check_assumptions(values, alpha)
    if approach == "bayesian":
        verdicts = decide_bayesian(
            values,
            normal=checked.normal,
            alpha=alpha,
            rope=rope,
            rope_kind=rope_kind,
            samples=samples,
            seed=seed,
        )
    else:
        verdicts = decide_frequentist(values, checked, alpha=alpha, choice=choice)
    return arrange(scores, verdicts, checked, effect_size)
