"""Compares models by their scores and arranges the decisions as a ranking with tiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from goldpan.evaluation.statistics.calibrated import ROPE, Criteria, new_tasks_by_scores
from goldpan.evaluation.statistics.comparison import (
    Approach,
    ComparedPair,
    Comparison,
    Decision,
    Standing,
)
from goldpan.evaluation.statistics.decide import (
    FEWEST_TASKS,
    Choice,
    PairVerdict,
    Verdicts,
    decide_bayesian,
    decide_few,
    decide_frequentist,
)
from goldpan.evaluation.statistics.effects import (
    ConfidenceInterval,
    akinshin_gamma,
    cohen_d,
    magnitude,
    mean_interval,
    median_interval,
)
from goldpan.evaluation.statistics.over_tasks import (
    SAMPLES,
    Assumptions,
    check_assumptions,
    mean_ranks,
)
from goldpan.evaluation.statistics.scores import (
    Floats,
    ScoreMatrix,
    as_decimal,
    check_settings,
    rounded,
)


def tiers(order: Sequence[str], beats: Mapping[str, frozenset[str]]) -> dict[str, int]:
    """Return the tier of each model, 1 the best: the division that agrees with most decisions.

    Tiers are stretches of the ranking. A pair agrees with them when it is undecided or equal and
    shares a tier, or when it is decided and does not. Of divisions that agree as well, the one
    with fewer tiers counts. One pair that flips by chance shifts the count by one, so it seldom
    moves a border; rules that go from model to model let it move all that follow.
    """
    count = len(order)
    decided = [
        [upper != lower and (lower in beats[upper] or upper in beats[lower]) for lower in order]
        for upper in order
    ]
    # within[a][b]: pairs among order[a:b] that are decided, less those that are not.
    within = [[0] * (count + 1) for _ in range(count + 1)]
    for start in range(count):
        for end in range(start + 1, count + 1):
            new = sum(1 if decided[at][end - 1] else -1 for at in range(start, end - 1))
            within[start][end] = within[start][end - 1] + new
    best: list[tuple[int, int]] = [(0, 0)]
    cut = [0]
    for end in range(1, count + 1):
        options = [
            ((best[start][0] + within[start][end], best[start][1] + 1), start)
            for start in range(end)
        ]
        cost, start = min(options)
        best.append(cost)
        cut.append(start)
    borders = {count}
    while (start := cut[min(borders)]) > 0:
        borders.add(start)
    return {model: 1 + sum(border <= at for border in borders) for at, model in enumerate(order)}


def agreement(tier_of: Mapping[str, int], beats: Mapping[str, frozenset[str]]) -> float:
    """Return the share of pairs that agree with tiers, as `tiers` counts them."""
    names = sorted(tier_of)
    pairs = [(first, other) for at, first in enumerate(names) for other in names[at + 1 :]]
    agreeing = sum(
        (other in beats[first] or first in beats[other]) == (tier_of[first] != tier_of[other])
        for first, other in pairs
    )
    return agreeing / len(pairs)


def open_places(
    order: Sequence[str], beats: Mapping[str, frozenset[str]]
) -> dict[str, tuple[int, int]]:
    """Return the best and the worst place that the decisions leave to each model.

    Models that are decided to be better stand above it, those that are decided to be worse
    stand below it, and no test puts it among the others.
    """
    return {
        model: (
            1 + sum(model in beats[other] for other in order),
            len(order) - len(beats[model]),
        )
        for model in order
    }


EffectSize = Literal["cohen d", "akinshin gamma"]
_MIRROR: dict[Decision, Decision] = {"better": "worse", "worse": "better"}
_MOST_NAMED = 5


def arrange(
    scores: ScoreMatrix,
    verdicts: Verdicts,
    checked: Assumptions | None = None,
    effect_size: EffectSize | None = None,
) -> Comparison:
    """Rank models by what a test decided about their pairs."""
    values = scores.means()
    normal = checked is None or checked.normal
    effect_size = effect_size or ("cohen d" if normal else "akinshin gamma")
    ranks = mean_ranks(values)
    central = rounded(
        {
            "mean": values.mean(axis=1),
            "median": np.median(values, axis=1),
            "mean rank": -ranks,
        }[verdicts.central]
    )
    order = sorted(range(len(values)), key=lambda row: (-central[row], scores.models[row]))
    names = [scores.models[row] for row in order]
    pairs = tuple(
        _pair(scores, values, verdicts, effect_size, model, other)
        for at, model in enumerate(order)
        for other in order[at + 1 :]
    )
    beats = _beats(names, pairs)
    tier_of, open_to = tiers(names, beats), open_places(names, beats)
    intervals = [_interval(row, verdicts.test.alpha, len(values), normal) for row in values]
    standings = []
    for row, name in zip(order, names, strict=True):
        effect = _effect(values[order[0]], values[row], effect_size)
        interval = intervals[row]
        standing = Standing(
            model=name,
            place=1 + int((central > central[row]).sum()),
            best=open_to[name][0],
            worst=open_to[name][1],
            tier=tier_of[name],
            mean=float(values[row].mean()),
            sd=float(values[row].std(ddof=1)) if values.shape[1] > 1 else None,
            median=float(np.median(values[row])),
            mean_rank=float(ranks[row]),
            low=interval.low if interval else None,
            high=interval.high if interval else None,
            effect=effect,
            magnitude=magnitude(effect),
            seed_sd=_seed_sd(scores.cells[row]),
        )
        standings.append(standing)
    return Comparison(
        metric=scores.metric,
        tasks=scores.tasks,
        seeds=scores.fewest_seeds,
        central=verdicts.central,
        agreement=agreement(tier_of, beats),
        effect_size=effect_size,
        confidence=intervals[0].confidence if intervals[0] else None,
        test=verdicts.test,
        assumptions=checked,
        standings=tuple(standings),
        pairs=pairs,
        notes=_notes(scores, verdicts, pairs),
    )


def _pair(
    scores: ScoreMatrix,
    values: Floats,
    verdicts: Verdicts,
    effect_size: EffectSize,
    first: int,
    other: int,
) -> ComparedPair:
    verdict = verdicts.of[min(first, other), max(first, other)]
    if first > other:
        verdict = _mirrored(verdict)
    effect = _effect(values[first], values[other], effect_size)
    return ComparedPair(
        first=scores.models[first],
        second=scores.models[other],
        decision=verdict.decision,
        p=verdict.p,
        posterior=verdict.posterior,
        difference=as_decimal(float(values[first].mean() - values[other].mean())),
        effect=effect,
        magnitude=magnitude(effect),
        fragile=verdict.fragile,
        low=verdict.low,
        high=verdict.high,
        needed=verdict.needed,
        needed_unit=verdict.needed_unit,
    )


def _mirrored(verdict: PairVerdict) -> PairVerdict:
    return replace(
        verdict,
        decision=_MIRROR.get(verdict.decision, verdict.decision),
        posterior=verdict.posterior.reversed() if verdict.posterior else None,
        low=None if verdict.high is None else -verdict.high,
        high=None if verdict.low is None else -verdict.low,
    )


def _beats(names: Sequence[str], pairs: Sequence[ComparedPair]) -> Mapping[str, frozenset[str]]:
    reached: dict[str, set[str]] = {name: set() for name in names}
    for pair in pairs:
        if pair.decision == "better":
            reached[pair.first].add(pair.second)
        elif pair.decision == "worse":
            reached[pair.second].add(pair.first)
    return {name: frozenset(beaten) for name, beaten in reached.items()}


def _interval(values: Floats, alpha: float, models: int, normal: bool) -> ConfidenceInterval | None:
    if values.size < 2:
        return None
    return (mean_interval if normal else median_interval)(values, alpha, models)


def _effect(first: Floats, second: Floats, kind: EffectSize) -> float | None:
    if first.size < 2:
        return None
    return (cohen_d if kind == "cohen d" else akinshin_gamma)(first, second)


def _seed_sd(cells: tuple[tuple[float, ...], ...]) -> float | None:
    spreads = [float(np.std(cell, ddof=1)) for cell in cells if len(cell) > 1]
    return sum(spreads) / len(spreads) if spreads else None


def _notes(
    scores: ScoreMatrix, verdicts: Verdicts, pairs: Sequence[ComparedPair]
) -> tuple[str, ...]:
    notes = [f"Left out: {reason}" for reason in scores.left_out]
    if verdicts.test.name == "wilcoxon" and len(scores.tasks) == FEWEST_TASKS:
        notes.append(
            "With five tasks Wilcoxon's p cannot fall below 0.0625: nothing can be decided at 0.05"
        )
    if scores.fewest_seeds == 1 and len(scores.tasks) >= FEWEST_TASKS:
        notes.append("Some scores come from one seed, so the noise of training is not seen")
    fragile = [f"{pair.first} and {pair.second}" for pair in pairs if pair.fragile]
    if fragile:
        more = f" and {len(fragile) - _MOST_NAMED} more" if len(fragile) > _MOST_NAMED else ""
        notes.append(
            f"{len(fragile)} of {len(pairs)} decisions lie within random error of the limit and"
            f" could change with another seed: {'; '.join(fragile[:_MOST_NAMED])}{more}"
        )
    return tuple(notes)


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
