"""Confusion counts of classifiers on train, folds and test projects: what ECSER starts from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from goldpan.evaluation.metrics.confusion import BinaryConfusion, pool
from goldpan.evaluation.score_files import Part
from goldpan.evaluation.statistics.drift import degradation, overfitting
from goldpan.evaluation.statistics.scores import Floats

METRICS = ("Precision", "Recall", "F1")


@dataclass(frozen=True, slots=True)
class Counted:
    """The answers of a classifier to one data set, project or fold."""

    task: str
    model: str
    part: Part
    dataset: str
    counts: BinaryConfusion


@dataclass(frozen=True)
class Study:
    """All counts of one or more tasks and classifiers."""

    counted: tuple[Counted, ...]
    undefined: float = 0.0
    """What a metric that divides by zero counts as."""

    def models(self, task: str) -> tuple[str, ...]:
        """Return the classifiers of a task, as they come."""
        return tuple(dict.fromkeys(row.model for row in self.counted if row.task == task))

    @property
    def tasks(self) -> tuple[str, ...]:
        """Return the tasks, as they come."""
        return tuple(dict.fromkeys(row.task for row in self.counted))

    def pooled(self, task: str, model: str, part: Part) -> BinaryConfusion | None:
        """Return the cumulative counts of a part (S6), None where there are none."""
        counts = [row.counts for row in self._of(task, model, part)]
        return pool(counts) if counts else None

    def values(self, task: str, model: str, part: Part, metric: str) -> Floats:
        """Return a metric of each data set of a part, by the data sets' names."""
        rows = sorted(self._of(task, model, part), key=lambda row: row.dataset)
        measured = [getattr(row.counts, metric.lower()) for row in rows]
        return np.array([self.undefined if value is None else value for value in measured])

    def matrix(self, task: str, models: Iterable[str], metric: str) -> Floats:
        """Return a metric on the test sets, models x data sets that all of them answered."""
        by_model = [
            {row.dataset: row.counts for row in self._of(task, model, "test")} for model in models
        ]
        shared = sorted(set.intersection(*(set(counts) for counts in by_model)))
        rows = [[getattr(counts[name], metric.lower()) for name in shared] for counts in by_model]
        return np.array(
            [[self.undefined if value is None else value for value in row] for row in rows]
        )

    def _of(self, task: str, model: str, part: Part) -> list[Counted]:
        return [
            row for row in self.counted if (row.task, row.model, row.part) == (task, model, part)
        ]


def spread(values: Floats) -> float | None:
    """Return the standard deviation over data sets; None with fewer than two."""
    return float(values.std(ddof=1)) if values.size > 1 else None


def named(task: str, rest: str) -> str:
    """Return the name of a row or column of a task; papers with one task leave it out."""
    return f"{task} {rest}" if task else rest


def steps(study: Study, parts: Mapping[str, Part]) -> dict[tuple[str, str], float | str]:
    """Return the steps S6 to S8 as cells, by row and column.

    S6: rows are a part's title and the classifier, columns the task and TP, FP, TN or FN. S7 and
    S8: rows are the task and the classifier, columns a metric and `training`, `validation`, `test`
    (means over data sets, with `SD`), `overfitting` (Equation 1), `degradation` with `p`, `eta2`
    and `magnitude`.
    """
    cells: dict[tuple[str, str], float | str] = {}
    for task in study.tasks:
        for model in study.models(task):
            for title, part in parts.items():
                counts = study.pooled(task, model, part)
                if counts is not None:
                    for kind in ("tp", "fp", "tn", "fn"):
                        key = named(title, model), named(task, kind.upper())
                        cells[key] = getattr(counts, kind)
            for metric in METRICS:
                row = named(task, model)
                for column, value in _performance(study, task, model, metric).items():
                    if value is not None and value != "" and not _nan(value):
                        cells[row, f"{metric} {column}"] = value
    return cells


def _performance(study: Study, task: str, model: str, metric: str) -> dict[str, float | str | None]:
    train, validation, test = (
        study.values(task, model, part, metric) for part in ("train", "validation", "test")
    )
    cells: dict[str, float | str | None] = {}
    for title, values in (("training", train), ("validation", validation), ("test", test)):
        if values.size:
            cells[title] = float(values.mean())
            cells[f"{title} SD"] = spread(values)
    if train.size == 1 and test.size:
        over = overfitting(float(train[0]), test.tolist())
        cells["overfitting"], cells["overfitting SD"] = over.mean, over.sd
    if validation.size > 1 and test.size > 1:
        worse = degradation(validation.tolist(), test.tolist(), ranks=True)
        cells["degradation p"] = worse.p
        cells["degradation eta2"] = worse.eta_squared
        cells["degradation magnitude"] = worse.eta_magnitude
    return cells


def _nan(value: float | str) -> bool:
    return isinstance(value, float) and math.isnan(value)
