"""Reads stored predictions one label against the rest, for counts, curves and shuffles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from goldpan.evaluation.statistics.curves import Counts
from goldpan.evaluation.statistics.errors import StatisticsError
from goldpan.evaluation.statistics.scores import Floats


def label_counts(predictions: pa.Table, label: str) -> Counts:
    """Return the binary confusion matrix of a label (ECSER, 4.3: one against the rest).

    No answer counts as not having the label.
    """
    truth, answers = (
        _with_label(predictions, "truth", label),
        _with_label(predictions, "answer", label),
    )
    return Counts(
        tp=int((truth & answers).sum()),
        fp=int((~truth & answers).sum()),
        tn=int((~truth & ~answers).sum()),
        fn=int((truth & ~answers).sum()),
    )


def label_scores(
    predictions: pa.Table, labels: Sequence[str], label: str
) -> tuple[list[bool], list[float]] | None:
    """Return for each example whether it has a label, and the score that the model gave to it.

    `labels` are all labels in the task's order. None where any example lacks scores.
    """
    column = predictions["scores"]
    if column.null_count or not len(column):
        return None
    index = list(labels).index(label)
    rows = column.to_pylist()
    if any(len(row) <= index for row in rows):
        raise StatisticsError(
            f"Predictions have fewer scores than the task has labels ({len(labels)})",
            "Run the model again",
        )
    return _with_label(predictions, "truth", label).tolist(), [float(row[index]) for row in rows]


def answer_counts(predictions: pa.Table, labels: Sequence[str]) -> Floats:
    """Return what each example adds to true and false positives and false negatives.

    Examples x (3 x labels), a block a label, as `randomization_test` and `macro_f1` take them.
    Rows of two models match only where both tables are sorted by `id`.
    """
    counts = np.zeros((predictions.num_rows, len(labels), 3))
    for index, label in enumerate(labels):
        truth = _with_label(predictions, "truth", label)
        answers = _with_label(predictions, "answer", label)
        counts[:, index, 0] = truth & answers
        counts[:, index, 1] = ~truth & answers
        counts[:, index, 2] = truth & ~answers
    return counts.reshape(predictions.num_rows, -1)


def _with_label(predictions: pa.Table, column: str, label: str) -> NDArray[np.bool_]:
    """Return which rows have a label, be it their only one or one of several."""
    return np.array(
        [
            value is not None and (value == label if isinstance(value, str) else label in value)
            for value in predictions[column].to_pylist()
        ],
        dtype=np.bool_,
    )
