"""Heads: the part of a model that is made for a type of task, and the batches that it reads.

SELU, section IV-B and Figure 3. Each type has its file; this one holds what they share.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from goldpan.evaluation.finetune.tokenizing import ModelTokenizer
from goldpan.evaluation.model import Answers, load

# Which rows make a step, and which of them a process takes at once.
#
# A step has the same rows in the same order however many processes share it and however few fit
# on a device, so that neither changes what is learned.

_POOL = 50
"""Steps whose rows are sorted by length together: padding is little, order still random."""
_CPU_TOKENS = 4_096
"""Tokens that a processor takes at once: more are no faster, and a machine whose memory is full
kills the process instead of telling it."""


def steps_of_epoch(
    lengths: Sequence[int], batch: int, seed: int, epoch: int, *, group: bool
) -> list[list[int]]:
    """Return the rows of each step of an epoch, longest first within a step where grouped.

    The first step of the first epoch has the longest row, so that memory runs out at once if
    ever.
    """
    draw = random.Random(f"{seed} order {epoch}")  # noqa: S311
    rows = list(range(len(lengths)))
    draw.shuffle(rows)
    if not group:
        return [rows[start : start + batch] for start in range(0, len(rows), batch)]
    pooled = []
    for start in range(0, len(rows), batch * _POOL):
        pool = sorted(rows[start : start + batch * _POOL], key=lambda row: -lengths[row])
        pooled += [pool[at : at + batch] for at in range(0, len(pool), batch)]
    draw.shuffle(pooled)
    if epoch == 0:
        heaviest = max(range(len(pooled)), key=lambda step: lengths[pooled[step][0]])
        pooled[0], pooled[heaviest] = pooled[heaviest], pooled[0]
    return pooled


@dataclass(frozen=True, slots=True)
class StepPart:
    """Rows that a process takes at once."""

    rows: Sequence[int]
    counts: bool = True
    """False where there are no rows left for it: it takes one that does not count, since all
    processes must take part in every exchange."""


def rows_at_once(most: int, longest: int, device: str) -> int:
    """Return how many rows a device takes at once, of which the longest has `longest` tokens."""
    return max(1, min(most, _CPU_TOKENS // max(1, longest))) if device == "cpu" else most


def parts_of(step: Sequence[int], rank: int, world: int, device_batch: int) -> list[StepPart]:
    """Return the parts of a step that one of `world` processes takes, as many as any other."""
    largest = math.ceil(len(step) / world)
    parts = math.ceil(largest / device_batch)
    mine = step[rank::world]
    cut = [mine[at * len(mine) // parts : (at + 1) * len(mine) // parts] for at in range(parts)]
    return [StepPart(rows) if rows else StepPart(step[:1], counts=False) for rows in cut]


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
        """How much room it takes, in tokens."""
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class TensorBatch:
    """Examples as tensors."""

    inputs: Mapping[str, Tensor]
    """Arguments of the model's `forward`."""
    targets: Tensor
    count: int
    """How many things there are to learn: a loss is the mean over them."""
    tokens: int


@dataclass(frozen=True, slots=True)
class Predictor:
    """A model on a device, ready to answer."""

    module: Any
    device: Any
    half: bool
    """Whether it computes in bfloat16 though its weights are longer."""
    batch: int
    """Rows at once."""
    answered: Callable[[int], None] = lambda _: None
    """Callback that gets the number of tokens read."""

    def logits(self, module: Any, inputs: Mapping[str, Tensor]) -> Tensor:
        """Return what a model, this one or one wrapped around it, says of inputs."""
        torch = load("torch")
        moved = {name: value.to(self.device) for name, value in inputs.items()}
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.half):
            return module(**moved).logits


class TaskHead(Protocol):
    """One type of task."""

    @property
    def auto(self) -> str:
        """The class of transformers that loads it."""
        ...

    @property
    def options(self) -> Mapping[str, Any]:
        """Options of that class."""
        ...

    def examples(
        self, words: ModelTokenizer, rows: pa.Table, *, learn: bool
    ) -> list[TokenizedExample]:
        """Return rows as tokens; with their targets where they are to be learned."""
        ...

    def batch(
        self, words: ModelTokenizer, examples: Sequence[TokenizedExample], salt: str
    ) -> TensorBatch:
        """Return examples to learn from; what is drawn follows from `salt` and the rows."""
        ...

    def loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the sum of the losses of all targets, in float32."""
        ...

    def answers(self, predictor: Predictor, words: ModelTokenizer, rows: pa.Table) -> Answers:
        """Answer rows without looking at their targets."""
        ...


def padded(
    words: ModelTokenizer, rows: Sequence[Sequence[int]], *, left: bool | None = None
) -> dict[str, Tensor]:
    """Return rows of tokens as `input_ids` and `attention_mask`, all of one length.

    With padding on the left, positions are told too: GPT-2 would count the padding.
    """
    at_left = words.pads_left if left is None else left
    mask = _filled([[1] * len(row) for row in rows], 0, at_left)
    inputs = {"input_ids": _filled(rows, words.pad, at_left), "attention_mask": mask}
    if at_left:
        inputs["position_ids"] = (mask.cumsum(-1) - 1).clamp(min=0)
    return inputs


def aligned(
    words: ModelTokenizer, rows: Sequence[Sequence[float]], *, left: bool | None = None
) -> Tensor:
    """Return targets of tokens beside what `padded` returns."""
    return _filled(rows, NOT_ASKED, words.pads_left if left is None else left)


def _filled(rows: Sequence[Sequence[float]], value: int, left: bool) -> Tensor:
    torch = load("torch")
    longest = max(len(row) for row in rows)
    filled = torch.full((len(rows), longest), value)
    for at, row in enumerate(rows):
        span = slice(longest - len(row), longest) if left else slice(0, len(row))
        filled[at, span] = torch.tensor(row, dtype=torch.long)
    return filled


def predict_in_batches(
    predictor: Predictor,
    examples: Sequence[TokenizedExample],
    ask: Callable[[Sequence[TokenizedExample]], Sequence[Any]],
) -> list[Any]:
    """Return what `ask` says of each example, in their order, asking for many at once.

    Longest first, so that little is padded; where memory runs out, half as many are asked for.
    """
    torch = load("torch")
    order = sorted(range(len(examples)), key=lambda at: (-examples[at].length, at))
    outputs: list[Any] = [None] * len(examples)
    size, start = predictor.batch, 0
    predictor.module.eval()
    with torch.no_grad():
        while start < len(order):
            fit = rows_at_once(size, examples[order[start]].length, predictor.device.type)
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
            predictor.answered(sum(examples[at].length for at in indexes))
            start += fit
    return outputs


def cut_texts(examples: Sequence[TokenizedExample]) -> dict[str, int]:
    """Return how many texts lost their end, as `Answers.notes` takes it."""
    count = sum(example.cut for example in examples)
    return {"text_cut": count} if count else {}


def out_of_memory(error: RuntimeError) -> bool:
    """Return whether a device had no room; only some say so by the kind of the error."""
    message = str(error).lower()
    return isinstance(error, load("torch").OutOfMemoryError) or any(
        sign in message for sign in ("can't allocate", "out of memory", "_alloc_failed")
    )
