"""Fine-tunes an encoder once for all tasks that ask about the same texts, and keeps it.

Every task's labels are learned at once, from rows that are train in each of the tasks. So the
trunk of a task has never seen the answer to a row that any of them tests, and all may share it.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from goldpan.plugins.data import EvaluationError, Reporter, hold_lock
from goldpan.plugins.evaluation import (
    DOCUMENT,
    Encoder,
    HeldOut,
    Numbers,
    Pair,
    TrainingContext,
    Vectors,
    Weights,
    digest,
    held_out_rows,
    load,
    load_encoder,
    vectors_of,
)

_FORMAT = 1
_BATCH = 32
_SORTED = 8
"""Batches whose texts are sorted by length together, so that little is filled up."""
_WARM = 0.1
_HEAD_RATE = 2e-3
_DROPOUT = 0.1
_MOST_WEIGHT = 6.0


Place = tuple[str, str, int, str]
"""The project, document, position and text: what a row is about, whichever task asks."""
_ABOUT = ["repo", "document", "position", "text"]
_TARGETS = ("label", "labels")


@dataclass(frozen=True, slots=True)
class SharedRows:
    """Texts that are train in every task that asks about them, with all their labels."""

    columns: tuple[tuple[str, str], ...]
    """Task and label."""
    texts: pa.Table
    """A row a text, without ids and answers, in the order of places."""
    targets: Numbers
    """1 where a text has a label, else 0."""


def places_of(rows: pa.Table) -> list[Place]:
    """Return what each row is about."""
    columns = (rows[name].to_pylist() for name in _ABOUT)
    return [
        (repo or "", document or "", -1 if position is None else position, text)
        for repo, document, position, text in zip(*columns, strict=True)
    ]


def shared_rows(context: TrainingContext, spare: float) -> SharedRows:
    """Return the texts of this task that all tasks may learn from, with the answers of each.

    A text that is no train row of this task, or that the siblings leave out because one of them
    tests it, is not among them. Of this task's train the share `spare` at least is kept back: by
    answers to those, which the model has not seen, one may choose. Raises `EvaluationError` where
    nothing is left.
    """
    own = context.task.name
    tables = {**context.siblings()}
    tables.setdefault(own, context.whole_train)
    train = set(places_of(context.whole_train))
    in_train = pc.is_in(
        context.unlabelled["id"], value_set=context.whole_train["id"].combine_chunks()
    )
    closed = set(places_of(context.unlabelled.filter(pc.invert(in_train))))
    if isinstance(context.protocol, HeldOut) and context.protocol.column == DOCUMENT:
        # Siblings are read as they were imported, and do not know of it.
        for rows in tables.values():
            is_held_out = pa.array(held_out_rows(rows, context.protocol), pa.bool_())
            closed.update(places_of(rows.filter(is_held_out)))
    answers = {name: _answers(rows) for name, rows in sorted(tables.items())}
    # A task that asks about some of these texts closes those that it leaves out.
    asking = {
        name: answered for name, answered in answers.items() if not train.isdisjoint(answered)
    }
    open_to_all = train - closed
    for answered in asking.values():
        open_to_all &= answered.keys()
    drawn = sorted(sorted(open_to_all, key=_draw)[: int((1 - spare) * len(train))])
    if not drawn:
        raise EvaluationError(
            f"No text of {own} is train in all tasks that ask about it",
            "Give --set epochs=0, or choose a model that learns from one task alone",
        )
    return _shared(context.whole_train, asking, drawn)


def _answers(rows: pa.Table) -> dict[Place, frozenset[str]]:
    (target,) = (name for name in _TARGETS if name in rows.column_names)
    return {
        key: frozenset([answer] if isinstance(answer, str) else answer)
        for key, answer in zip(places_of(rows), rows[target].to_pylist(), strict=True)
    }


def _shared(
    train: pa.Table, answers: Mapping[str, Mapping[Place, frozenset[str]]], drawn: Sequence[Place]
) -> SharedRows:
    columns, targets = [], []
    for name, answered in answers.items():
        for label in _labels([answered[key] for key in drawn]):
            columns.append((name, label))
            targets.append([float(label in answered[key]) for key in drawn])
    where = {key: row for row, key in enumerate(places_of(train))}
    texts = train.select(_ABOUT).take([where[key] for key in drawn])
    return SharedRows(tuple(columns), texts, np.array(targets, dtype=np.float64).T)


def _labels(answers: Collection[frozenset[str]]) -> list[str]:
    """Return the labels to learn, sorted; of two that exclude each other the rarer one."""
    counts = Counter(label for labels in answers for label in labels)
    one_each = all(len(labels) == 1 for labels in answers)
    if one_each and len(counts) == 2:
        return [min(counts, key=lambda label: (counts[label], label))]
    return sorted(counts)


def _draw(key: Place) -> bytes:
    return hashlib.sha256(repr(key).encode("utf-8", "surrogatepass")).digest()


@dataclass(frozen=True, slots=True)
class Training:
    """How a trunk is fine-tuned."""

    epochs: int
    rate: float
    """The learning rate of the encoder; that of the head is fixed."""
    tokens: int
    half: bool
    """True to compute in bfloat16, which some processors do twice as fast."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """The rows and settings of fine-tuning a trunk."""

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
        """Return how likely pairs have a task's label; None where it was not learned.

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

    Another process that wants the same waits for this one. A killed process leaves no trunk.
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
    tokens, half = lesson.training.tokens, lesson.training.half
    encoder = load_encoder(lesson.weights.directory, tokens, half=half)
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
    """Return whether this processor computes in bfloat16 by itself."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return "avx512_bf16" in text or "amx_bf16" in text
