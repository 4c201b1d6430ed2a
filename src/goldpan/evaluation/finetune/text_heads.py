"""Heads that answer a whole text: labels, a number, or a text.

No instruction is added: it would be the same in all rows, and take the room of the text.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import pyarrow as pa

from goldpan.datasets.tasks.task import target_column
from goldpan.evaluation.finetune.heads import (
    NOT_ASKED,
    LoadedModel,
    TaskHead,
    Tensor,
    TokenizedExample,
    aligned,
    cross_entropy,
    cut_texts,
    padded,
    predict_in_batches,
    stream,
)
from goldpan.evaluation.model import Answers, label_answers, load


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
class SequenceHead(TaskHead):
    """A linear layer on the pooled state: the first token's, the last's or the end token's."""

    scale: Scale = Scale()
    auto = "SequenceClassification"
    labeled = True

    def examples(self, rows: pa.Table, *, learn: bool) -> list[TokenizedExample]:
        """Return a row an example; longer texts lose their end."""
        tokenizer = self.tokenizer
        targets: list[Any] = [None] * len(rows)
        if learn:
            targets = rows[target_column(self.task.type).name].to_pylist()
        ends = tokenizer.base.eos_token_id if tokenizer.after else None
        return [
            TokenizedExample(
                row,
                # Heads of encoder-decoders want as many end tokens in every row.
                tokenizer.frame([id_ for id_ in text.ids if id_ != ends]),
                self._target(target) if learn else (),
                cut=len(text.ids) > tokenizer.room,
            )
            for row, (text, target) in enumerate(
                zip(tokenizer.texts(stream(rows["text"])), targets, strict=True)
            )
        ]

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
        inputs = padded(self.tokenizer, [example.ids for example in examples])
        single = self.task.type in ("binary", "multi-class")
        kind = torch.long if single else torch.float32
        targets = torch.tensor([example.target for example in examples], dtype=kind)
        inputs["labels"] = targets[:, 0] if single else targets
        return inputs

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
        examples = self.examples(rows, learn=False)

        def ask(part: Sequence[TokenizedExample]) -> Sequence[list[float]]:
            inputs = padded(self.tokenizer, [example.ids for example in part])
            logits = model.call(model.module, inputs).logits.float()
            if self.task.type == "multi-label":
                logits = logits.sigmoid()
            elif self.task.type != "regression":
                logits = logits.softmax(-1)
            outputs: list[list[float]] = logits.cpu().double().tolist()
            return outputs

        replies: list[list[float]] = predict_in_batches(model, batch, examples, ask)
        notes = cut_texts(examples)
        if self.task.type == "regression":
            return Answers([self.scale.outer(values[0]) for values in replies], notes=notes)
        return label_answers(self.task, replies, notes)


_CUE = "\n\nANSWER:\n"
"""Cue after which a decoder answers."""


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
        """Return the texts; a decoder learns from texts with their answers behind them."""
        tokenizer = self.tokenizer
        extra = len(tokenizer.before) + len(self._cue())
        targets = tokenizer.texts(stream(rows["target"])) if learn else repeat(None, len(rows))
        built = []
        for row, (text, right) in enumerate(
            zip(tokenizer.texts(stream(rows["text"])), targets, strict=True)
        ):
            answer = self._answer(right.ids) if right else []
            if self.start is not None:
                cut = len(text.ids) > tokenizer.room
                built.append(
                    TokenizedExample(row, tokenizer.frame(text.ids), array("i", answer), cut=cut)
                )
                continue
            prompt = self._prompt(text.ids)
            target = array("i", [*[NOT_ASKED] * len(prompt), *answer] if learn else [])
            ids = array("i", [*prompt, *answer])
            built.append(
                TokenizedExample(row, ids, target, cut=len(prompt) < len(text.ids) + extra)
            )
        return built

    def _answer(self, ids: Sequence[int]) -> list[int]:
        return [*ids[: self._most() - 1], self.tokenizer.base.eos_token_id]

    def _most(self) -> int:
        """Return how many tokens an answer has at most."""
        return min(self.answer_tokens, self.tokenizer.limit // 2)

    def _prompt(self, ids: Sequence[int]) -> list[int]:
        """Return the prompt with room for the answer; a long one loses its end, not the cue."""
        before, cue = self.tokenizer.before, self._cue()
        most = self.tokenizer.limit - self._most()
        return [*before, *ids[: max(0, most - len(cue) - len(before))], *cue]

    def _cue(self) -> list[int]:
        return list(self.tokenizer.base(_CUE, add_special_tokens=False)["input_ids"])

    def batch(self, examples: Sequence[TokenizedExample], salt: str) -> dict[str, Tensor]:
        """Return examples as tensors; nothing is drawn."""
        tokenizer = self.tokenizer
        inputs = padded(tokenizer, [example.ids for example in examples])
        targets = [example.target for example in examples]
        if self.start is None:
            return {**inputs, "labels": aligned(tokenizer, targets)}
        answers = aligned(tokenizer, targets, left=False)
        shifted = self._shifted(answers, tokenizer.pad)
        return {**inputs, "decoder_input_ids": shifted, "labels": answers}

    def _shifted(self, targets: Tensor, pad: int) -> Tensor:
        """Return the decoder's input for targets: the tokens before them."""
        shifted = targets.roll(1, dims=1)
        shifted[:, 0] = self.start
        return shifted.masked_fill(shifted == NOT_ASKED, pad)

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
            max_new_tokens=self._most(),
            do_sample=False,
            num_beams=1,
            pad_token_id=tokenizer.pad,
            eos_token_id=tokenizer.base.eos_token_id,
            decoder_start_token_id=self.start,
        )

        def ask(part: Sequence[TokenizedExample]) -> Sequence[str]:
            # Prompts must end where the answer begins, so a decoder's are filled on the left.
            inputs = padded(tokenizer, [example.ids for example in part], left=self.start is None)
            inputs.pop("position_ids", None)  # generate counts them itself
            generated = model.call(model.module.generate, inputs)
            if self.start is None:
                generated = generated[:, inputs["input_ids"].shape[1] :]
            return [tokenizer.decode(row) for row in generated.cpu().tolist()]

        examples = self.examples(rows, learn=False)
        answers = predict_in_batches(model, batch, examples, ask)
        return Answers(answers, raw=answers, notes=cut_texts(examples))
