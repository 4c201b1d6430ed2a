"""Heads that answer words: tags of named entities, and words that are masked.

A word's tag is learned at and read from its first token (SELU, section IV-B). Long rows are cut
into windows, so that every word gets an answer.

In training, each is masked with a probability of one half, anew each epoch. For answers, half of
them are masked at first and then the other half, so that each is asked for once, among as many
others as in training.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

import pyarrow as pa

from goldpan.core.errors import EvaluationError
from goldpan.evaluation.finetune.heads import (
    NOT_ASKED,
    LoadedModel,
    ModelTokenizer,
    Span,
    TaskHead,
    Tensor,
    TokenizedExample,
    aligned,
    covering,
    padded,
    predict_in_batches,
    stream,
    windows,
)
from goldpan.evaluation.model import Answers

_NONE = "O"


def word_spans(tokens: Sequence[str]) -> list[Span]:
    """Return where words stand in the text that a space between them makes."""
    starts = accumulate((len(word) + 1 for word in tokens), initial=0)
    return [(start, start + len(word)) for start, word in zip(starts, tokens, strict=False)]


def word_windows(
    tokenizer: ModelTokenizer,
    ids: Sequence[int],
    spans: Sequence[Span],
    *,
    whole: Sequence[Span] = (),
) -> Iterator[tuple[Sequence[int], list[tuple[int, int, int]]]]:
    """Yield the windows of a text with their frame, and the words that begin in each.

    A word is its number, its first token in the window and the one after its last there. `whole`
    are words that windows do not cut.
    """
    for window in windows(tokenizer.room, len(ids), whole):
        shift = len(tokenizer.before) - window.start
        yield (
            tokenizer.frame(ids[window]),
            [
                (word, first + shift, min(after, window.stop) + shift)
                for word, (first, after) in enumerate(spans)
                if after > first and window.start <= first < window.stop
            ],
        )


@dataclass(frozen=True, slots=True)
class TaggingHead(TaskHead):
    """A linear layer on the state of every token."""

    auto = "TokenClassification"
    labeled = True

    def examples(self, rows: pa.Table, *, learn: bool) -> list[TokenizedExample]:
        """Return the windows of all rows; a target for each token of a window."""
        sentences = rows["tokens"].to_pylist()
        tags = rows["tags"].to_pylist() if learn else [[]] * len(rows)
        numbers = {name: at for at, name in enumerate(self.task.label_names)}
        built = []
        texts = self.tokenizer.texts(" ".join(tokens) for tokens in sentences)
        for row, (text, tokens) in enumerate(zip(texts, sentences, strict=True)):
            spans = covering(text.offsets, word_spans(tokens))
            for ids, places in word_windows(self.tokenizer, text.ids, spans):
                target = [NOT_ASKED] * len(ids) if learn else []
                for word, position, _ in places if learn else ():
                    target[position] = numbers[tags[row][word]]
                built.append(TokenizedExample(row, ids, target, places))
        return built

    def batch(self, examples: Sequence[TokenizedExample], salt: str) -> dict[str, Tensor]:
        """Return examples as tensors; nothing is drawn."""
        ids = [example.ids for example in examples]
        targets = [example.target for example in examples]
        return {**padded(self.tokenizer, ids), "labels": aligned(self.tokenizer, targets)}

    def answers(self, model: LoadedModel, rows: pa.Table, batch: int) -> Answers:
        """Choose a tag for each word; ``O`` for one of which the tokenizer makes nothing."""
        examples = self.examples(rows, learn=False)

        def ask(part: Sequence[TokenizedExample]) -> Sequence[list[int]]:
            return likeliest(model, self.tokenizer, [example.ids for example in part])

        names = self.task.label_names
        values = [[_NONE] * len(tokens) for tokens in rows["tokens"].to_pylist()]
        answered = predict_in_batches(model, batch, examples, ask)
        for example, tags in zip(examples, answered, strict=True):
            for word, index, _ in example.words:
                values[example.row][word] = names[tags[index]]
        return Answers(values)


def likeliest(
    model: LoadedModel, tokenizer: ModelTokenizer, rows: Sequence[Sequence[int]]
) -> list[list[int]]:
    """Return the class or token that is likeliest at each token of each row."""
    inputs = padded(tokenizer, rows)
    best = model.call(model.module, inputs).logits.argmax(-1).cpu()
    inner = inputs["attention_mask"].bool()
    return [row[mask].tolist() for row, mask in zip(best, inner, strict=True)]


_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class MaskingHead(TaskHead):
    """The head that encoders are pre-trained with."""

    seed: int
    auto = "MaskedLM"

    def examples(self, rows: pa.Table, *, learn: bool) -> list[TokenizedExample]:
        """Return the windows of all rows that hold a word to mask."""
        if self.tokenizer.base.mask_token_id is None:
            raise EvaluationError(
                f"The tokenizer has no mask token, so it cannot answer {self.task.name}",
                "Choose an encoder such as BERT",
            )
        built = []
        spans = _spans(rows)
        for row, text in enumerate(self.tokenizer.texts(stream(rows["text"]))):
            covered = covering(text.offsets, spans[row])
            for ids, places in word_windows(self.tokenizer, text.ids, covered, whole=covered):
                if places:
                    built.append(TokenizedExample(row, ids, (), places))
        return built

    def batch(self, examples: Sequence[TokenizedExample], salt: str) -> dict[str, Tensor]:
        """Return examples with half of their words masked; which follows from `salt`."""
        masks = [(example, _drawn(example, salt)) for example in examples]
        targets = aligned(self.tokenizer, [_targets(example, hidden) for example, hidden in masks])
        masked = [self._masked(example, hidden) for example, hidden in masks]
        return {**padded(self.tokenizer, masked), "labels": targets}

    def _masked(self, example: TokenizedExample, hidden: Sequence[bool]) -> list[int]:
        ids = list(example.ids)
        for (_, start, stop), yes in zip(example.words, hidden, strict=True):
            if yes:
                ids[start:stop] = [self.tokenizer.base.mask_token_id] * (stop - start)
        return ids

    def answers(self, model: LoadedModel, rows: pa.Table, batch: int) -> Answers:
        """Return a word for each span; the word itself where all its tokens were found.

        A word of several tokens is masked by as many. Words are compared by their tokens, as a
        model without capital letters cannot tell more.
        """
        examples = self.examples(rows, learn=False)
        texts, spans = rows["text"].to_pylist(), _spans(rows)
        values = [[""] * len(span) for span in spans]
        for first_half in (True, False):

            def hidden(example: TokenizedExample, first_half: bool = first_half) -> list[bool]:
                halves = _drawn(example, f"{self.seed} answers")
                return [half == first_half for half in halves]

            def ask(part: Sequence[TokenizedExample]) -> Sequence[list[int]]:
                rows = [self._masked(example, hidden(example)) for example in part]
                return likeliest(model, self.tokenizer, rows)

            answered = predict_in_batches(model, batch, examples, ask)
            for example, words_found in zip(examples, answered, strict=True):
                for (word, start, stop), yes in zip(example.words, hidden(example), strict=True):
                    if yes:
                        begin, end = spans[example.row][word]
                        right = list(example.ids[start:stop]) == words_found[start:stop]
                        values[example.row][word] = (
                            texts[example.row][begin:end]
                            if right
                            else self.tokenizer.decode(words_found[start:stop])
                        )
        return Answers(values)


def _spans(rows: pa.Table) -> list[list[tuple[int, int]]]:
    return [[(span["start"], span["end"]) for span in spans] for spans in rows["masks"].to_pylist()]


def _drawn(example: TokenizedExample, salt: str) -> list[bool]:
    """Draw for each word of an example whether it is hidden; the same for the same salt."""
    draw = random.Random(f"{salt} {example.row} {example.words[0][0]}")  # noqa: S311
    return [draw.random() < _SHARE for _ in example.words]


def _targets(example: TokenizedExample, hidden: Sequence[bool]) -> list[int]:
    targets = [NOT_ASKED] * len(example.ids)
    for (_, start, stop), yes in zip(example.words, hidden, strict=True):
        if yes:
            targets[start:stop] = example.ids[start:stop]
    return targets
