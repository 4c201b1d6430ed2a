"""Tasks and predictions for the tests of metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from goldpan.datasets.tasks.task import Label, Task, TaskType
from goldpan.evaluation.metrics.estimate import Scores
from goldpan.evaluation.score import predictions_schema, score
from tests import crosscode_tasks


def make_task(
    type_: TaskType, labels: Sequence[str] = (), builder: str = "", **fields: Any
) -> Task:
    """Return a task of a type; `builder` names the family of its rows."""
    named = tuple(Label(name, "", name) for name in labels)
    task = crosscode_tasks.make_task("made_up", type_, labels=named, **fields)
    return replace(task, source=replace(task.source, builder=builder))


def make_predictions(
    type_: TaskType,
    truths: Sequence[Any],
    answers: Sequence[Any],
    *,
    repos: Sequence[str | None] | None = None,
    scores: Sequence[Sequence[float] | None] | None = None,
) -> pa.Table:
    """Return a predictions table with ids in order."""
    size = len(truths)
    columns = {
        "id": [f"made_up:{number:06}" for number in range(size)],
        "repo": list(repos or [None] * size),
        "document": [None] * size,
        "truth": list(truths),
        "answer": list(answers),
        "scores": list(scores or [None] * size),
        "raw": [None] * size,
    }
    return pa.table(columns, schema=predictions_schema(type_))


def scored(
    task: Task, truths: Sequence[Any], answers: Sequence[Any], *, resamples: int = 0, **columns: Any
) -> Scores:
    """Return the scores of answers; without intervals unless `resamples` are asked for."""
    table = make_predictions(task.type, truths, answers, **columns)
    return score(task, table, resamples=resamples)
