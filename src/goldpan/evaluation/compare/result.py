"""Result of a comparison: models ranked and put into tiers by what a test decided of each pair."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from types import MappingProxyType
from typing import Literal

import numpy as np

from goldpan.evaluation.compare.scores import ScoreMatrix, as_decimal, rounded, scipy_stats, tiers

SCHEMA = 5
Approach = Literal["calibrated", "frequentist", "bayesian"]
Question = Literal["new rows", "new tasks", ""]
"""Question: does a difference hold on new rows of these tasks, does it on new tasks. Empty
for methods by other names, which take tasks as all there is to know."""
Decision = Literal["better", "worse", "equal", "undecided", "untested"]
"""Decision on the first of two models. Only a ROPE gives `equal`: no test shows sameness."""
TestName = Literal[
    "hierarchical resampling",
    "random effects",
    "bayesian signed rank",
    "paired t",
    "one-sided wilcoxon",
    "nemenyi",
    "tukey",
    "none",
]
Central = Literal["mean", "median", "mean rank"]
_MIRROR: dict[Decision, Decision] = {"better": "worse", "worse": "better"}


@dataclass(frozen=True, slots=True)
class Posterior:
    """How probable it is that the first of two models is worse, as good or better."""

    worse: float
    equal: float
    better: float

    def reversed(self) -> Posterior:
        """Return it from the second model's side."""
        return Posterior(self.better, self.equal, self.worse)


@dataclass(frozen=True, slots=True)
class ComparedPair:
    """Two models, the better placed first.

    A test gives its decision; `arrange` adds the names and how far the scores are apart.
    """

    first: str = ""
    second: str = ""
    decision: Decision = "untested"
    """Decision on the first model."""
    p: float | None = None
    """Corrected for all pairs; None where the method gives none of its own for each pair."""
    posterior: Posterior | None = None
    """Posterior of the first; None in a frequentist comparison."""
    difference: float = 0.0
    """The first model's mean less the second's."""
    low: float | None = None
    high: float | None = None
    """Where the difference may lie, for all pairs at once; None for methods without it."""

    def mirrored(self) -> ComparedPair:
        """Return it from the second model's side."""
        return replace(
            self,
            first=self.second,
            second=self.first,
            decision=_MIRROR.get(self.decision, self.decision),
            difference=0.0 - self.difference,
            posterior=self.posterior.reversed() if self.posterior else None,
            low=None if self.high is None else -self.high,
            high=None if self.low is None else -self.low,
        )


@dataclass(frozen=True, slots=True)
class Standing:
    """Where one model stands."""

    model: str
    place: int
    """By the central value alone; models of the same value share it."""
    best: int
    worst: int
    """The places that the decisions leave open: 1-3 is a tie of three."""
    tier: int
    mean: float
    sd: float | None
    """Over tasks; None with one task."""
    median: float
    mean_rank: float
    """Over tasks, 1 is the best."""
    low: float | None
    high: float | None
    """95% interval of the mean on new rows of these tasks; None where rows are not known."""
    effect: float | None
    """The first model's lead by autorank's effect size; None for the calibrated answers."""
    magnitude: str
    seed_sd: float | None
    """How much seeds change its score, over tasks; None with one seed."""


@dataclass(frozen=True, slots=True)
class ChosenTest:
    """Test that decided, and the reason for choosing it."""

    approach: Approach
    name: TestName
    why: str
    alpha: float
    omnibus: str | None = None
    omnibus_p: float | None = None
    rope: float | None = None
    """In points of the score where calibrated, of the spread over tasks where bayesian."""
    seed: int | None = None
    question: Question = ""
    units: int | None = None
    unit: str = ""
    """Unit of resampling: rows, documents, projects, tasks or data sets."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Models ranked by what tests can tell."""

    metric: str
    tasks: tuple[str, ...]
    seeds: int
    """Runs of the cell that has fewest."""
    central: Central
    """Value that gives the places."""
    test: ChosenTest
    standings: tuple[Standing, ...]
    """By place."""
    pairs: tuple[ComparedPair, ...]
    """By places of the first, then of the second."""
    schema: int = SCHEMA

    @property
    def models(self) -> tuple[str, ...]:
        """Return the models by place."""
        return tuple(standing.model for standing in self.standings)

    def shown(self, standing: Standing) -> float:
        """Return the score by which a model is shown."""
        return standing.median if self.central == "median" else standing.mean

    @property
    def leaders(self) -> tuple[str, ...]:
        """Return the models in the first place by the central value, several where they tie."""
        first = self.standings[0].place
        return tuple(standing.model for standing in self.standings if standing.place == first)

    def decision(self, first: str, second: str) -> Decision:
        """Return how the first of two models compares to the second."""
        for pair in self.pairs:
            for one in (pair, pair.mirrored()):
                if (one.first, one.second) == (first, second):
                    return one.decision
        raise KeyError(f"{first} and {second} were not compared")


# By `benchmarks.calibration`: equal models answer 200 rows a task, 10% of them anew for each seed.
_MEASURED: Mapping[TestName, str] = {
    "hierarchical resampling": "4.4% of 360,750 null simulations, and in at most 6.0% of those"
    " of any setting (docs/statistics.md)",
    "random effects": "2.7% of 63,250 null simulations, and in at most 5.1% of those of any"
    " setting (docs/statistics.md)",
    "bayesian signed rank": "10% of cases with 2 models on 17 tasks, and in 88% with 10 models",
    "paired t": "5% of cases with 2 models on 17 tasks",
    "one-sided wilcoxon": "11% of cases with 2 models on 17 tasks",
    "nemenyi": "2% of cases with 10 models on 17 tasks",
    "tukey": "0.5% of cases with 10 models on 17 tasks",
}


def error_rate(test: TestName) -> str:
    """Return in a sentence how often a method is wrong of equal models; empty without a test."""
    measured = _MEASURED.get(test, "")
    return f"Measured: it declares equal models different in {measured}." if measured else ""


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Decisions of one test on all pairs, keyed by the places of their rows, the smaller first."""

    test: ChosenTest
    central: Central
    of: Mapping[tuple[int, int], ComparedPair] = field(default_factory=dict)
    effects: Mapping[int, tuple[float | None, str]] = field(default_factory=dict)
    """The first model's lead over each, and its name."""


def untested(test: ChosenTest, pairs: Iterable[tuple[int, int]]) -> Verdicts:
    """Return that nothing was tested of these pairs."""
    return Verdicts(test, "mean", dict.fromkeys(pairs, ComparedPair()))


def significant_decision(p: float, side: float, alpha: float) -> Decision:
    """Return the side of a difference where its p is below alpha, else `undecided`."""
    if p >= alpha or as_decimal(side) == 0:
        return "undecided"
    return "better" if side > 0 else "worse"


FEWEST_TASKS = 5
"""Autorank's limit. Wilcoxon's p cannot fall below 0.0625 with five tasks, 0.031 with six."""


def arrange(
    scores: ScoreMatrix,
    verdicts: Verdicts,
    intervals: Mapping[str, tuple[float, float]] = MappingProxyType({}),
) -> Comparison:
    """Rank models by what a test decided about their pairs."""
    values = scores.means()
    ranks = scipy_stats().rankdata(-values, axis=0).mean(axis=1)
    of_kind = {"mean": values.mean(axis=1), "median": np.median(values, axis=1)}
    central = rounded(of_kind.get(verdicts.central, -ranks))
    order = sorted(range(len(values)), key=lambda row: (-central[row], scores.models[row]))
    pairs = [
        replace(
            verdicts.of[row, other] if row < other else verdicts.of[other, row].mirrored(),
            first=scores.models[row],
            second=scores.models[other],
            difference=as_decimal(float(values[row].mean() - values[other].mean())),
        )
        for row, other in combinations(order, 2)
    ]
    names = [scores.models[row] for row in order]
    beats = beaten_by(names, pairs)
    tier_of = tiers(names, beats)
    standings = []
    for row, name in zip(order, names, strict=True):
        low, high = intervals.get(name, (None, None))
        effect, magnitude = verdicts.effects.get(row, (None, ""))
        spreads = [float(np.std(cell, ddof=1)) for cell in scores.cells[row] if len(cell) > 1]
        standing = Standing(
            model=name,
            place=1 + int((central > central[row]).sum()),
            best=1 + sum(name in others for others in beats.values()),
            worst=len(names) - len(beats[name]),
            tier=tier_of[name],
            mean=float(values[row].mean()),
            sd=float(values[row].std(ddof=1)) if values.shape[1] > 1 else None,
            median=float(np.median(values[row])),
            mean_rank=float(ranks[row]),
            low=low,
            high=high,
            effect=effect,
            magnitude=magnitude,
            seed_sd=sum(spreads) / len(spreads) if spreads else None,
        )
        standings.append(standing)
    return Comparison(
        metric=scores.metric,
        tasks=scores.tasks,
        seeds=min(len(cell) for row in scores.cells for cell in row),
        central=verdicts.central,
        test=verdicts.test,
        standings=tuple(standings),
        pairs=tuple(pairs),
    )


def beaten_by(models: Iterable[str], pairs: Iterable[ComparedPair]) -> dict[str, list[str]]:
    """Return the models that each one is decided to be better than, by place."""
    beats: dict[str, list[str]] = {model: [] for model in models}
    for pair in pairs:
        if pair.decision == "better":
            beats[pair.first].append(pair.second)
        elif pair.decision == "worse":
            beats[pair.second].append(pair.first)
    return beats
