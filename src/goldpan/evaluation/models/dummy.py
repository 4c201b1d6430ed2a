"""Models that read nothing: what any other has to beat."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import pyarrow as pa

from goldpan.core.errors import EvaluationError
from goldpan.datasets.task import target_column
from goldpan.evaluation.model import Answer, Answers, Entry, Model, TrainingContext, settled


@dataclass(frozen=True, slots=True)
class _Constant:
    """Gives every row the same answer; words of NER get one tag each."""

    value: Answer
    scores: tuple[float, ...] | None
    each_word: bool = False

    def answer(self, rows: pa.Table) -> Answers:
        count = len(rows)
        if self.each_word:
            tokens = rows["tokens"].to_pylist()
            return Answers([[str(self.value)] * len(words) for words in tokens])
        scores = None if self.scores is None else [self.scores] * count
        return Answers([self.value] * count, scores)


def _majority(context: TrainingContext) -> _Constant:
    task = context.task
    targets = context.whole_train[target_column(task.type).name].to_pylist()
    context.learning.from_all = True
    match task.type:
        case "binary" | "multi-class":
            counts = Counter(targets)
            shares = tuple(counts[name] / len(targets) for name in task.label_names)
            return _Constant(_commonest(counts), shares)
        case "multi-label":
            counts = Counter(name for names in targets for name in names)
            shares = tuple(counts[name] / len(targets) for name in task.label_names)
            chosen = [
                name for name, share in zip(task.label_names, shares, strict=True) if share >= 0.5
            ]
            return _Constant(chosen, shares)
        case "regression":
            return _Constant(median(targets), None)
        case "ner":
            counts = Counter(tag for tags in targets for tag in tags)
            return _Constant(_commonest(counts), None, each_word=True)
        case "text-generation":
            return _Constant(_commonest(Counter(targets)), None)
        case "mlm":
            raise EvaluationError(
                f"The model majority does not answer {task.name}", "Choose a masked language model"
            )


def _commonest(counts: Counter[str]) -> str:
    """Return the most frequent, of several the first by name, so that runs are alike."""
    return min(counts, key=lambda name: (-counts[name], name))


def _make(name: str, settings: Mapping[str, Any]) -> Model:
    return Model(name, _majority, settled(name, {}, settings))


MODELS = (
    Entry(
        "majority",
        "Always the most frequent answer of train, the median for numbers.",
        partial(_make, "majority"),
    ),
)
