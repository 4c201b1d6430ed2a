"""Metrics with intervals: their values, and how evidence on each example gives them.

A metric is either a function of sums over examples (`Totals`) or of how scores rank them
(`Ranking`, in `curves.py`). Both are computed for many weightings of the examples at once: all
ones for the value, what the bootstrap drew for the interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import NormalDist
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from goldpan.core.errors import PluginError
from goldpan.core.plugins.loading import attribute_to_plugin
from goldpan.core.plugins.parts import Kind
from goldpan.core.plugins.registry import Registry
from goldpan.datasets.tasks.task import Task, TaskType
from goldpan.evaluation.units import Unit, Units, counted


@dataclass(frozen=True, slots=True)
class Interval:
    """A bootstrap interval."""

    low: float
    high: float
    level: float = 0.95


@dataclass(frozen=True, slots=True)
class Metric:
    """One number about a run."""

    name: str
    value: float | None
    interval: Interval | None
    reason: str = ""
    """Why there is no value or no interval, or what people must know of the value."""
    label: str | None = None
    """The label that it is about, against the rest; None for all."""
    higher_is_better: bool = True


@dataclass(frozen=True, slots=True)
class ConfusionMatrix:
    """How often each true label (row) was answered with each label (column)."""

    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    """A row a true label; after the labels' columns, one for answers that are not valid."""


@dataclass(frozen=True, slots=True)
class Confusion:
    """One label against the rest; the counts add up to the examples."""

    tp: int
    fp: int
    tn: int
    fn: int
    invalid: int = 0
    """Examples without the label that got no valid answer: neither false nor true negatives."""
    label: str = field(default="", kw_only=True)
    """Empty where there is one label alone."""

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """True and false positives, true and false negatives."""
        return self.tp, self.fp, self.tn, self.fn

    @property
    def size(self) -> int:
        """How many examples there are."""
        return sum(self.counts) + self.invalid


@dataclass(frozen=True, slots=True)
class Scores:
    """All that was computed from the predictions of one run."""

    task: str
    task_type: TaskType
    main: str
    """The name of the metric that ranks."""
    examples: int
    invalid: int
    """Answers that were none: they count as wrong."""
    unit: str
    """What the bootstrap draws: projects, documents or rows, as `units_of` says."""
    units: int
    """How many of them there are."""
    resamples: int
    seed: int
    metrics: tuple[Metric, ...]
    confusion: ConfusionMatrix | None = None
    """Confusion matrix of binary and multi-class tasks."""
    label_confusions: tuple[Confusion, ...] = ()
    """Confusions of classification tasks, one-vs-rest."""
    projects: int = 0
    """How many projects the examples name."""

    def metric(self, name: str, label: str | None = None) -> Metric:
        """Return the metric of that name; raises `KeyError` where there is none."""
        for metric in self.metrics:
            if (metric.name, metric.label) == (name, label):
                return metric
        raise KeyError(name if label is None else f"{name} of {label}")

    def value(self, name: str, label: str | None = None) -> float | None:
        """Return the value of the metric of that name, None where it is undefined."""
        return self.metric(name, label).value


# Units are drawn again and again to estimate how far a score would differ on other examples. The
# same draws serve all metrics of a run.
#
# Plain percentiles of few units are too narrow: of 10 projects, they cover 88% where they say 95.
# So they are expanded as far as Student's t is wider than the normal (Hesterberg 2015), and units
# of unequal size count as fewer (Kish 1965). So few as five have too few draws that differ: their
# interval is Student's.

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]
_AT_ONCE = 4_000_000
"""Weights that are held at once: draws times examples."""


@dataclass(frozen=True, eq=False)
class Resampling:
    """How examples are drawn."""

    kind: Unit
    unit_of: Whole
    """The number of each example's unit, from 0."""
    seed: int
    resamples: int

    @cached_property
    def units(self) -> int:
        """How many units there are to draw from."""
        return int(self.unit_of.max()) + 1 if len(self.unit_of) else 0

    def draws(self) -> Iterator[Floats]:
        """Yield how often each unit is drawn, some draws (rows) at a time."""
        if self.units < 2:
            return
        generator = np.random.default_rng(self.seed)
        at_once = max(1, _AT_ONCE // max(self.units, len(self.unit_of)))
        for start in range(0, self.resamples, at_once):
            draws = min(at_once, self.resamples - start)
            units = generator.integers(0, self.units, size=(draws, self.units))
            units += np.arange(draws)[:, None] * self.units
            counts = np.bincount(units.ravel(), minlength=draws * self.units)
            yield counts.reshape(draws, self.units).astype(np.float64)

    @cached_property
    def alike(self) -> float:
        """How many units of equal size would tell as much."""
        sizes = np.bincount(self.unit_of).astype(np.float64)
        return float(sizes.sum() ** 2 / (sizes**2).sum())

    @cached_property
    def reach(self) -> float:
        """How many standard deviations of the draws lie between a score and its limits."""
        if self.alike <= 1:
            return math.inf
        return _t_quantile(self.alike - 1) * math.sqrt(self.alike / (self.alike - 1))


def _t_quantile(freedom: float) -> float:
    """Return Student's 97.5% quantile (Abramowitz and Stegun 26.7.5), which needs no scipy."""
    z = NormalDist().inv_cdf(0.975)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3


def resample(units: Units, *, seed: int, resamples: int) -> Resampling:
    """Return the drawing of whole units."""
    numbers: dict[str, int] = {}
    unit_of = [numbers.setdefault(name, len(numbers)) for name in units.names]
    return Resampling(units.kind, np.array(unit_of, dtype=np.int64), seed, resamples)


_FEW = 6
"""From so many units on, percentiles of the draws cover."""
_LEAST_DEFINED = 0.5
"""The share of draws that must define a metric for it to have an interval."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One metric of some evidence."""

    name: str
    compute: Callable[[Floats], Floats]
    """From draws x columns to a number a draw, NaN where it is undefined."""
    undefined: str = "it would divide by zero"
    """Why there may be no value."""
    label: str | None = None
    higher_is_better: bool = True
    note: str = ""
    """Caution that belongs to the value."""
    limits: tuple[float, float] = (0.0, 1.0)
    """The lowest and the highest value that it can have."""


class MetricEvidence(Protocol):
    """Facts on each example, and the measures that follow from them."""

    @property
    def measures(self) -> Sequence[Measure]:
        """The metrics that `weigh` gives what they need."""

    def by_unit(self, unit_of: Whole, units: int) -> Callable[[Floats], Floats]:
        """Return how draws x units become what the measures take."""


@dataclass(frozen=True, slots=True, eq=False)
class Totals:
    """Numbers on each example (examples x columns), of which measures take the sums."""

    columns: Floats
    measures: Sequence[Measure]

    def by_unit(self, unit_of: Whole, units: int) -> Callable[[Floats], Floats]:
        """Return how draws x units become draws x columns."""
        sums = np.zeros((units, self.columns.shape[1]))
        np.add.at(sums, unit_of, self.columns)

        def summed(weights: Floats) -> Floats:
            with np.errstate(over="ignore", invalid="ignore"):  # then there is no value
                return weights @ sums

        return summed


def ratio(over: Floats, under: Floats) -> Floats:
    """Divide, with NaN where the divisor is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(under != 0, over / np.where(under != 0, under, 1.0), np.nan)


def mean_of(column: int, of: int) -> Callable[[Floats], Floats]:
    """Return the measure that divides one column's sum by another's."""
    return lambda totals: ratio(totals[:, column], totals[:, of])


def means(
    values: dict[str, Floats],
    *,
    lower: frozenset[str] = frozenset(),
    note: str = "",
    limits: tuple[float, float] = (0.0, 1.0),
) -> Totals:
    """Return the means of numbers on each example as metrics; those in `lower` are errors."""
    names = list(values)
    count = len(next(iter(values.values())))
    columns = np.column_stack([*values.values(), np.ones(count)])
    return Totals(
        columns,
        [
            Measure(
                name,
                mean_of(index, len(names)),
                higher_is_better=name not in lower,
                note=note,
                undefined="there are no examples",
                limits=limits,
            )
            for index, name in enumerate(names)
        ],
    )


def estimate(evidence: Sequence[MetricEvidence], resampling: Resampling) -> tuple[Metric, ...]:
    """Return all metrics with their intervals."""
    weigh = [item.by_unit(resampling.unit_of, resampling.units) for item in evidence]
    once = np.ones((1, resampling.units))
    values = [_computed(item, reduce(once)) for item, reduce in zip(evidence, weigh, strict=True)]
    parts: list[list[Floats]] = [[] for _ in evidence]
    for weights in resampling.draws():
        for index, item in enumerate(evidence):
            parts[index].append(_computed(item, weigh[index](weights)))
    metrics: list[Metric] = []
    for index, item in enumerate(evidence):
        draws = np.concatenate(parts[index], axis=1) if parts[index] else None
        for row, measure in enumerate(item.measures):
            samples = None if draws is None else draws[row]
            metrics.append(_metric(measure, float(values[index][row, 0]), samples, resampling))
    return tuple(metrics)


def _computed(evidence: MetricEvidence, reduced: Floats) -> Floats:
    """Return measures x draws."""
    computed = [measure.compute(reduced) for measure in evidence.measures]
    return np.array(computed).reshape(len(computed), -1)


def _metric(measure: Measure, value: float, draws: Floats | None, resampling: Resampling) -> Metric:
    shared = (measure.label, measure.higher_is_better)
    if not math.isfinite(value):
        return Metric(measure.name, None, None, measure.undefined, *shared)
    if draws is not None:
        defined = draws[np.isfinite(draws)]
        if len(defined) >= _LEAST_DEFINED * len(draws):
            interval = _interval(measure, value, defined, len(draws), resampling)
            if interval is not None:
                return Metric(measure.name, value, interval, measure.note, *shared)
            undrawn = "all draws have the same value"
        else:
            undrawn = f"undefined in {len(draws) - len(defined)} of {len(draws)} draws"
    else:
        few = f"of {counted(resampling.units, resampling.kind)} there is none"
        undrawn = few if resampling.units < 2 else "no draws were asked for"
    reason = "; ".join(filter(None, [measure.note, f"no interval: {undrawn}"]))
    return Metric(measure.name, value, None, reason, *shared)


def _interval(
    measure: Measure, value: float, defined: Floats, draws: int, resampling: Resampling
) -> Interval | None:
    """Return the interval of a measure, exact where nothing but 0 or 1 was drawn.

    Draws of units that are all right say nothing of one that is wrong; of shares, Clopper and
    Pearson do.
    """
    lowest, highest = measure.limits
    if np.ptp(defined) == 0:
        if value not in (0, 1) or measure.limits != (0, 1):
            return None
        count, undefined = resampling.alike, 1 - len(defined) / draws
        if undefined:  # few of the units count, and these draws have none of them
            count = min(count, math.log(undefined) / math.log1p(-1 / resampling.units))
        far = 1 - 0.025 ** (1 / count)
        return Interval(max(value - far, 0.0), min(value + far, 1.0))
    if resampling.units < _FEW:
        half = min(resampling.reach, 1e9) * float(defined.std())
        return Interval(max(value - half, lowest), min(value + half, highest))
    tail = NormalDist().cdf(-resampling.reach)
    return Interval(*np.quantile(defined, [tail, 1 - tail]).tolist())


_SETTING = "metrics"
"""Setting of a task: further metrics by name, beside the one that ranks."""


@dataclass(frozen=True, slots=True)
class ExampleMetric:
    """A metric that is the mean of a number on each example."""

    name: str
    types: tuple[TaskType, ...]
    """Types of tasks that it can be computed for."""
    compute: Callable[[Task, Sequence[Any], Sequence[Any]], Sequence[float]]
    """From the right answers and a model's, None where one is not valid, to a number for each."""
    higher_is_better: bool = True

    def parts(self) -> Iterable[tuple[Kind, str, object]]:
        """Return itself, as a plugin registers it."""
        return [("metric", self.name, self)]


METRICS: Registry[ExampleMetric] = Registry("metric of a plugin", dict, "metric")


def added_names(task: Task) -> list[str]:
    """Return the metrics of plugins that a task names, of those that its type can have."""
    named = dict.fromkeys((task.metric, *task.settings.get(_SETTING, ())))
    known = METRICS.names()
    return [name for name in named if name in known and task.type in METRICS.find(name).types]


def added_evidence(task: Task, rows: Mapping[str, list[Any]]) -> Iterator[Totals]:
    """Yield the evidence of the metrics of plugins that a task names.

    Raises `PluginError` where one fails, or does not give a number for each example.
    """
    for name in added_names(task):
        metric = METRICS.find(name)
        with attribute_to_plugin("metric", name):
            values = np.asarray(metric.compute(task, rows["truth"], rows["answer"]), dtype=float)
        if values.shape != (len(rows["id"]),):
            raise PluginError(
                f"The metric {name} gave {values.size} numbers for {len(rows['id'])} examples",
                "Return one for each right answer, in their order",
            )
        lower = frozenset() if metric.higher_is_better else frozenset((name,))
        yield means({name: values}, lower=lower, limits=(-math.inf, math.inf))
