"""Heads of language models: how the rows of a task become tokens, a loss and answers.

A head is the part of a model that is made for a type of task (SELU, section IV-B and Figure 3).
Tokens that models give a meaning of their own, such as ``</s>``, are plain characters where they
stand in a text. No instruction is added: it would be the same in all rows, and take the room of
the text.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

import pyarrow as pa

from goldpan.datasets.tasks.task import Task
from goldpan.evaluation.model import Answers, load

Tensor = Any
"""torch is an extra without which this must import, and a strict check must pass."""
NOT_ASKED = -100
"""The target of a token that is not to be learned, as PyTorch's losses have it."""
_ROWS = 1_000
_CPU_TOKENS = 4_096
"""Tokens that a processor takes at once: more are no faster, and a machine whose memory is full
kills the process instead of telling it."""


@dataclass(frozen=True, slots=True)
class TokenizedExample:
    """Row, or window of a row, as tokens."""

    row: int
    ids: Sequence[int]
    target: Sequence[float] = ()
    """Target, in the form of the head."""
    words: Sequence[tuple[int, int, int]] = ()
    """Words: number in the row, first token here and the token after the last."""
    cut: bool = False
    """True if the text lost its end."""


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model on a device, which can be trained and asked."""

    module: Any
    head: TaskHead
    half: bool
    """True where it computes in bfloat16."""
    device: Any
    answered: Callable[[int], None] = lambda _: None
    """Callback that gets the number of tokens read."""

    def call(self, function: Callable[..., Any], inputs: Mapping[str, Tensor]) -> Any:
        """Return what a function of the model gives for inputs."""
        torch = load("torch")
        moved = {name: value.to(self.device) for name, value in inputs.items()}
        # Weights that are in bfloat16 themselves need no other precision.
        mixed = self.half and any(
            weight.dtype == torch.float32 for weight in self.module.parameters()
        )
        with torch.autocast(self.device.type, torch.bfloat16, enabled=mixed):
            return function(**moved)

    def replies(
        self,
        examples: Sequence[TokenizedExample],
        batch: int,
        ask: Callable[[Sequence[TokenizedExample]], Sequence[Any]],
    ) -> list[Any]:
        """Return the replies of `ask` to examples, in their order, asking for `batch` at once.

        Longest first, so that little is padded; where memory runs out, half as many are asked for.
        """
        order = sorted(range(len(examples)), key=lambda at: (-len(examples[at].ids), at))
        outputs: list[Any] = [None] * len(examples)
        size, start = batch, 0
        self.module.eval()
        with load("torch").no_grad():
            while start < len(order):
                fit = rows_at_once(size, len(examples[order[start]].ids), self.device.type)
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
                self.answered(sum(len(examples[at].ids) for at in indexes))
                start += fit
        return outputs


def rows_at_once(most: int, longest: int, device: str) -> int:
    """Return how many rows a device takes at once, of which the longest has `longest` tokens."""
    return max(1, min(most, _CPU_TOKENS // max(1, longest))) if device == "cpu" else most


def out_of_memory(error: Exception) -> bool:
    """Return whether a device had no room; only some say so by the kind of the error."""
    message = str(error).lower()
    return isinstance(error, load("torch").OutOfMemoryError) or any(
        sign in message for sign in ("can't allocate", "out of memory", "_alloc_failed")
    )


def encodings(tokenizer: Any, texts: Iterable[str], **options: Any) -> Iterator[Any]:
    """Yield the tokens of each text, cut where the model's limit is, some texts at a time."""
    waiting = iter(texts)
    while batch := list(islice(waiting, _ROWS)):
        encoded = tokenizer(batch, truncation=True, split_special_tokens=True, **options)
        yield from encoded.encodings


def stream(column: pa.ChunkedArray) -> Iterator[str]:
    """Yield the texts of a column without holding them all twice."""
    for start in range(0, len(column), _ROWS):
        yield from column.slice(start, _ROWS).to_pylist()


def model_inputs(
    tokenizer: Any, rows: Iterable[Sequence[int]], side: str = "right"
) -> dict[str, Any]:
    """Return rows of tokens as `input_ids` and `attention_mask`, all of one length."""
    ids = {"input_ids": [list(row) for row in rows]}
    return dict(tokenizer.pad(ids, padding_side=side, return_tensors="pt"))


def token_labels(rows: Iterable[Sequence[float]]) -> Tensor:
    """Return targets of tokens beside what `model_inputs` returns."""
    torch = load("torch")
    return load("torch.nn.utils.rnn").pad_sequence(
        [torch.tensor(row, dtype=torch.long) for row in rows],
        batch_first=True,
        padding_value=NOT_ASKED,
    )


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the sum over the tokens that are asked for; only theirs become float32."""
    is_asked = targets != NOT_ASKED
    losses = load("torch.nn.functional")
    return losses.cross_entropy(logits[is_asked].float(), targets[is_asked], reduction="sum")


@dataclass(frozen=True, slots=True)
class TaskHead(ABC):
    """The part of a model for one task, with the model's tokenizer."""

    task: Task
    tokenizer: Any
    """That of transformers; its `model_max_length` is the longest row."""
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


def cut_texts(examples: Sequence[TokenizedExample]) -> dict[str, int]:
    """Return how many texts lost their end, as `Answers.notes` takes it."""
    count = sum(example.cut for example in examples)
    return {"text_cut": count} if count else {}


def decoded(tokenizer: Any, ids: Sequence[int]) -> str:
    """Return the text of tokens, without spaces around."""
    return str(tokenizer.decode(list(ids), skip_special_tokens=True)).strip()
