"""One answer a text: labels and numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from goldpan.datasets.task import Task, target_column
from goldpan.evaluation.extras import load
from goldpan.evaluation.finetune.heads import (
    Asker,
    Batch,
    Example,
    Tensor,
    ask_in_batches,
    cut_texts,
    padded,
)
from goldpan.evaluation.finetune.tokenizing import Words, stream
from goldpan.evaluation.model import Answers


@dataclass(frozen=True, slots=True)
class Scale:
    """How numbers are learned: as they are, or as standardized logarithms."""

    mean: float = 0.0
    spread: float = 1.0
    low: float = -math.inf
    high: float = math.inf
    logarithm: bool = False

    def inner(self, value: float) -> float:
        """Return what the model is to say for a number."""
        return (math.log1p(value) - self.mean) / self.spread if self.logarithm else value

    def outer(self, value: float) -> float:
        """Return the number for what the model said, between the least and largest of train."""
        if not self.logarithm or not math.isfinite(value):
            return value
        inside = min(
            max(value * self.spread + self.mean, math.log1p(self.low)), math.log1p(self.high)
        )
        return math.expm1(inside)


def scale_of(values: Sequence[float], *, logarithm: bool) -> Scale:
    """Return the scale of train; values at or below -1 have no logarithm and stay as they are."""
    if not logarithm or min(values) <= -1:
        return Scale()
    logs = [math.log1p(value) for value in values]
    mean = math.fsum(logs) / len(logs)
    spread = math.sqrt(math.fsum((log - mean) ** 2 for log in logs) / len(logs))
    return Scale(mean, spread or 1.0, min(values), max(values), logarithm=True)


@dataclass(frozen=True, slots=True)
class SequenceHead:
    """A linear layer on the pooled state: the first token's, the last's or the end token's."""

    task: Task
    scale: Scale
    auto: str = "AutoModelForSequenceClassification"

    @property
    def options(self) -> Mapping[str, Any]:
        """The number of outputs."""
        return {"num_labels": len(self.task.labels) or 1}

    def examples(self, words: Words, rows: pa.Table, *, learn: bool) -> list[Example]:
        """Return a row an example; longer texts lose their end."""
        targets: list[Any] = [None] * len(rows)
        if learn:
            targets = rows[target_column(self.task.type).name].to_pylist()
        ends = words.tokenizer.eos_token_id if words.after else None
        return [
            Example(
                row,
                # Heads of encoder-decoders want as many end tokens in every row.
                words.frame([id_ for id_ in text.ids if id_ != ends]),
                self._target(target) if learn else (),
                cut=len(text.ids) > words.room,
            )
            for row, (text, target) in enumerate(
                zip(words.texts(stream(rows["text"])), targets, strict=True)
            )
        ]

    def _target(self, target: Any) -> Sequence[float]:
        match self.task.type:
            case "regression":
                return (self.scale.inner(target),)
            case "multi-label":
                return tuple(float(name in target) for name in self.task.label_names)
            case _:
                return (self.task.label_names.index(target),)

    def batch(self, words: Words, examples: Sequence[Example], salt: str) -> Batch:
        """Return examples as tensors; nothing is drawn."""
        torch = load("torch")
        inputs = padded(words, [example.ids for example in examples])
        single = self.task.type in ("binary", "multi-class")
        kind = torch.long if single else torch.float32
        targets = torch.tensor([example.target for example in examples], dtype=kind)
        tokens = sum(example.length for example in examples)
        return Batch(inputs, targets[:, 0] if single else targets, len(examples), tokens)

    def loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Cross entropy; binary for each label of several; squares for numbers."""
        losses = load("torch.nn.functional")
        match self.task.type:
            case "regression":
                return losses.mse_loss(logits.float(), targets, reduction="sum")
            case "multi-label":
                value = losses.binary_cross_entropy_with_logits(
                    logits.float(), targets, reduction="none"
                )
                return value.mean(-1).sum()
            case _:
                return losses.cross_entropy(logits.float(), targets, reduction="sum")

    def answers(self, asker: Asker, words: Words, rows: pa.Table) -> Answers:
        """Choose the likeliest label, all of 0.5 and more for multi-label tasks, or a number."""
        examples = self.examples(words, rows, learn=False)

        def ask(batch: Sequence[Example]) -> Sequence[list[float]]:
            inputs = padded(words, [example.ids for example in batch])
            logits = asker.logits(asker.module, inputs).float()
            match self.task.type:
                case "regression":
                    outputs = logits
                case "multi-label":
                    outputs = logits.sigmoid()
                case _:
                    outputs = logits.softmax(-1)
            scores: list[list[float]] = outputs.cpu().double().tolist()
            return scores

        replies: list[list[float]] = ask_in_batches(asker, examples, ask)
        notes = cut_texts(examples)
        names = self.task.label_names
        match self.task.type:
            case "regression":
                return Answers([self.scale.outer(values[0]) for values in replies], notes=notes)
            case "multi-label":
                chosen = [
                    [name for name, score in zip(names, values, strict=True) if score >= 0.5]
                    for values in replies
                ]
                return Answers(chosen, replies, notes=notes)
            case _:
                return Answers(
                    [names[values.index(max(values))] for values in replies], replies, notes=notes
                )
