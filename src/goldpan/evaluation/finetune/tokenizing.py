"""Tokens of texts: framing, lengths, and the tokens of each word.

Tokens that models give a meaning of their own, such as ``</s>``, are plain characters where
they stand in a text.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pyarrow as pa

from goldpan.core.errors import EvaluationError
from goldpan.evaluation.model import load

_ROWS = 1_000
_NO_LIMIT = 1_000_000
_OFFSET_POSITIONS = ("roberta", "camembert", "mpnet", "longformer")
"""Kinds of models whose positions begin after the number of the padding token."""
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class TokenizedText:
    """A text as tokens, without those that frame it."""

    ids: list[int]
    offsets: list[Span]
    """Where each token begins and ends, in characters."""


@dataclass(frozen=True, slots=True)
class ModelTokenizer:
    """A tokenizer as one model takes its tokens."""

    tokenizer: Any
    before: tuple[int, ...]
    after: tuple[int, ...]
    """The tokens that frame a text, such as ``[CLS]`` and ``[SEP]``."""
    limit: int
    """Tokens of a row with its frame."""
    pad: int
    pads_left: bool
    """Whether shorter rows are filled on their left."""

    @property
    def room(self) -> int:
        """Tokens of a text that fit between the frame."""
        return max(1, self.limit - len(self.before) - len(self.after))

    def frame(self, ids: Sequence[int]) -> array[int]:
        """Return the tokens that fit, with those before and after."""
        return array("i", [*self.before, *ids[: self.room], *self.after])

    def texts(self, texts: Iterable[str]) -> Iterator[TokenizedText]:
        """Yield each text's tokens; one without any yields a full stop's."""
        rest = iter(texts)
        while batch := list(islice(rest, _ROWS)):
            encoded = self.tokenizer(
                batch,
                add_special_tokens=False,
                split_special_tokens=True,
                return_offsets_mapping=True,
                return_attention_mask=False,
                return_token_type_ids=False,
            )
            for ids, offsets in zip(encoded["input_ids"], encoded["offset_mapping"], strict=True):
                yield TokenizedText(ids, offsets) if ids else TokenizedText(self._stop(), [(0, 0)])

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of tokens, without spaces around."""
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=True)).strip()

    def _stop(self) -> list[int]:
        return list(self.tokenizer(".", add_special_tokens=False)["input_ids"])[:1] or [self.pad]


def make_words(tokenizer: Any, config: Any, most: int, padding: str) -> ModelTokenizer:
    """Return a model's way of taking texts, at most `most` tokens long.

    A padding token is set where the tokenizer has none. Raises `EvaluationError` for a tokenizer
    that does not tell where tokens stand, or has nothing to fill rows with.
    """
    if not tokenizer.is_fast:
        raise EvaluationError(
            f"The tokenizer {type(tokenizer).__name__} does not report where tokens are in a text",
            "Use weights that bring a tokenizer.json",
        )
    if tokenizer.pad_token_id is None:
        if tokenizer.eos_token_id is None:
            raise EvaluationError(
                "The tokenizer has neither a padding nor an end token",
                "Set pad_token in tokenizer_config.json of the weights",
            )
        tokenizer.pad_token = tokenizer.eos_token
    config.pad_token_id = tokenizer.pad_token_id
    before, after = _frame(tokenizer)
    if config.is_encoder_decoder and tokenizer.eos_token_id not in after:
        after = (*after, tokenizer.eos_token_id)  # its heads read the state at the end token
    encoders = load("transformers").AutoModelForMaskedLM._model_mapping
    if padding == "left" and (config.is_encoder_decoder or type(config) in encoders):
        raise EvaluationError(
            f"A {config.model_type} model cannot be filled on the left",
            "Leave padding=auto",
        )
    left = padding == "left" or (padding == "auto" and config.model_type == "starcoder2")
    limit = min(most, longest(tokenizer, config))
    return ModelTokenizer(tokenizer, before, after, limit, int(tokenizer.pad_token_id), left)


def longest(tokenizer: Any, config: Any) -> int:
    """Return how many tokens a model takes; a very large number where nothing tells."""
    limits = [_NO_LIMIT]
    if tokenizer.model_max_length < _NO_LIMIT:
        limits.append(int(tokenizer.model_max_length))
    positions = getattr(config, "max_position_embeddings", None)
    if positions and not config.is_encoder_decoder:
        begins_late = any(kind in config.model_type for kind in _OFFSET_POSITIONS)
        limits.append(int(positions) - (config.pad_token_id + 1 if begins_late else 0))
    return min(limits)


def _frame(tokenizer: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the tokens that a tokenizer puts before and after a text."""
    bare = tokenizer("a", add_special_tokens=False)["input_ids"]
    framed = tokenizer("a")["input_ids"]
    for start in range(len(framed) - len(bare) + 1):
        if framed[start : start + len(bare)] == bare:
            return tuple(framed[:start]), tuple(framed[start + len(bare) :])
    return (), ()


def stream(column: pa.ChunkedArray) -> Iterator[str]:
    """Yield the texts of a column without holding them all twice."""
    for start in range(0, len(column), _ROWS):
        yield from column.slice(start, _ROWS).to_pylist()


def covering(offsets: Sequence[Span], spans: Sequence[Span]) -> list[Span]:
    """Return for each span of characters its first token and the one after its last.

    A span without tokens, such as one of spaces, has (0, 0).
    """
    starts = [start for start, _ in offsets]
    ends = [end for _, end in offsets]
    ranges = ((bisect_right(ends, start), bisect_left(starts, end)) for start, end in spans)
    return [(first, after) if after > first else (0, 0) for first, after in ranges]


def windows(room: int, count: int, whole: Sequence[Span] = ()) -> Iterator[slice]:
    """Yield the parts of `count` tokens that fit into `room`, in order.

    None of `whole` is cut, unless it is longer than a window.
    """
    start = 0
    while start < count:
        stop = min(start + room, count)
        cut = [first for first, after in whole if start < first < stop < after]
        stop = min([stop, *cut])
        yield slice(start, stop)
        start = stop
