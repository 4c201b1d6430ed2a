"""Answers with the label most frequent at the time: what a date tells without the text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from goldpan.core.errors import EvaluationError
from goldpan.datasets.date_neighbors import DateNeighbors, Numbers
from goldpan.datasets.task import Task
from goldpan.datasets.task_rows import target_column
from goldpan.evaluation.model import Answers, Entry, Model, TrainingContext, settled
from goldpan.evaluation.models.checks import require_type

_NAME = "dates"


@dataclass(frozen=True, slots=True)
class LabelsByDate:
    """The labels of train rows with a date, by project and time."""

    neighbors: DateNeighbors

    @classmethod
    def of(cls, task: Task, rows: pa.Table) -> LabelsByDate:
        """Learn from rows with one label each."""
        rows = rows.filter(rows["created_at"].is_valid())
        indexes = {name: index for index, name in enumerate(task.label_names)}
        labels = [indexes[name] for name in rows[target_column(task.type).name].to_pylist()]
        return cls(DateNeighbors(rows["repo"].to_pylist(), _moments(rows), labels, len(indexes)))

    def shares(self, rows: pa.Table) -> Numbers:
        """Return how frequent each label is around the date of each row, a row each."""
        return self.neighbors.shares(rows["repo"].to_pylist(), _moments(rows))


@dataclass(frozen=True, slots=True)
class _Fitted:
    task: Task
    labels: LabelsByDate

    def answer(self, rows: pa.Table) -> Answers:
        shares = self.labels.shares(rows)
        names = self.task.label_names
        return Answers([names[best] for best in shares.argmax(axis=1)], shares.tolist())


def _moments(rows: pa.Table) -> list[int | None]:
    return list(rows["created_at"].cast(pa.int64()).to_pylist())


def require_dates(name: str, task: Task, rows: pa.Table) -> None:
    """Raise `EvaluationError` where no train row has a date."""
    if rows["created_at"].null_count == len(rows):
        raise EvaluationError(
            f"No train row of {task.name} has a date, which the model {name} reads",
            "Choose another model, or import the task with a column for created_at",
        )


def _fit(context: TrainingContext) -> _Fitted:
    task = context.task
    require_type(_NAME, task, ("binary", "multi-class"), "Choose majority")
    require_dates(_NAME, task, context.whole_train)
    context.learning.from_all = True
    return _Fitted(task, LabelsByDate.of(task, context.whole_train))


def _make(name: str, settings: Mapping[str, Any]) -> Model:
    return Model(name, _fit, settled(name, {}, settings), uses_dates=True)


MODELS = (
    Entry(
        _NAME,
        "The most frequent label of the 14 texts of the same project nearest in time: what the "
        "date alone tells, without the text.",
        partial(_make, _NAME),
    ),
)
