"""Heads that answer a whole text: labels, a number, or a text."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from goldpan.datasets.tasks.task import target_column
from goldpan.evaluation.finetune.heads import (
    NOT_ASKED,
    LoadedModel,
    TaskHead,
    Tensor,
    TokenizedExample,
    cross_entropy,
    cut_texts,
    decoded,
    encodings,
    model_inputs,
    stream,
    token_labels,
)
from goldpan.evaluation.model import Answers, label_answers, load

_CUE = "\n\nANSWER:\n"
"""Cue after which a decoder answers."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How numbers are learned: as they are, or as standardized logarithms."""

    mean: float = 0.0
    spread: float = 1.0
    low: float = -math.inf
    high: float = math.inf
    logarithm: bool = False

    def inner(self, value: float) -> float:
        """Return the output that the model learns for a number."""
        return (math.log1p(value) - self.mean) / self.spread if self.logarithm else value

    def outer(self, value: float) -> float:
        """Return the number of an output, between the least and largest of train."""
        if not self.logarithm or not math.isfinite(value):
            return value
        inside = value * self.spread + self.mean
        return math.expm1(min(max(inside, math.log1p(self.low)), math.log1p(self.high)))


def scale_of(values: Sequence[float], *, logarithm: bool) -> Scale:
    """Return the scale of train; values at or below -1 have no logarithm and stay as they are."""
    if not logarithm or min(values) <= -1:
        return Scale()
    logs = [math.log1p(value) for value in values]
    mean = math.fsum(logs) / len(logs)
    spread = math.sqrt(math.fsum((log - mean) ** 2 for log in logs) / len(logs))
    return Scale(mean, spread or 1.0, min(values), max(values), logarithm=True)


@dataclass(frozen=True, slots=True)
class SequenceHead(TaskHead):
    """A linear layer on the pooled state: the first token's, the last's or the end token's."""

    scale: Scale = Scale()
    auto = "SequenceClassification"
    labeled = True

    def examples(self, rows: pa.Table, *, learn: bool) -> list[TokenizedExample]:
        """Return a row an example; longer texts lose their end."""
        targets: list[Any] = [None] * len(rows)
        if learn:
            targets = rows[target_column(self.task.type).name].to_pylist()
        end, stop = self.tokenizer.eos_token_id, self.tokenizer(".")["input_ids"]
        texts = encodings(self.tokenizer, stream(rows["text"]))
        built = []
        for row, (text, target) in enumerate(zip(texts, targets, strict=True)):
            framed = zip(text.ids, text.special_tokens_mask, strict=True)
            # Heads of encoder-decoders want as many end tokens in every row.
            ids = [id_ for id_, special in framed if special or id_ != end] or stop
            inner = self._target(target) if learn else ()
            built.append(TokenizedExample(row, array("i", ids), inner, cut=bool(text.overflowing)))
        return built

    def _target(self, target: Any) -> Sequence[float]:
        match self.task.type:
            case "regression":
                value = self.scale.inner(target)
                return (value if value != NOT_ASKED else value + 1e-5,)
            case "multi-label":
                return tuple(float(name in target) for name in self.task.label_names)
            case _:
                return (self.task.label_names.index(target),)

    def batch(self, examples: Sequence[TokenizedExample], salt: str) -> dict[str, Tensor]:
        """Return examples as tensors; nothing is drawn."""
        torch = load("torch")
        single = self.task.type in ("binary", "multi-class")
        kind = torch.long if single else torch.float32
        targets = torch.tensor([example.target for example in examples], dtype=kind)
        inputs = model_inputs(self.tokenizer, (example.ids for example in examples))
        return {**inputs, "labels": targets[:, 0] if single else targets}

    def loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Cross entropy; binary for each label of several; squares for numbers."""
        if self.task.type in ("binary", "multi-class"):
            return cross_entropy(logits, targets)
        losses = load("torch.nn.functional")
        numbers = self.task.type == "regression"
        loss = losses.mse_loss if numbers else losses.binary_cross_entropy_with_logits
        asked = targets != NOT_ASKED
        return loss(logits.float()[asked], targets[asked], reduction="sum")

    def answers(self, model: LoadedModel, rows: pa.Table, batch: int) -> Answers:
        """Choose the likeliest label, all of 0.5 and more for multi-label tasks, or a number."""

        def ask(part: Sequence[TokenizedExample]) -> Sequence[list[float]]:
            inputs = model_inputs(self.tokenizer, (example.ids for example in part))
            logits = model.call(model.module, inputs).logits.float()
            if self.task.type == "multi-label":
                logits = logits.sigmoid()
            elif self.task.type != "regression":
                logits = logits.softmax(-1)
            outputs: list[list[float]] = logits.cpu().double().tolist()
            return outputs

        examples = self.examples(rows, learn=False)
        replies: list[list[float]] = model.replies(examples, batch, ask)
        notes = cut_texts(examples)
        if self.task.type == "regression":
            return Answers([self.scale.outer(values[0]) for values in replies], notes=notes)
        return label_answers(self.task, replies, notes)


@dataclass(frozen=True, slots=True)
class GenerationHead(TaskHead):
    """The head that decoders and encoder-decoders are pre-trained with."""

    answer_tokens: int
    start: int | None
    """The token that an encoder-decoder's answer begins with; None for decoders."""

    @property
    def auto(self) -> str:  # type: ignore[override]
        """The class of transformers for models that write."""
        return "CausalLM" if self.start is None else "Seq2SeqLM"

    def examples(self, rows: pa.Table, *, learn: bool) -> list[TokenizedExample]:
        """Return the texts; a decoder learns from texts with their answers behind them.

        A long text loses its end, not the cue.
        """
        tokenizer, end = self.tokenizer, self.tokenizer.eos_token_id
        limit, cue = tokenizer.model_max_length, list[int]()
        answers: list[list[int]] = [[] for _ in range(len(rows))]
        if learn:
            options = {"add_special_tokens": False, "max_length": self.most - 1}
            written = encodings(tokenizer, stream(rows["target"]), **options)
            answers = [[*answer.ids, end] for answer in written]
        if self.start is None:
            cue = tokenizer(_CUE, add_special_tokens=False)["input_ids"]
            limit -= self.most + len(cue)
        built = []
        texts = encodings(tokenizer, stream(rows["text"]), max_length=limit)
        for row, (text, answer) in enumerate(zip(texts, answers, strict=True)):
            ids, target, cut = text.ids, answer, bool(text.overflowing)
            if self.start is None:
                prompt = [*ids, *cue]
                ids, target = [*prompt, *answer], [*[NOT_ASKED] * len(prompt), *answer]
            built.append(TokenizedExample(row, array("i", ids), array("i", target), cut=cut))
        return built

    @property
    def most(self) -> int:
        """How many tokens an answer has at most."""
        return min(self.answer_tokens, int(self.tokenizer.model_max_length) // 2)

    def batch(self, examples: Sequence[TokenizedExample], salt: str) -> dict[str, Tensor]:
        """Return examples as tensors; nothing is drawn."""
        inputs = model_inputs(self.tokenizer, (example.ids for example in examples))
        inputs["labels"] = labels = token_labels(example.target for example in examples)
        if self.start is not None:  # the decoder reads the tokens before those that it writes
            shifted = labels.roll(1, dims=1)
            shifted[:, 0] = self.start
            pad = self.tokenizer.pad_token_id
            inputs["decoder_input_ids"] = shifted.masked_fill(shifted == NOT_ASKED, pad)
        return inputs

    def loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Cross entropy over the tokens of the answers; those of prompts do not count."""
        if self.start is None:
            logits, targets = logits[:, :-1], targets[:, 1:]
        return cross_entropy(logits, targets)

    def answers(self, model: LoadedModel, rows: pa.Table, batch: int) -> Answers:
        """Write the likeliest token after the other, until the end token comes."""
        tokenizer = self.tokenizer
        # A configuration of our own: that of the weights may forbid to repeat words, and the like.
        inner = getattr(model.module, "get_base_model", lambda: model.module)()
        inner.generation_config = load("transformers").GenerationConfig(
            max_new_tokens=self.most,
            do_sample=False,
            num_beams=1,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
            decoder_start_token_id=self.start,
        )

        def ask(part: Sequence[TokenizedExample]) -> Sequence[str]:
            # Prompts must end where the answer begins, so a decoder's are filled on the left.
            side = "left" if self.start is None else "right"
            inputs = model_inputs(tokenizer, (example.ids for example in part), side)
            generated = model.call(model.module.generate, inputs)
            if self.start is None:
                generated = generated[:, inputs["input_ids"].shape[1] :]
            return [decoded(tokenizer, row) for row in generated.cpu().tolist()]

        examples = self.examples(rows, learn=False)
        answers = model.replies(examples, batch, ask)
        return Answers(answers, raw=answers, notes=cut_texts(examples))
