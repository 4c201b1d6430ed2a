"""Methods of papers by name: what autorank decides of models over tasks (SELU, ECSER).

Its decisions, ranks and effect sizes are shown. Its intervals are not, as it corrects those twice.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from contextlib import redirect_stdout
from io import StringIO
from itertools import combinations
from typing import Any, Literal

import numpy as np

from goldpan.core.imports import load
from goldpan.evaluation.compare.result import (
    FEWEST_TASKS,
    Approach,
    Central,
    ChosenTest,
    ComparedPair,
    Comparison,
    Posterior,
    TestName,
    Verdicts,
    arrange,
    significant_decision,
    untested,
)
from goldpan.evaluation.compare.scores import Floats, ScoreMatrix, StatisticsError, check_settings

NamedMethod = Literal["bayesian", "frequentist", "nemenyi", "tukey"]
SAMPLES = 50_000
_FORCED: Mapping[NamedMethod, str] = {"tukey": "parametric", "nemenyi": "nonparametric"}
_TESTS: Mapping[str, TestName] = {
    "ttest": "paired t",
    "wilcoxon": "one-sided wilcoxon",
    "anova": "tukey",
    "friedman": "nemenyi",
}
_TUKEY_ALPHA = 0.05
"""Of autorank's intervals after an ANOVA, whatever alpha is."""
Pairs = dict[tuple[int, int], ComparedPair]


def autoranked(values: Floats, *, alpha: float = 0.05, **settings: Any) -> Any:
    """Return autorank's result on models x tasks, whose models are numbered, the best first.

    `settings` are those of `autorank.autorank`. Raises `StatisticsError` for scores that are no
    numbers, for fewer than two models or five tasks, and where autorank is missing.
    """
    models, tasks = values.shape
    if models < 2 or tasks < FEWEST_TASKS or not np.isfinite(values).all():
        raise StatisticsError(
            f"autorank cannot rank {models} models on {tasks} tasks with"
            f" {int((~np.isfinite(values)).sum())} scores that are not numbers",
            f"Give finite scores of at least 2 models on at least {FEWEST_TASKS} tasks",
        )
    autorank = load("autorank", "This method", StatisticsError).autorank
    # It sorts mean ranks of higher scores from the worst on, those of lower ones from the best on.
    frequentist = settings.get("approach") != "bayesian"
    table = load("pandas", "This method", StatisticsError).DataFrame(
        (-values if frequentist else values).T
    )
    with redirect_stdout(StringIO()), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        order = "ascending" if frequentist else "descending"
        return autorank(table, alpha=float(alpha), order=order, **settings)


def compare_by_name(
    scores: ScoreMatrix,
    method: NamedMethod,
    *,
    alpha: float = 0.05,
    rope: float = 0.1,
    seed: int = 0,
    samples: int = SAMPLES,
) -> Comparison:
    """Rank models over tasks by a method's name; the same scores and seed give the same result.

    Over fewer than five tasks all pairs stay untested. Raises `StatisticsError` for settings out
    of range and where autorank is missing.
    """
    check_settings(alpha, rope, samples)
    values, tasks = scores.means(), len(scores.tasks)
    if tasks < FEWEST_TASKS:
        why = (
            f"There {'is 1 task' if tasks == 1 else f'are {tasks} tasks'}, and tests over tasks"
            f" need {FEWEST_TASKS}. More seeds cannot replace them, because they share a test set."
            " Compare by the answers to test rows (approach calibrated), or run more tasks"
        )
        approach: Approach = "bayesian" if method == "bayesian" else "frequentist"
        pairs = combinations(range(len(values)), 2)
        return arrange(scores, untested(ChosenTest(approach, "none", why, alpha), pairs))
    if method != "bayesian":
        result = autoranked(values, alpha=alpha, force_mode=_FORCED.get(method))
        return arrange(scores, _frequentist(values, result, alpha, method))
    result = autoranked(
        values,
        alpha=alpha,
        approach="bayesian",
        rope=float(rope),
        rope_mode="effsize",
        nsamples=samples,
        random_state=seed,
    )
    of = _bayesian(result)
    deviation = "standard" if result.all_normal else "median absolute"
    test = ChosenTest(
        approach="bayesian",
        name="bayesian signed rank",
        why="Bayesian tests say how probable it is that a model is better, and when two are"
        f" practically equal: here, when they differ by no more than {rope:g} x the pooled"
        f" {deviation} deviation",
        alpha=alpha,
        rope=rope,
        seed=seed,
    )
    central: Central = "mean" if result.all_normal else "median"
    return arrange(scores, Verdicts(test, central, of, _effects(result, 1)))


def _bayesian(result: Any) -> Pairs:
    of: Pairs = {}
    for first, second in combinations(result.rankdf.index, 2):
        # A ROPE of 0 leaves no probability of being equal.
        shares = [float(share) for share in result.posterior_matrix.loc[first, second]]
        posterior = Posterior(shares[-1], shares[1] if len(shares) == 3 else 0.0, shares[0])
        verdict = ComparedPair(
            decision={"smaller": "better", "larger": "worse", "equal": "equal"}.get(
                result.decision_matrix.loc[first, second], "undecided"
            ),  # type: ignore[arg-type]
            posterior=posterior,
        )
        of[first, second] = verdict
        of[second, first] = verdict.mirrored()
    return of


def _frequentist(values: Floats, result: Any, alpha: float, method: NamedMethod) -> Verdicts:
    """Return what autorank decides; pairs count only where its omnibus test finds a difference."""
    name = _TESTS[result.omnibus]
    frame = result.rankdf
    why = _why(result) + (f"; asked for: {method}" if method in _FORCED else "")
    overall = float(result.pvalue) if math.isfinite(result.pvalue) else 1.0
    if name == "tukey" and alpha != _TUKEY_ALPHA:
        why += f"; autorank's intervals of means are of {_TUKEY_ALPHA} whatever alpha is"
    two = len(values) == 2
    central: Central = "mean rank" if name == "nemenyi" else "mean"
    if name == "one-sided wilcoxon":
        central = "median"
    side = {"mean": values.mean(axis=1), "median": np.median(values, axis=1)}.get(central)
    side = -frame.meanrank.sort_index().to_numpy() if side is None else side
    of: Pairs = {}
    for i, j in combinations(range(len(values)), 2):
        decided = overall if _apart(name, result, i, j) else 1.0
        of[i, j] = ComparedPair(
            decision=significant_decision(decided, float(side[i] - side[j]), alpha),
            p=overall if two else None,
        )
    if not two and overall >= alpha:
        why += f"; {result.omnibus} finds no difference at all, so no pair is decided"
    test = ChosenTest(
        approach="frequentist",
        name=name,
        why=why,
        alpha=alpha,
        omnibus=None if two else result.omnibus,
        omnibus_p=None if two else overall,
    )
    return Verdicts(test, central, of, _effects(result, -1))


def _apart(test: TestName, result: Any, first: int, second: int) -> bool:
    """Return whether autorank tells two models apart once its omnibus test finds a difference."""
    frame = result.rankdf
    if test == "nemenyi":
        return bool(abs(frame.meanrank[first] - frame.meanrank[second]) > result.cd)
    if test != "tukey":
        return True
    low, high = frame.ci_lower, frame.ci_upper
    return bool(high[first] < low[second] or high[second] < low[first])


def _why(result: Any) -> str:
    text = (
        f"Scores {'pass as' if result.all_normal else 'are not'} normal (Shapiro-Wilk, lowest p"
        f" {min(result.pvals_shapiro):.3g}, limit {result.alpha_normality:.3g})"
    )
    if result.omnibus in ("ttest", "wilcoxon"):
        return text
    alike = "alike" if result.homoscedastic else "not alike"
    return (
        f"{text}; their variances are {alike}"
        f" ({result.homogeneity_test.title()}, p {result.pval_homogeneity:.3g})"
    )


def _effects(result: Any, sign: int) -> dict[int, tuple[float | None, str]]:
    """Return the lead of the first model over each by autorank's effect size, and its name."""
    frame = result.rankdf
    return {
        int(model): (sign * float(effect) + 0.0, str(name))
        if math.isfinite(effect)
        else (None, "undefined")
        for model, effect, name in zip(frame.index, frame.effect_size, frame.magnitude, strict=True)
    }


# Effect sizes of papers.

Magnitude = Literal["none", "small", "medium", "large", "undefined"]


def cohen_d(first: Floats, second: Floats) -> float | None:
    """Return the difference of means in pooled standard deviations (SELU, Equation 5).

    It takes the samples as independent, as both papers do. None where neither sample varies
    and the means differ.
    """
    freedom = first.size + second.size - 2
    squares = (first.size - 1) * first.var(ddof=1) + (second.size - 1) * second.var(ddof=1)
    difference, spread = float(first.mean() - second.mean()), math.sqrt(squares / freedom)
    if spread > 0:
        return difference / spread
    return 0.0 if difference == 0 else None


def magnitude(
    effect: float | None, limits: tuple[float, float, float] = (0.2, 0.5, 0.8)
) -> Magnitude:
    """Return the name of an effect size, by default in standard deviations (ECSER, S8)."""
    if effect is None:
        return "undefined"
    names: tuple[Magnitude, ...] = ("none", "small", "medium", "large")
    return names[sum(abs(effect) >= limit for limit in limits)]
