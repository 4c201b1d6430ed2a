"""The shortcuts of CrossCodeBench (section IV-B1): a model that is no better learned nothing.

Copy Ex-output answers with the output of one of the task's own examples, drawn for each row;
Copy Ins-input answers with the input of the row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from goldpan.core.errors import EvaluationError
from goldpan.datasets.hash_sampling import draw_number
from goldpan.datasets.task import CLASSIFICATION
from goldpan.datasets.wording import Wording, WordingError, read_texts, wording_of
from goldpan.evaluation.model import Answer, Answers, Entry, Model, TrainingContext, settled
from goldpan.evaluation.models.checks import require_type

_Copy = Callable[[TrainingContext, Mapping[str, Any]], str]
"""Returns what is copied for a row."""


@dataclass(frozen=True, slots=True)
class _Copier:
    context: TrainingContext
    copy: _Copy

    def answer(self, rows: pa.Table) -> Answers:
        wording = wording_of(self.context.task)
        raw = [
            self.copy(self.context, row)
            for batch in rows.select(["id", "text"]).to_batches(max_chunksize=256)
            for row in batch.to_pylist()
        ]
        return Answers([_value(wording, text) for text in raw], raw=raw)


def _value(wording: Wording, text: str) -> Answer:
    """Return what a copied text says: of classes, a label only where it is just its text."""
    try:
        value: Answer = read_texts(wording, "", text)[1]
    except WordingError:
        return None
    return value


def _example(context: TrainingContext, row: Mapping[str, Any]) -> str:
    examples = context.task.prompt.examples
    number = draw_number(context.seed, context.task.name, row["id"], "shortcut")
    return examples[number % len(examples)][1]


def _input(_: TrainingContext, row: Mapping[str, Any]) -> str:
    return str(row["text"])


def _fit(name: str, copy: _Copy, context: TrainingContext) -> _Copier:
    task = context.task
    require_type(name, task, (*CLASSIFICATION, "text-generation"), "Choose majority")
    if copy is _example and not task.prompt.examples:
        raise EvaluationError(f"{task.name} has no examples", "Add them to its file")
    return _Copier(context, copy)


def _make(name: str, copy: _Copy, settings: Mapping[str, Any]) -> Model:
    return Model(
        name,
        partial(_fit, name, copy),
        settled(name, {}, settings),
        needs_train=False,
    )


MODELS = (
    Entry(
        "copy-ex-output",
        "Always the output of one of the task's own examples (CrossCodeBench).",
        partial(_make, "copy-ex-output", _example),
    ),
    Entry(
        "copy-ins-input",
        "Always the input itself (CrossCodeBench).",
        partial(_make, "copy-ins-input", _input),
    ),
)
