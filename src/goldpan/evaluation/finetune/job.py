"""Input of one training: settings, rows and weights.

Settings are part of a run's identity. A recipe sets those that the user does not.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import pyarrow as pa
from annotated_types import Ge

from goldpan.core.errors import UsageError
from goldpan.core.plugins.registry import Registry
from goldpan.core.settings.file import read_toml
from goldpan.datasets.tasks.task import Task

AS_LONG_AS_THE_MODEL = 1 << 20
"""A number of tokens that no model takes, so that its own limit holds."""
WORD_TASKS = ("ner", "mlm")
CHECKPOINTS, TRAINED = "checkpoints", "trained.json"
STATE = "trainer_state.json"
"""Of a checkpoint, which the Trainer writes last."""
Count = Annotated[int, Ge(0)]
Positive = Annotated[int, Ge(1)]
Amount = Annotated[float, Ge(0)]


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """Settings of a training; `--set NAME=VALUE` changes one."""

    recipe: str = "default"
    """`default`, or one of a paper or plugin: the source of what is not given."""
    epochs: Positive = 10
    """How often each row is seen; `--epochs` sets `word_epochs` too."""
    word_epochs: Positive = 30
    """Epochs of tasks on words (NER and masked words), which have few rows."""
    evaluations: Positive = 10
    """How often the validation split is looked at; word tasks do after each epoch."""
    patience: Positive = 3
    """Evaluations without a better score after which the training stops."""
    batch: Positive = 64
    """Rows to a step, however many fit on a device at once."""
    least_steps: Count = 200
    """With few rows, batches are halved down to 8 and epochs added until there are as many steps;
    a number of epochs or a batch that was given stays."""
    device_batch: Count = 0
    """Rows on a device at once; 0 begins with all and halves them when memory runs out."""
    learning_rate: Amount = 0.0
    """0 is 5e-5; 1e-4 for encoder-decoders, 2e-4 with LoRA."""
    weight_decay: Amount = 0.01
    """Not of biases and norms."""
    warmup: Amount = 0.1
    """The share of steps in which the learning rate rises."""
    decay: bool = True
    """True if the learning rate then falls to 0, on a line."""
    clip: Amount = 1.0
    """The largest norm of a gradient."""
    max_length: Count = 0
    """Tokens of a text; 0 is the task's. Never more than the model takes."""
    log_targets: bool = True
    """True if numbers are learned as standardized logarithms: efforts span orders of magnitude."""
    group_lengths: bool = True
    """True if texts of similar length share a step, which saves padding (transformers' way)."""
    precision: Literal["auto", "bf16", "fp32"] = "auto"
    """`bf16` or `fp32`; `auto` is bf16 on GPUs that have it."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """`cpu` or `cuda`."""
    processes: Positive = 1
    """Processes, one per GPU, which torchrun starts; also `--workers`."""
    deepspeed: Literal["none", "zero2", "zero2-offload", "zero3", "zero3-offload"] = "none"
    """`zero2`; `zero3`, which shares out the weights too; either with `-offload`, which keeps
    the optimizer off the GPU; also `--deepspeed`."""
    recompute: bool = False
    """True if activations are computed twice instead of kept: slower, less memory."""
    lora: bool = False
    """True if low-rank adapters are trained instead of the whole model."""
    lora_rank: Positive = 16
    lora_alpha: Positive = 32
    answer_tokens: Positive = 256
    """The longest answer, of tasks that ask for text."""
    report_to: str = "none"
    """Tools that are told of each step, such as `wandb` or `tensorboard`, which writes to the
    folder that TENSORBOARD_LOGGING_DIR names; separated by commas."""

    @property
    def shares_weights(self) -> bool:
        """Return whether each process holds a part of the weights alone."""
        return self.deepspeed.startswith("zero3")


LENGTHS = "lengths"
"""A recipe's key for the longest text in tokens by model type; other types take all they can."""
_SMALLEST, _MOST_EPOCHS = 8, 100
"""The smallest batch and the most epochs that few rows are given."""
FEWEST_STEPS = 100
"""Fewer steps hardly change a model: a run says so."""


def with_enough_steps(
    settings: TrainingSettings, rows: int, *, words: bool, chosen: Collection[str]
) -> TrainingSettings:
    """Return settings under which so many rows give `least_steps`, as far as `chosen` allows.

    `words` says that the task is one of those that `word_epochs` counts for; `chosen` names what
    was asked for and stays.
    """
    name = "word_epochs" if words else "epochs"
    epochs = int(getattr(settings, name))
    batch = settings.batch

    def steps() -> int:
        return math.ceil(rows / batch) * epochs

    while "batch" not in chosen and steps() < settings.least_steps and batch // 2 >= _SMALLEST:
        batch //= 2
    if name not in chosen and rows and steps() < settings.least_steps:
        epochs = min(_MOST_EPOCHS, math.ceil(settings.least_steps / math.ceil(rows / batch)))
    batch = math.ceil(batch / settings.processes) * settings.processes
    enough = replace(settings, batch=batch)
    return replace(enough, word_epochs=epochs) if words else replace(enough, epochs=epochs)


def _read_recipe(path: Path) -> Mapping[str, Any]:
    source = read_toml(path, "docs/reference/models.md")
    values = dict(source.values)
    if LENGTHS in values:
        source.read(dict[str, int], values.pop(LENGTHS), (LENGTHS,))
    source.read(TrainingSettings, values)
    return source.values


_OWN: Mapping[str, Mapping[str, Any]] = {"default": {}}
find_recipe = Registry("recipe", lambda: _OWN, "fine-tuning recipe", read=_read_recipe).find
"""Returns the settings that a recipe sets, and its `LENGTHS`; raises `UsageError`."""


def check(settings: TrainingSettings) -> TrainingSettings:
    """Return the settings; raises `UsageError` for what does not fit together."""
    if settings.warmup > 1:
        raise UsageError(f"warmup cannot be {settings.warmup}", "Give a share of the steps")
    if settings.batch % settings.processes:
        more = math.ceil(settings.batch / settings.processes) * settings.processes
        raise UsageError(
            f"{settings.processes} processes cannot share a batch of {settings.batch} rows evenly",
            f"Set batch={more}, or give another number of processes",
        )
    return settings


@dataclass(frozen=True, slots=True)
class TrainingJob:
    """Task, rows, settings and weights of one training."""

    task: Task
    train: pa.Table
    validation: pa.Table | None
    settings: TrainingSettings
    seed: int
    weights: Path
    directory: Path
    """For checkpoints and the weights that were learned."""

    @property
    def epochs(self) -> int:
        """How often each row is seen at most."""
        words = self.task.type in WORD_TASKS
        return self.settings.word_epochs if words else self.settings.epochs


class TooLargeError(Exception):
    """The rows that a device was given at once do not fit."""


def device_share(batch: int, world: int, most: int) -> int:
    """Return the largest number of rows, at most `most`, that divides a process's share."""
    share = batch // world
    return next(size for size in range(max(1, min(most, share)), 0, -1) if share % size == 0)
