"""A text for a text: an encoder-decoder's answer, or what a decoder writes after the text.

No instruction is added: it would be the same in all rows, and take the room of the text.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
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
    cut_texts,
    padded,
)
from goldpan.evaluation.finetune.tagging import cross_entropy
from goldpan.evaluation.finetune.tokenizing import Words, stream
from goldpan.evaluation.model import Answers

_CUE = "\n\nANSWER:\n"
"""What tells a decoder that its turn has come."""


@dataclass(frozen=True, slots=True)
class GenerationHead:
    """The head that decoders and encoder-decoders are pre-trained with."""

    task: Task
    answer_tokens: int
    start: int | None
    """The token that an encoder-decoder's answer begins with; None for decoders."""

    @property
    def auto(self) -> str:
        """Which kind of model writes."""
        return "AutoModelForCausalLM" if self.start is None else "AutoModelForSeq2SeqLM"

    @property
    def options(self) -> Mapping[str, Any]:
        """Nothing: the vocabulary is the model's."""
        return {}

    def examples(self, words: Words, rows: pa.Table, *, learn: bool) -> list[Example]:
        """Return the texts; a decoder learns from texts with their answers behind them."""
        extra = len(words.before) + len(self._cue(words))
        targets = words.texts(stream(rows["target"])) if learn else repeat(None, len(rows))
        built = []
        for row, (text, right) in enumerate(
            zip(words.texts(stream(rows["text"])), targets, strict=True)
        ):
            answer = self._answer(words, right.ids) if right else []
            if self.start is not None:
                cut = len(text.ids) > words.room
                built.append(Example(row, words.frame(text.ids), array("i", answer), cut=cut))
                continue
            prompt = self._prompt(words, text.ids)
            target = array("i", [*[NOT_ASKED] * len(prompt), *answer] if learn else [])
            ids = array("i", [*prompt, *answer])
            built.append(Example(row, ids, target, cut=len(prompt) < len(text.ids) + extra))
        return built

    def _answer(self, words: Words, ids: Sequence[int]) -> list[int]:
        return [*ids[: self._most(words) - 1], words.tokenizer.eos_token_id]

    def _most(self, words: Words) -> int:
        """Return how many tokens an answer has at most."""
        return min(self.answer_tokens, words.limit // 2)

    def _prompt(self, words: Words, ids: Sequence[int]) -> list[int]:
        """Return the prompt with room for the answer; a long one loses its end, not the cue."""
        cue = self._cue(words)
        most = words.limit - self._most(words)
        return [*words.before, *ids[: max(0, most - len(cue) - len(words.before))], *cue]

    def _cue(self, words: Words) -> list[int]:
        return list(words.tokenizer(_CUE, add_special_tokens=False)["input_ids"])

    def batch(self, words: Words, examples: Sequence[Example], salt: str) -> Batch:
        """Return examples as tensors; nothing is drawn."""
        inputs = padded(words, [example.ids for example in examples])
        tokens = sum(example.length for example in examples)
        if self.start is None:
            targets = aligned(words, [example.target for example in examples])[:, 1:]
        else:
            targets = aligned(words, [example.target for example in examples], left=False)
            inputs["decoder_input_ids"] = self._shifted(targets, words.pad)
            tokens += sum(len(example.target) for example in examples)
        return Batch(inputs, targets, int((targets != NOT_ASKED).sum()), tokens)

    def _shifted(self, targets: Tensor, pad: int) -> Tensor:
        """Return what the decoder sees when it is to say the targets: those before."""
        shifted = targets.roll(1, dims=1)
        shifted[:, 0] = self.start
        return shifted.masked_fill(shifted == NOT_ASKED, pad)

    def loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Cross entropy over the tokens of the answers; those of prompts do not count."""
        return cross_entropy(logits[:, :-1] if self.start is None else logits, targets)

    def answers(self, asker: Asker, words: Words, rows: pa.Table) -> Answers:
        """Write the likeliest token after the other, until the end token comes."""
        torch = load("torch")
        # A configuration of our own: that of the weights may forbid to repeat words, and the like.
        inner = getattr(asker.module, "get_base_model", lambda: asker.module)()
        inner.generation_config = load("transformers").GenerationConfig(
            max_new_tokens=self._most(words),
            do_sample=False,
            num_beams=1,
            pad_token_id=words.pad,
            eos_token_id=words.tokenizer.eos_token_id,
            decoder_start_token_id=self.start,
        )

        def ask(batch: Sequence[Example]) -> Sequence[str]:
            # Prompts must end where the answer begins, so a decoder's are filled on the left.
            inputs = padded(words, [example.ids for example in batch], left=self.start is None)
            inputs.pop("position_ids", None)  # generate counts them itself
            moved = {name: value.to(asker.device) for name, value in inputs.items()}
            with torch.autocast(asker.device.type, torch.bfloat16, enabled=asker.half):
                generated = asker.module.generate(**moved)
            if self.start is None:
                generated = generated[:, moved["input_ids"].shape[1] :]
            return [words.decode(row) for row in generated.cpu().tolist()]

        examples = self.examples(words, rows, learn=False)
        answers = ask_in_batches(asker, examples, ask)
        return Answers(answers, raw=answers, notes=cut_texts(examples))
