"""What a model answered, a row an example: metrics are computed from this table alone."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa

from goldpan.datasets.task import Task, TaskType
from goldpan.datasets.task_rows import target_column
from goldpan.evaluation.model import Answers

_SHOWN, _LONGEST = 20, 500
"""How many invalid answers a result shows, and how many characters of each."""
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


def predictions_of(task: Task, rows: pa.Table, answers: Answers | None) -> pa.Table:
    """Return a row an answer, sorted by id; no row without answers."""
    if answers is None:
        return predictions_schema(task.type).empty_table()
    if len(answers.values) != len(rows):
        raise ValueError(f"{len(answers.values)} answers to {len(rows)} rows of {task.name}")
    nothing = [None] * len(rows)
    columns = {
        "id": rows["id"],
        "repo": rows["repo"],
        "document": rows["document"],
        "truth": _truth(task, rows),
        "answer": list(answers.values),
        "scores": nothing
        if answers.scores is None
        else [list(row_scores) for row_scores in answers.scores],
        "raw": nothing if answers.raw is None else list(answers.raw),
    }
    return pa.table(columns, schema=predictions_schema(task.type)).sort_by("id")


def _truth(task: Task, rows: pa.Table) -> Any:
    target = rows[target_column(task.type).name]
    if task.type != "mlm":
        return target
    texts = rows["text"].to_pylist()
    return [
        [text[span["start"] : span["end"]] for span in spans]
        for text, spans in zip(texts, target.to_pylist(), strict=True)
    ]


def invalid_answers(predictions: pa.Table) -> list[dict[str, Any]]:
    """Return the commonest answers that are not valid, as the model gave them."""
    raw = predictions.filter(predictions["answer"].is_null())["raw"].to_pylist()
    counts = Counter((text or "")[:_LONGEST] for text in raw)
    common = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))[:_SHOWN]
    return [{"raw": text, "count": count} for text, count in common]
