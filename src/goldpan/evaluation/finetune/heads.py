"""Tokens of texts, and the heads that read them: what those of all types of tasks share.

A head is the part of a model that is made for a type of task (SELU, section IV-B and Figure 3).
Tokens that models give a meaning of their own, such as ``</s>``, are plain characters where they
stand in a text.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

import pyarrow as pa

from goldpan.core.errors import EvaluationError
from goldpan.datasets.tasks.task import Task
from goldpan.evaluation.model import Answers, load

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

    base: Any
    """The tokenizer of transformers."""
    before: tuple[int, ...]
    after: tuple[int, ...]
    """The tokens that frame a text, such as ``[CLS]`` and ``[SEP]``."""
    limit: int
    """Tokens of a row with its frame."""
    pad: int
    pads_left: bool
    """True where shorter rows are padded on the left."""

    @property
    def room(self) -> int:
        """Tokens of a text that fit between the frame."""
        return max(1, self.limit - len(self.before) - len(self.after))

    def frame(self, ids: Sequence[int]) -> array[int]:
        """Return the tokens that fit, with those before and after."""
        return array("i", [*self.before, *ids[: self.room], *self.after])

    def texts(self, texts: Iterable[str]) -> Iterator[TokenizedText]:
        """Yield each text's tokens; one without any yields a full stop's."""
        waiting = iter(texts)
        while batch := list(islice(waiting, _ROWS)):
            encoded = self.base(
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
        return str(self.base.decode(list(ids), skip_special_tokens=True)).strip()

    def _stop(self) -> list[int]:
        return list(self.base(".", add_special_tokens=False)["input_ids"])[:1] or [self.pad]


def model_tokenizer(tokenizer: Any, config: Any, most: int, padding: str) -> ModelTokenizer:
    """Return the tokenizer for a model, for texts of at most `most` tokens.

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
    encodes = config.is_encoder_decoder or has_head(config, "MaskedLM")
    if padding == "left" and encodes:
        raise EvaluationError(
            f"A {config.model_type} model cannot be filled on the left", "Leave padding=auto"
        )
    left = padding == "left" or (padding == "auto" and config.model_type == "starcoder2")
    limit = min(most, longest(tokenizer, config))
    return ModelTokenizer(tokenizer, before, after, limit, int(tokenizer.pad_token_id), left)


_MAPPINGS = {
    "SequenceClassification": "SEQUENCE_CLASSIFICATION",
    "TokenClassification": "TOKEN_CLASSIFICATION",
    "MaskedLM": "MASKED_LM",
    "CausalLM": "CAUSAL_LM",
    "Seq2SeqLM": "SEQ_TO_SEQ_CAUSAL_LM",
}


def has_head(config: Any, auto: str) -> bool:
    """Return whether transformers has a head of that kind for a model."""
    heads = getattr(load("transformers"), f"MODEL_FOR_{_MAPPINGS[auto]}_MAPPING")
    return type(config) in heads


def longest(tokenizer: Any, config: Any) -> int:
    """Return how many tokens a model takes; a very large number where none is stated."""
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


_CPU_TOKENS = 4_096
"""Tokens that a processor takes at once: more are no faster, and a machine whose memory is full
kills the process instead of telling it."""


def rows_at_once(most: int, longest: int, device: str) -> int:
    """Return how many rows a device takes at once, of which the longest has `longest` tokens."""
    return max(1, min(most, _CPU_TOKENS // max(1, longest))) if device == "cpu" else most


Tensor = Any
"""torch is an extra without which this must import, and a strict check must pass."""
NOT_ASKED = -100
"""The target of a token that is not to be learned, as PyTorch's losses have it."""


@dataclass(frozen=True, slots=True)
class TokenizedExample:
    """Row, or window of a row, as tokens."""

    row: int
    ids: Sequence[int]
    """With the frame."""
    target: Sequence[float] = ()
    """Target, in the form of the head."""
    words: Sequence[tuple[int, int, int]] = ()
    """Words: number in the row, first token here and the token after the last."""
    cut: bool = False
    """True if the text lost its end."""

    @property
    def length(self) -> int:
        """Tokens that are read."""
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model on a device, which can be trained and asked."""

    module: Any
    head: TaskHead
    attention: str
    half: bool
    """True where it computes in bfloat16."""
    device: Any
    answered: Callable[[int], None] = lambda _: None
    """Callback that gets the number of tokens read."""

    def call(self, function: Callable[..., Any], inputs: Mapping[str, Tensor]) -> Any:
        """Return what a function of the model, or of one wrapped around it, gives for inputs."""
        torch = load("torch")
        moved = {name: value.to(self.device) for name, value in inputs.items()}
        # Weights that are in bfloat16 themselves need no other precision.
        mixed = self.half and any(
            weight.dtype == torch.float32 for weight in self.module.parameters()
        )
        with torch.autocast(self.device.type, torch.bfloat16, enabled=mixed):
            return function(**moved)

    def answers(self, rows: pa.Table, batch: int) -> Answers:
        """Answer rows without looking at their targets, at most `batch` at once."""
        return self.head.answers(self, rows, batch)


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the sum over the tokens that are asked for; only theirs become float32."""
    is_asked = targets != NOT_ASKED
    losses = load("torch.nn.functional")
    return losses.cross_entropy(logits[is_asked].float(), targets[is_asked], reduction="sum")


@dataclass(frozen=True, slots=True)
class TaskHead(ABC):
    """The part of a model for one task, with the model's tokenizer."""

    task: Task
    tokenizer: ModelTokenizer
    auto: ClassVar[str]
    """The class of transformers that loads it, behind `AutoModelFor`."""
    labeled: ClassVar[bool] = False
    """True where it has an output a label; else its outputs are the model's vocabulary."""

    @abstractmethod
    def examples(self, rows: pa.Table, *, learn: bool) -> list[TokenizedExample]:
        """Return rows as tokens; with their targets where they are to be learned."""

    @abstractmethod
    def batch(self, examples: Sequence[TokenizedExample], salt: str) -> dict[str, Tensor]:
        """Return arguments of the model and `labels`; what is drawn follows from `salt`."""

    def loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the sum of the losses of all targets, in float32: cross entropy of tokens."""
        return cross_entropy(logits, targets)

    @abstractmethod
    def answers(self, model: LoadedModel, rows: pa.Table, batch: int) -> Answers:
        """Answer rows without looking at their targets, at most `batch` at once."""


def padded(
    tokenizer: ModelTokenizer, rows: Sequence[Sequence[int]], *, left: bool | None = None
) -> dict[str, Tensor]:
    """Return rows of tokens as `input_ids` and `attention_mask`, all of one length.

    With padding on the left, positions are told too: GPT-2 would count the padding.
    """
    at_left = tokenizer.pads_left if left is None else left
    mask = _filled([[1] * len(row) for row in rows], 0, at_left)
    inputs = {"input_ids": _filled(rows, tokenizer.pad, at_left), "attention_mask": mask}
    if at_left:
        inputs["position_ids"] = (mask.cumsum(-1) - 1).clamp(min=0)
    return inputs


def aligned(
    tokenizer: ModelTokenizer, rows: Sequence[Sequence[float]], *, left: bool | None = None
) -> Tensor:
    """Return targets of tokens beside what `padded` returns."""
    return _filled(rows, NOT_ASKED, tokenizer.pads_left if left is None else left)


def _filled(rows: Sequence[Sequence[float]], value: int, left: bool) -> Tensor:
    torch = load("torch")
    return load("torch.nn.utils.rnn").pad_sequence(
        [torch.tensor(row, dtype=torch.long) for row in rows],
        batch_first=True,
        padding_value=value,
        padding_side="left" if left else "right",
    )


def predict_in_batches(
    model: LoadedModel,
    batch: int,
    examples: Sequence[TokenizedExample],
    ask: Callable[[Sequence[TokenizedExample]], Sequence[Any]],
) -> list[Any]:
    """Return the replies of `ask` to examples, in their order, asking for `batch` at once.

    Longest first, so that little is padded; where memory runs out, half as many are asked for.
    """
    torch = load("torch")
    order = sorted(range(len(examples)), key=lambda at: (-examples[at].length, at))
    outputs: list[Any] = [None] * len(examples)
    size, start = batch, 0
    model.module.eval()
    with torch.no_grad():
        while start < len(order):
            fit = rows_at_once(size, examples[order[start]].length, model.device.type)
            indexes = order[start : start + fit]
            try:
                replies = ask([examples[at] for at in indexes])
            except RuntimeError as error:
                if size == 1 or not out_of_memory(error):
                    raise
                size = max(1, size // 2)
                continue
            for at, output in zip(indexes, replies, strict=True):
                outputs[at] = output
            model.answered(sum(examples[at].length for at in indexes))
            start += fit
    return outputs


def cut_texts(examples: Sequence[TokenizedExample]) -> dict[str, int]:
    """Return how many texts lost their end, as `Answers.notes` takes it."""
    count = sum(example.cut for example in examples)
    return {"text_cut": count} if count else {}


def out_of_memory(error: Exception) -> bool:
    """Return whether a device had no room; only some say so by the kind of the error."""
    message = str(error).lower()
    return isinstance(error, load("torch").OutOfMemoryError) or any(
        sign in message for sign in ("can't allocate", "out of memory", "_alloc_failed")
    )
