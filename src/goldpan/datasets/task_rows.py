"""The rows of a task: one shape for every type, so that models and metrics need no other.

A task's dataset is written by `write_dataset` as the family that `task_family` makes.
"""

from __future__ import annotations

import pyarrow as pa

from goldpan.datasets.family import Column, Family
from goldpan.datasets.task import CLASSIFICATION, Task, TaskType

_TEXT = pa.string()
_WORDS = pa.list_(pa.field("item", pa.string(), nullable=False))
_SPANS = pa.list_(
    pa.field("item", pa.struct([("start", pa.int32()), ("end", pa.int32())]), nullable=False)
)

_FACTS = (
    Column("id", _TEXT, "The stable name of the row, as TASK:SOURCE."),
    Column("repo", _TEXT, "The project that the text is from, where the source tells."),
    Column("license", _TEXT, "The license of the source, as an SPDX identifier."),
    Column("created_at", pa.timestamp("us", tz="UTC"), "When the text was written, if known."),
    Column("document", _TEXT, "The larger text that it is from, such as a class or a thread."),
    Column("position", pa.int32(), "Its place in the document, from 0."),
    Column("partition", _TEXT, "The official split of the source: train, test, or null."),
    Column("source", _TEXT, "The file and row that it was read from."),
)
_INPUT = Column("text", _TEXT, "What the model is given.", holds="prose")
_TOKENS = Column("tokens", _WORDS, "The words that the model is given.", holds="prose")
_TARGETS: dict[TaskType, Column] = {
    "binary": Column("label", _TEXT, "The right label."),
    "multi-class": Column("label", _TEXT, "The right label."),
    "multi-label": Column("labels", _WORDS, "The right labels, in the task's order."),
    "regression": Column("value", pa.float64(), "The right number."),
    "ner": Column("tags", _WORDS, "The tag of each word (BIO)."),
    "mlm": Column(
        "masks",
        _SPANS,
        "The words to mask, as character spans of the text.",
        parts={
            "start": "Where the word starts, in characters from 0.",
            "end": "Where it ends; the character there is not part of it.",
        },
    ),
    "text-generation": Column("target", _TEXT, "The right answer.", holds="prose"),
}


def target_column(task_type: TaskType) -> Column:
    """Return the column that holds what a model should answer."""
    return _TARGETS[task_type]


def input_column(task_type: TaskType) -> Column:
    """Return the column that a model is given: `tokens` for NER, else `text`."""
    return _TOKENS if task_type == "ner" else _INPUT


def task_family(task: Task) -> Family:
    """Return the kind of dataset that holds a task's rows."""
    input_field, target = input_column(task.type), target_column(task.type)
    return Family(
        name=task.name,
        title=task.title,
        task=task.definition,
        source=task.source.title,
        citation=task.source.citation,
        columns=(*_FACTS, input_field, target),
        order=("id",),
        subject=("id",),
        inputs=(input_field.name,),
        target=target.name,
        task_categories=(_CATEGORIES[task.type],),
        tags=task.suites,
        limits=(task.source.note,) if task.source.note else (),
        stratum=target.name if task.type in CLASSIFICATION else "",
        partition="partition",
        origin=task.source.title,
    )


_CATEGORIES: dict[TaskType, str] = {
    "binary": "text-classification",
    "multi-class": "text-classification",
    "multi-label": "text-classification",
    "regression": "text-scoring",
    "ner": "token-classification",
    "mlm": "fill-mask",
    "text-generation": "text-generation",
}
