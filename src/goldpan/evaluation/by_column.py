"""Scores by project, document or any other column, from the stored predictions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from goldpan.core.errors import UsageError
from goldpan.datasets.task import Task
from goldpan.evaluation.columns import values_of
from goldpan.evaluation.metrics.result import Interval
from goldpan.evaluation.score import score

ALWAYS = "repo"
"""The column by which every run is scored, where its rows name 2 to 200 projects."""
_MOST_UNASKED, _MOST = 200, 5_000
_RESAMPLES = 500


@dataclass(frozen=True, slots=True)
class PartScore:
    """The score of the rows with one value of the column."""

    value: str
    examples: int
    score: float | None
    """In the run's main metric."""
    interval: Interval | None
    """95 %, by bootstrap over these rows."""


@dataclass(frozen=True, slots=True)
class ByColumn:
    """A run's scores by a column."""

    column: str
    metric: str
    mean: float | None
    """Over the values, each counting the same however many rows it has."""
    spread: float | None
    """The standard deviation over them; None of a single one."""
    parts: tuple[PartScore, ...]
    """The values with most rows first."""


def scores_by(
    task: Task,
    predictions: pa.Table,
    column: str,
    *,
    seed: int = 0,
    files: Mapping[str, str] | None = None,
) -> ByColumn:
    """Score the rows of each value of a column that `predictions` has.

    Raises `UsageError` where it has more values than anyone reads.
    """
    values = values_of(predictions, column)
    counts = Counter(values)
    if len(counts) > _MOST:
        raise UsageError(
            f"The predictions have {len(counts):,} values of {column}",
            f"Give a column with {_MOST:,} values or fewer",
        )
    indexes: dict[str, list[int]] = {}
    for position, value in enumerate(values):
        indexes.setdefault(value, []).append(position)
    resamples = _RESAMPLES if len(counts) <= _MOST_UNASKED else 0
    parts = []
    for value in sorted(indexes, key=lambda name: (-counts[name], name)):
        rows = predictions.take(pa.array(indexes[value], pa.int64()))
        metric = score(task, rows, seed=seed, resamples=resamples, files=files).metric(task.metric)
        parts.append(PartScore(value, len(rows), metric.value, metric.interval))
    scores = [part.score for part in parts if part.score is not None]
    mean = math.fsum(scores) / len(scores) if scores else None
    spread = None
    if mean is not None and len(scores) > 1:
        spread = math.sqrt(math.fsum((x - mean) ** 2 for x in scores) / (len(scores) - 1))
    return ByColumn(column, task.metric, mean, spread, tuple(parts))


def unasked(predictions: pa.Table) -> tuple[str, ...]:
    """Return the columns by which a run is scored in any case."""
    projects = set(predictions[ALWAYS].to_pylist()) - {None}
    return (ALWAYS,) if 2 <= len(projects) <= _MOST_UNASKED else ()
