"""How good a model is on the validation split, by the metric that ranks its task."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from goldpan.datasets.task_rows import target_column
from goldpan.evaluation.finetune.job import Job
from goldpan.evaluation.finetune.loading import Loaded
from goldpan.evaluation.finetune.runtime import ProcessGroup
from goldpan.evaluation.model import Answer
from goldpan.evaluation.predictions import predictions_schema
from goldpan.evaluation.score import score


def validate(
    job: Job, loaded: Loaded, group: ProcessGroup, batch: int
) -> tuple[float | None, float]:
    """Return the score, and the same such that higher is better; processes share the rows."""
    assert job.validation is not None
    mine = job.validation.take(list(range(group.rank, len(job.validation), group.world)))
    values: Sequence[Answer] = []
    if len(mine):
        values = loaded.head.answers(loaded.asker(batch), loaded.words, mine).values
    shares = group.gather(list(values))
    every = [shares[row % group.world][row // group.world] for row in range(len(job.validation))]
    metric = score(job.task, _table(job, job.validation, every), resamples=0).metric(
        job.task.metric
    )
    if metric.value is None:
        return None, -math.inf
    return metric.value, metric.value if metric.higher_is_better else -metric.value


def _table(job: Job, rows: pa.Table, values: Sequence[Answer]) -> pa.Table:
    nothing: list[Any] = [None] * len(rows)
    columns = {
        "id": rows["id"],
        "repo": rows["repo"],
        "document": rows["document"],
        "truth": _truth(job, rows),
        "answer": list(values),
        "scores": nothing,
        "raw": nothing,
    }
    return pa.table(columns, schema=predictions_schema(job.task.type))


def _truth(job: Job, rows: pa.Table) -> Any:
    target = rows[target_column(job.task.type).name]
    if job.task.type != "mlm":
        return target
    return [
        [text[span["start"] : span["end"]] for span in spans]
        for text, spans in zip(rows["text"].to_pylist(), target.to_pylist(), strict=True)
    ]
