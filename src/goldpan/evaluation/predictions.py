"""What a model answered, a row an example: metrics are computed from this table alone."""

from __future__ import annotations

import pyarrow as pa

from goldpan.datasets.task import TaskType

_TEXT = pa.string()
_WORDS = pa.list_(pa.field("item", pa.string(), nullable=False))
_NUMBERS = pa.list_(pa.field("item", pa.float64(), nullable=False))

_ANSWERS: dict[TaskType, pa.DataType] = {
    "binary": _TEXT,
    "multi-class": _TEXT,
    "multi-label": _WORDS,
    "regression": pa.float64(),
    "ner": _WORDS,
    "mlm": _WORDS,
    "text-generation": _TEXT,
}


def predictions_schema(task_type: TaskType) -> pa.Schema:
    """Return the columns of a run's predictions.

    `truth` and `answer` have the type of the task's target (words that were masked for `mlm`);
    `answer` is null where a model gave none that is valid, which counts as wrong. `scores` hold
    one number a label, in the task's order, where the model gives them: higher is more likely.
    """
    answer = _ANSWERS[task_type]
    return pa.schema(
        [
            pa.field("id", _TEXT, nullable=False),
            pa.field("repo", _TEXT),
            pa.field("document", _TEXT),
            pa.field("truth", answer, nullable=False),
            pa.field("answer", answer),
            pa.field("scores", _NUMBERS),
            pa.field("raw", _TEXT),
        ]
    )
