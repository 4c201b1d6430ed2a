"""The values that scoring gives; `orjson` writes them as they are, `scores_of` reads them back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from goldpan.datasets.task import TaskType

Unit = Literal["project", "example"]
"""What a bootstrap draws: whole projects where examples name theirs, else single examples."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A percentile bootstrap interval."""

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
class LabelConfusion:
    """One label against the rest; the five counts add up to the examples."""

    label: str
    tp: int
    fp: int
    tn: int
    fn: int
    invalid: int = 0
    """Examples without the label that got no valid answer: neither false nor true negatives."""


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
    unit: Unit
    units: int
    """How many projects or examples the bootstrap draws from."""
    resamples: int
    seed: int
    metrics: tuple[Metric, ...]
    confusion: ConfusionMatrix | None = None
    """Of binary and multi-class tasks."""
    label_confusions: tuple[LabelConfusion, ...] = ()
    """Of classification tasks, one-vs-rest."""

    def metric(self, name: str, label: str | None = None) -> Metric:
        """Return the metric of that name; raises `KeyError` where there is none."""
        for metric in self.metrics:
            if (metric.name, metric.label) == (name, label):
                return metric
        raise KeyError(name if label is None else f"{name} of {label}")

    def value(self, name: str, label: str | None = None) -> float | None:
        """Return the value of the metric of that name, None where it is undefined."""
        return self.metric(name, label).value


def scores_of(stored: Mapping[str, Any]) -> Scores:
    """Return scores from what their JSON holds; raises `TypeError` or `KeyError` for others."""
    metrics = tuple(
        Metric(**{**metric, "interval": _interval(metric["interval"])})
        for metric in stored["metrics"]
    )
    matrix = stored["confusion"]
    confusion = matrix and ConfusionMatrix(
        tuple(matrix["labels"]), tuple(tuple(row) for row in matrix["counts"])
    )
    rest = tuple(LabelConfusion(**counts) for counts in stored["label_confusions"])
    fields = {"metrics": metrics, "confusion": confusion, "label_confusions": rest}
    return Scores(**{**stored, **fields})


def _interval(stored: Mapping[str, Any] | None) -> Interval | None:
    return None if stored is None else Interval(**stored)
