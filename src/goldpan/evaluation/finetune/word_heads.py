"""Heads that answer words: tags of named entities, and words that are masked.

Long rows are cut into windows, so that every word gets an answer.
"""

from __future__ import annotations

import math
import random
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import pyarrow as pa

from goldpan.core.errors import EvaluationError
from goldpan.evaluation.finetune.heads import (
    NOT_ASKED,
    LoadedModel,
    TaskHead,
    Tensor,
    TokenizedExample,
    decoded,
    encodings,
    model_inputs,
    stream,
    token_labels,
)
from goldpan.evaluation.model import Answers

_NO_TAG = "O"
_SHARE = 0.5
"""The probability that a word is masked in training."""
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class TaggingHead(TaskHead):
    """A linear layer on the state of every token.

    A word's tag is learned at and read from its first token (SELU, section IV-B).
    """

    auto = "TokenClassification"
    labeled = True

    def examples(self, rows: pa.Table, *, learn: bool) -> list[TokenizedExample]:
        """Return the windows of all rows; a target for each token of a window."""
        sentences = rows["tokens"].to_pylist()
        tags = rows["tags"].to_pylist() if learn else []
        numbers = {name: at for at, name in enumerate(self.task.label_names)}
        texts = (" ".join(tokens) for tokens in sentences)
        built = []
        for window in _windows(self.tokenizer, texts, map(_word_spans, sentences)):
            target = [NOT_ASKED] * len(window.ids) if learn else []
            for word, first, _ in window.words if learn else ():
                target[first] = numbers[tags[window.row][word]]
            built.append(replace(window, target=target))
        return built

    def batch(self, examples: Sequence[TokenizedExample], salt: str) -> dict[str, Tensor]:
        """Return examples as tensors; nothing is drawn."""
        inputs = model_inputs(self.tokenizer, (example.ids for example in examples))
        return {**inputs, "labels": token_labels(example.target for example in examples)}

    def answers(self, model: LoadedModel, rows: pa.Table, batch: int) -> Answers:
        """Choose a tag for each word; ``O`` for one of which the tokenizer makes nothing."""
        examples = self.examples(rows, learn=False)
        names = self.task.label_names
        values = [[_NO_TAG] * len(tokens) for tokens in rows["tokens"].to_pylist()]
        answered = model.replies(
            examples, batch, lambda part: _likeliest(model, [example.ids for example in part])
        )
        for example, tags in zip(examples, answered, strict=True):
            for word, first, _ in example.words:
                values[example.row][word] = names[tags[first]]
        return Answers(values)


def _word_spans(tokens: Sequence[str]) -> list[Span]:
    """Return where words stand in the text that a space between them makes."""
    starts = accumulate((len(word) + 1 for word in tokens), initial=0)
    return [(start, start + len(word)) for start, word in zip(starts, tokens, strict=False)]


def _windows(
    tokenizer: Any, texts: Iterable[str], spans: Iterable[Sequence[Span]]
) -> Iterator[TokenizedExample]:
    """Yield the windows of texts that have words, which spans of characters name.

    Windows overlap, so that most words are whole in one, and belong to the first such; one that is
    longer than the overlap belongs to the last in which it begins, with the tokens that are there.
    """
    overlap = tokenizer.model_max_length // 8
    cut = encodings(tokenizer, texts, stride=overlap)
    for row, (encoding, places) in enumerate(zip(cut, spans, strict=True)):
        left = dict(enumerate(places))
        parts = [(window, _inner(window)) for window in (encoding, *encoding.overflowing)]
        begins = [window.offsets[inner[0]][0] for window, inner in parts[1:]]
        for (window, inner), low, following in zip(
            parts, [0, *begins], [*begins, math.inf], strict=True
        ):
            if not inner:
                continue
            starts, ends = zip(*(window.offsets[at] for at in inner), strict=True)
            high = ends[-1] if following < math.inf else math.inf
            words = []
            for word, (start, end) in list(left.items()):
                first, after = bisect_right(ends, start), bisect_left(starts, end)
                if first < after and low <= start and (end <= high or start < following):
                    words.append((word, inner[first], inner[after - 1] + 1))
                    del left[word]
            if words:
                yield TokenizedExample(row, array("i", window.ids), words=words)


def _inner(window: Any) -> list[int]:
    """Return the places of a window's tokens that are from the text."""
    return [at for at, special in enumerate(window.special_tokens_mask) if not special]


def _likeliest(model: LoadedModel, rows: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the class or token that is likeliest at each token of each row."""
    inputs = model_inputs(model.head.tokenizer, rows)
    best = model.call(model.module, inputs).logits.argmax(-1).cpu().tolist()
    return [classes[: len(row)] for classes, row in zip(best, rows, strict=True)]


@dataclass(frozen=True, slots=True)
class MaskingHead(TaskHead):
    """The head that encoders are pre-trained with.

    In training, each word is masked with a probability of one half, anew each epoch. For answers,
    half of them are masked at first and then the other half, so that each is asked for once, among
    as many others as in training.
    """

    seed: int
    auto = "MaskedLM"

    def examples(self, rows: pa.Table, *, learn: bool) -> list[TokenizedExample]:
        """Return the windows of all rows that hold a word to mask."""
        if self.tokenizer.mask_token_id is None:
            raise EvaluationError(
                f"The tokenizer has no mask token, so it cannot answer {self.task.name}",
                "Choose an encoder such as BERT",
            )
        return list(_windows(self.tokenizer, stream(rows["text"]), _mask_spans(rows)))

    def batch(self, examples: Sequence[TokenizedExample], salt: str) -> dict[str, Tensor]:
        """Return examples with half of their words masked; which follows from `salt`."""
        masked, targets = [], []
        for example in examples:
            ids = self._masked(example, _drawn(example, salt))
            masked.append(ids)
            pairs = zip(example.ids, ids, strict=True)
            targets.append([NOT_ASKED if right == now else right for right, now in pairs])
        return {**model_inputs(self.tokenizer, masked), "labels": token_labels(targets)}

    def _masked(self, example: TokenizedExample, hidden: Sequence[bool]) -> list[int]:
        ids = list(example.ids)
        for (_, start, stop), yes in zip(example.words, hidden, strict=True):
            if yes:
                ids[start:stop] = [self.tokenizer.mask_token_id] * (stop - start)
        return ids

    def answers(self, model: LoadedModel, rows: pa.Table, batch: int) -> Answers:
        """Return a word for each span; the word itself where all its tokens were found.

        A word of several tokens is masked by as many. Words are compared by their tokens, as a
        model without capital letters cannot tell more.
        """
        examples = self.examples(rows, learn=False)
        texts, spans = rows["text"].to_pylist(), _mask_spans(rows)
        values = [[""] * len(span) for span in spans]
        for first_half in (True, False):

            def hidden(example: TokenizedExample, half: bool = first_half) -> list[bool]:
                return [drawn == half for drawn in _drawn(example, f"{self.seed} answers")]

            def ask(part: Sequence[TokenizedExample]) -> Sequence[list[int]]:
                return _likeliest(
                    model, [self._masked(example, hidden(example)) for example in part]
                )

            for example, found in zip(examples, model.replies(examples, batch, ask), strict=True):
                for (word, start, stop), yes in zip(example.words, hidden(example), strict=True):
                    if yes:
                        begin, end = spans[example.row][word]
                        right = list(example.ids[start:stop]) == found[start:stop]
                        values[example.row][word] = (
                            texts[example.row][begin:end]
                            if right
                            else decoded(self.tokenizer, found[start:stop])
                        )
        return Answers(values)


def _mask_spans(rows: pa.Table) -> list[list[Span]]:
    return [[(span["start"], span["end"]) for span in spans] for spans in rows["masks"].to_pylist()]


def _drawn(example: TokenizedExample, salt: str) -> list[bool]:
    """Draw for each word of an example whether it is hidden; the same for the same salt."""
    draw = random.Random(f"{salt} {example.row} {example.words[0][0]}")  # noqa: S311
    return [draw.random() < _SHARE for _ in example.words]
