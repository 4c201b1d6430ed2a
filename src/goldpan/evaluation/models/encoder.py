"""A transformer that turns texts into vectors: the mean of its hidden states, the last or more.

Batches have one of few shapes, filled up where texts are few, so that a vector does not depend on
what was encoded beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from goldpan.core.errors import UsageError
from goldpan.evaluation.extras import load
from goldpan.evaluation.finetune.loading import quiet
from goldpan.evaluation.models.vectors import Pair, Vectors

_BATCH = 32
_STEP = 16
"""Lengths in tokens are filled up to a multiple of it."""
_CHARACTERS = 24
"""More than a token has, on average, of any text that a person wrote; the rest is not read."""
Tokens = dict[str, list[int]]


@dataclass(frozen=True, slots=True)
class Encoder:
    """A transformer with its tokenizer, on the processor."""

    model: Any
    tokenizer: Any
    tokens: int
    """The most that are read of a pair."""
    half: bool = False
    """Whether it computes in bfloat16."""
    layers: int = 1
    """How many means a vector joins: of the last layer first, then of those below it."""

    @property
    def width(self) -> int:
        """How many numbers a vector has."""
        return int(self.model.config.hidden_size) * self.layers

    def encode(self, pairs: Sequence[Pair]) -> Iterator[tuple[int, Vectors]]:
        """Yield the place of each pair with its vector, short texts first."""
        torch = load("torch")
        tokens = self.tokenized(pairs)
        lengths = [-(-len(token["input_ids"]) // _STEP) for token in tokens]
        order = sorted(range(len(pairs)), key=lengths.__getitem__)
        self.model.eval()
        for indexes in _alike(order, lengths):
            filled = [tokens[index] for index in indexes]
            filled += [tokens[indexes[0]]] * (_BATCH - len(indexes))
            with torch.no_grad():
                vectors = self.pooled(filled).numpy()
            yield from zip(indexes, vectors, strict=False)

    def tokenized(self, pairs: Sequence[Pair]) -> list[Tokens]:
        """Return the numbers that the model reads, for each pair."""
        most = self.tokens * _CHARACTERS
        texts = [text[:most] for text, _ in pairs]
        around = [after[:most] for _, after in pairs]
        # A second text, even an empty one, adds a separator: only where there is any.
        second = {"text_pair": around} if any(around) else {}
        read = self.tokenizer(texts, truncation=True, max_length=self.tokens, **second)
        return [{name: read[name][index] for name in read} for index in range(len(pairs))]

    def pooled(self, tokens: Sequence[Tokens]) -> Any:
        """Return the mean vectors of texts of similar lengths, a tensor of float32."""
        torch = load("torch")
        filled = self.tokenizer.pad(
            list(tokens), padding=True, pad_to_multiple_of=_STEP, return_tensors="pt"
        )
        with torch.autocast("cpu", torch.bfloat16, enabled=self.half):
            states = self.model(**filled, output_hidden_states=self.layers > 1)
        mask = filled["attention_mask"].unsqueeze(-1)
        last = [states.last_hidden_state]
        if self.layers > 1:
            last += [states.hidden_states[-number] for number in range(2, self.layers + 1)]
        means = [(hidden.float() * mask).sum(1) / mask.sum(1) for hidden in last]
        return torch.cat(means, dim=1)


def load_encoder(directory: Path, tokens: int, *, half: bool = False, layers: int = 1) -> Encoder:
    """Load an encoder from a directory; raises `UsageError` where transformers cannot.

    It raises `UsageError` too where the encoder has fewer than `layers` layers.
    """
    auto = load("transformers")
    try:
        with quiet():
            tokenizer = auto.AutoTokenizer.from_pretrained(directory, local_files_only=True)
            model = auto.AutoModel.from_pretrained(directory, local_files_only=True)
    except (OSError, ValueError, import_module("safetensors").SafetensorError) as error:
        message = (str(error).splitlines() or ["no reason given"])[0]
        raise UsageError(
            f"{directory} holds no encoder that can be loaded ({message})",
            "Give a directory that transformers wrote, with a tokenizer",
        ) from None
    if layers > (known_layers := getattr(model.config, "num_hidden_layers", layers)):
        raise UsageError(
            f"{directory} holds an encoder of {known_layers} layers, and {layers} are read",
            "Give a larger one",
        )
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    positions = getattr(model.config, "max_position_embeddings", None) or tokens
    most = min(tokens, int(positions), tokenizer.model_max_length)
    return Encoder(model, tokenizer, max(_STEP, most // _STEP * _STEP), half, layers)


def _alike(order: Sequence[int], lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield batches of places whose lengths are the same."""
    batch: list[int] = []
    for index in order:
        if batch and (len(batch) == _BATCH or lengths[index] != lengths[batch[0]]):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
