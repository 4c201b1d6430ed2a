"""A tag a word: named entities. Words are aligned with the tokens that a model makes of them.

A word's tag is learned at and read from its first token (SELU, section IV-B). Long rows are cut
into windows, so that every word gets an answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import pyarrow as pa

from goldpan.datasets.task import Task
from goldpan.evaluation.extras import load
from goldpan.evaluation.finetune.heads import (
    NOT_ASKED,
    Asker,
    Batch,
    Example,
    Tensor,
    aligned,
    ask_in_batches,
    padded,
)
from goldpan.evaluation.finetune.tokenizing import Span, Words, covering, windows
from goldpan.evaluation.model import Answers

_NONE = "O"


def word_spans(tokens: Sequence[str]) -> list[Span]:
    """Return where words stand in the text that a space between them makes."""
    starts = accumulate((len(word) + 1 for word in tokens), initial=0)
    return [(start, start + len(word)) for start, word in zip(starts, tokens, strict=False)]


@dataclass(frozen=True, slots=True)
class TaggingHead:
    """A linear layer on the state of every token."""

    task: Task
    auto: str = "AutoModelForTokenClassification"

    @property
    def options(self) -> Mapping[str, Any]:
        """The number of tags."""
        return {"num_labels": len(self.task.labels)}

    def examples(self, words: Words, rows: pa.Table, *, learn: bool) -> list[Example]:
        """Return the windows of all rows; a target for each token of a window."""
        sentences = rows["tokens"].to_pylist()
        tags = rows["tags"].to_pylist() if learn else [[]] * len(rows)
        numbers = {name: at for at, name in enumerate(self.task.label_names)}
        built = []
        texts = words.texts(" ".join(tokens) for tokens in sentences)
        for row, (text, tokens) in enumerate(zip(texts, sentences, strict=True)):
            spans = covering(text.offsets, word_spans(tokens))
            for window in windows(words.room, len(text.ids)):
                shift = len(words.before) - window.start
                places = [
                    (word, first + shift, first + shift + 1)
                    for word, (first, after) in enumerate(spans)
                    if after > first and window.start <= first < window.stop
                ]
                ids = words.frame(text.ids[window])
                target = [NOT_ASKED] * len(ids) if learn else []
                for word, position, _ in places if learn else ():
                    target[position] = numbers[tags[row][word]]
                built.append(Example(row, ids, target, places))
        return built

    def batch(self, words: Words, examples: Sequence[Example], salt: str) -> Batch:
        """Return examples as tensors; nothing is drawn."""
        targets = aligned(words, [example.target for example in examples])
        tokens = sum(example.length for example in examples)
        inputs = padded(words, [example.ids for example in examples])
        return Batch(inputs, targets, int((targets != NOT_ASKED).sum()), tokens)

    def loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Cross entropy over the first tokens of words."""
        return cross_entropy(logits, targets)

    def answers(self, asker: Asker, words: Words, rows: pa.Table) -> Answers:
        """Choose a tag for each word; ``O`` for one of which the tokenizer makes nothing."""
        examples = self.examples(words, rows, learn=False)

        def ask(batch: Sequence[Example]) -> Sequence[list[int]]:
            inputs = padded(words, [example.ids for example in batch])
            best = asker.logits(asker.module, inputs).argmax(-1).cpu()
            inner = inputs["attention_mask"].bool()
            return [row[mask].tolist() for row, mask in zip(best, inner, strict=True)]

        tokens = rows["tokens"].to_pylist()
        names = self.task.label_names
        values = [[_NONE] * len(token) for token in tokens]
        for example, tags in zip(examples, ask_in_batches(asker, examples, ask), strict=True):
            for word, index, _ in example.words:
                values[example.row][word] = names[tags[index]]
        return Answers(values)


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the sum over the tokens that are asked for; only theirs become float32."""
    is_asked = targets != NOT_ASKED
    losses = load("torch.nn.functional")
    return losses.cross_entropy(logits[is_asked].float(), targets[is_asked], reduction="sum")
