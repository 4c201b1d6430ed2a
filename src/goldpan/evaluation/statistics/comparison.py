"""Result of a comparison: ranking, decisions on pairs, and the test behind them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from goldpan.evaluation.statistics.effects import Magnitude
from goldpan.evaluation.statistics.over_tasks import Assumptions, Posterior

SCHEMA = 2
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
    "wilcoxon",
    "nemenyi",
    "tukey",
    "randomization",
    "none",
]
_MIRROR: dict[Decision, Decision] = {"better": "worse", "worse": "better"}


@dataclass(frozen=True, slots=True)
class ComparedPair:
    """Two models, the better placed first."""

    first: str
    second: str
    decision: Decision
    """Of the first."""
    p: float | None
    """Corrected for all pairs; None in a Bayesian comparison."""
    posterior: Posterior | None
    """Posterior of the first; None in a frequentist comparison."""
    difference: float
    """Of the means."""
    effect: float | None
    """None where the scores of neither model vary."""
    magnitude: Magnitude
    fragile: bool = False
    """Whether another seed could decide otherwise: it lies within random error of the limit."""
    low: float | None = None
    high: float | None = None
    """Where the difference may lie, for all pairs at once; None for methods without it."""
    needed: int | None = None
    """How many units would find the difference seen, with a power of 80 %; None where it is
    decided, or where no reasonable number would."""
    needed_unit: str = ""


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
    """Confidence interval of the mean or the median; None with one task."""
    effect: float | None
    """Compared to the model in the first place."""
    magnitude: Magnitude
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
    omnibus_statistic: float | None = None
    omnibus_p: float | None = None
    critical_difference: float | None = None
    """Critical difference of mean ranks (Nemenyi)."""
    rope: float | None = None
    rope_kind: Literal["effect", "absolute"] | None = None
    samples: int | None = None
    """Draws of the posterior, or swaps."""
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
    central: Literal["mean", "median", "mean rank"]
    """Value that gives the places."""
    agreement: float
    """Share of pairs whose decisions agree with the tiers."""
    effect_size: Literal["cohen d", "akinshin gamma"]
    confidence: float | None
    """Confidence of each interval, after correction; None with one task."""
    test: ChosenTest
    assumptions: Assumptions | None
    standings: tuple[Standing, ...]
    """By place."""
    pairs: tuple[ComparedPair, ...]
    """By places of the first, then of the second."""
    notes: tuple[str, ...] = ()
    schema: int = SCHEMA

    @property
    def models(self) -> tuple[str, ...]:
        """Return the models by place."""
        return tuple(standing.model for standing in self.standings)

    @property
    def leaders(self) -> tuple[str, ...]:
        """Return the models in the first place by the central value, several where they tie."""
        first = self.standings[0].place
        return tuple(standing.model for standing in self.standings if standing.place == first)

    @property
    def by_median(self) -> bool:
        """Whether intervals are of medians: scores that are not normal are ranked so."""
        return self.central == "median" or (
            self.central == "mean rank"
            and self.assumptions is not None
            and not self.assumptions.normal
        )

    def decision(self, first: str, second: str) -> Decision:
        """Return how the first of two models compares to the second."""
        for pair in self.pairs:
            if (pair.first, pair.second) == (first, second):
                return pair.decision
            if (pair.first, pair.second) == (second, first):
                return _MIRROR.get(pair.decision, pair.decision)
        raise KeyError(f"{first} and {second} were not compared")

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return asdict(self)


# By `benchmarks.calibration`: equal models answer 200 rows a task, 10 % of them anew for each seed.
_MEASURED: Mapping[TestName, str] = {
    "hierarchical resampling": "4.4 % of 360,750 null simulations, and in at most 6.0 % of those"
    " of any setting (docs/statistics.md)",
    "random effects": "2.7 % of 63,250 null simulations, and in at most 5.1 % of those of any"
    " setting (docs/statistics.md)",
    "bayesian signed rank": "10 % of cases with 2 models on 17 tasks, and in 88 % with 10 models",
    "paired t": "5 % of cases with 2 models on 17 tasks",
    "wilcoxon": "4 % of cases with 2 models on 17 tasks, and in 2 % with 10 models",
    "nemenyi": "5 % of cases with 10 models on 17 tasks",
    "tukey": "5 % of cases with 10 models on 17 tasks",
    "randomization": "5 % of cases where rows are independent, and in 32 % where they are of 10"
    " documents that hang together and single rows are swapped",
}


def error_rate(test: TestName) -> str:
    """Return in a sentence how often a method is wrong of equal models; empty without a test."""
    measured = _MEASURED.get(test, "")
    return f"Measured: it declares equal models different in {measured}." if measured else ""
