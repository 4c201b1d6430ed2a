"""Fine-tunes an encoder once for all tasks that ask about the same texts, and keeps it.

Every task's labels are learned at once, from rows that are train in each of the tasks. So the
trunk of a task has never seen the answer to a row that any of them tests, and all may share it.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from goldpan.papers.nlbse.shared_rows import SharedRows
from goldpan.plugins.core import EvaluationError, Reporter, hold_lock
from goldpan.plugins.evaluation import (
    Encoder,
    Pair,
    Vectors,
    Weights,
    digest,
    load,
    load_encoder,
    vectors_of,
)

Numbers = npt.NDArray[np.float64]
_FORMAT = 1
_BATCH = 32
_SORTED = 8
"""Batches whose texts are sorted by length together, so that little is filled up."""
_WARM = 0.1
_HEAD_RATE = 2e-3
_DROPOUT = 0.1
_MOST_WEIGHT = 6.0


@dataclass(frozen=True, slots=True)
class Training:
    """How a trunk is fine-tuned."""

    epochs: int
    rate: float
    """The learning rate of the encoder; that of the head is fixed."""
    tokens: int
    half: bool
    """Whether to compute in bfloat16, which some processors do twice as fast."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a trunk is fine-tuned on, and how."""

    weights: Weights
    rows: SharedRows
    pairs: Sequence[Pair]
    """The text of each row, with what stands around it."""
    training: Training
    seed: int

    @property
    def name(self) -> str:
        """The name of the trunk: all that it depends on, in short."""
        rows, training = self.rows, asdict(self.training)
        data = rows.columns, self.pairs, rows.targets.tolist()
        return digest(_FORMAT, self.weights.digest, *data, training, self.seed)

    def encoder(self) -> Encoder:
        """Return the encoder as it is before training."""
        training = self.training
        return load_encoder(self.weights.directory, training.tokens, half=training.half)


@dataclass(frozen=True, slots=True)
class Trunk:
    """A fine-tuned encoder with its head."""

    directory: Path
    columns: tuple[tuple[str, str], ...]
    """The task and label of each score."""
    weight: Numbers
    bias: Numbers

    training: Training

    def scores(
        self, task: str, label: str, pairs: Sequence[Pair], reporter: Reporter
    ) -> Numbers | None:
        """Return how likely pairs bear a task's label; None where it was not learned.

        Vectors of pairs are kept beside the trunk, for all tasks that share it.
        """
        if (task, label) not in self.columns:
            return None
        index = self.columns.index((task, label))
        vectors = vectors_of(self.directory / "vectors.sqlite", pairs, self._encode, reporter)
        return np.asarray(vectors @ self.weight[index] + self.bias[index])

    def _encode(self, pairs: Sequence[Pair]) -> Iterator[tuple[int, Vectors]]:
        training = self.training
        return load_encoder(self.directory, training.tokens, half=training.half).encode(pairs)


def find_trunk(cache: Path, lesson: Lesson, reporter: Reporter) -> Trunk:
    """Return the trunk that was fine-tuned on these rows, or fine-tune it now.

    Another process that wants the same waits for this one. A trunk that a kill cut short is made
    anew.
    """
    name = lesson.name
    path = cache / name
    with hold_lock(cache / f"{name}.lock"):
        if not path.exists():
            scratch = Path(tempfile.mkdtemp(dir=cache, prefix="unfinished-"))
            try:
                _train(scratch, lesson, reporter)
                scratch.replace(path)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
    return _read(path, lesson.training)


def _read(path: Path, training: Training) -> Trunk:
    try:
        head = orjson.loads((path / "head.json").read_bytes())
        columns = tuple((task, label) for task, label in head["columns"])
        weight, bias = (np.asarray(head[name], dtype=np.float64) for name in ("weight", "bias"))
    except (OSError, KeyError, ValueError) as error:
        raise EvaluationError(
            f"{path} holds a damaged trunk ({error})", "Delete it: it is made again"
        ) from None
    return Trunk(path, columns, weight, bias, training)


def _train(path: Path, lesson: Lesson, reporter: Reporter) -> None:
    """Fine-tune all but the token embeddings, which few texts would only unsettle."""
    torch = load("torch")
    encoder = lesson.encoder()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(lesson.seed)
        head = torch.nn.Linear(encoder.width, len(lesson.rows.columns))
        encoder.model.embeddings.requires_grad_(False)
        _learn(encoder, head, lesson, reporter)
    # The model's own save_pretrained imports DeepSpeed where that is installed: seconds and noise.
    save = import_module("safetensors.torch").save_model
    save(encoder.model, path / "model.safetensors", metadata={"format": "pt"})
    encoder.model.config.save_pretrained(path)
    encoder.tokenizer.save_pretrained(path)
    head_facts = {
        "columns": lesson.rows.columns,
        "weight": head.weight.detach().tolist(),
        "bias": head.bias.detach().tolist(),
    }
    (path / "head.json").write_bytes(orjson.dumps(head_facts))


def _learn(encoder: Encoder, head: Any, lesson: Lesson, reporter: Reporter) -> None:
    torch, training, truth = load("torch"), lesson.training, lesson.rows.targets
    learning = [weights for weights in encoder.model.parameters() if weights.requires_grad]
    groups = [
        {"params": learning, "lr": training.rate},
        {"params": head.parameters(), "lr": _HEAD_RATE},
    ]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.01)
    steps = training.epochs * -(-len(lesson.pairs) // _BATCH)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / (_WARM * steps)) * max(0.0, 1 - step / steps)
    )
    tokens = encoder.tokenized(lesson.pairs)
    lengths = [len(token["input_ids"]) for token in tokens]
    targets, counts = (
        torch.tensor(values, dtype=torch.float32) for values in (truth, _weights(truth))
    )
    loss_of = torch.nn.BCEWithLogitsLoss(pos_weight=counts)
    draw = np.random.default_rng(lesson.seed)
    encoder.model.train()
    with reporter.task("trunk: steps", steps) as progress:
        for _ in range(training.epochs):
            for indexes in _shuffled(lengths, draw):
                pooled = encoder.pooled([tokens[index] for index in indexes])
                pooled = torch.nn.functional.dropout(pooled, _DROPOUT)
                loss_of(head(pooled), targets[indexes]).backward()
                torch.nn.utils.clip_grad_norm_(learning, 1.0)
                optimizer.step()
                optimizer.zero_grad()
                schedule.step()
                progress.advance()
    encoder.model.eval()


def _weights(targets: Numbers) -> Numbers:
    """Return how much a positive counts, more for rare labels but not without bound."""
    share = np.clip(targets.mean(axis=0), 1e-3, 1 - 1e-3)
    return np.asarray(np.clip(np.sqrt((1 - share) / share), 1.0, _MOST_WEIGHT))


def _shuffled(lengths: Sequence[int], draw: np.random.Generator) -> Iterator[list[int]]:
    """Yield batches of places in random order, of texts that are about as long."""
    order = draw.permutation(len(lengths))
    for start in range(0, len(order), _BATCH * _SORTED):
        portion = sorted(order[start : start + _BATCH * _SORTED].tolist(), key=lengths.__getitem__)
        starts = np.arange(0, len(portion), _BATCH)
        for first in draw.permutation(starts).tolist():
            yield portion[first : first + _BATCH]


def fast_in_half() -> bool:
    """Tell whether this processor computes in bfloat16 by itself."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return "avx512_bf16" in text or "amx_bf16" in text
