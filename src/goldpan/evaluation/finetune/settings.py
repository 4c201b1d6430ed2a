"""How a model is fine-tuned: every number that may change its answers.

Settings are part of what tells runs apart. A recipe gives those that are not named.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from goldpan.core.errors import UsageError
from goldpan.core.registry import Registry
from goldpan.core.settings_file import read_toml

AS_LONG_AS_THE_MODEL = 1 << 20
"""A number of tokens that no model takes, so that its own limit holds."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a training is told; `--set NAME=VALUE` changes one."""

    recipe: str = "default"
    """`default`, or one of a paper or plugin: the source of what is not given."""
    epochs: int = 10
    word_epochs: int = 30
    """Of tasks that are about words (NER and masked words), which have few rows."""
    evaluations: int = 10
    """How often the validation split is looked at; word tasks do after each epoch."""
    patience: int = 3
    """Evaluations without a better score after which the training stops."""
    batch: int = 64
    """Rows to a step, however many fit on a device at once."""
    least_steps: int = 200
    """With few rows, batches are halved down to 8 and epochs added until there are as many steps;
    a number of epochs or a batch that was given stays."""
    device_batch: int = 0
    """Rows on a device at once; 0 begins with all and halves them when memory runs out."""
    learning_rate: float = 0.0
    """0 is 5e-5; 1e-4 for encoder-decoders, 2e-4 with LoRA."""
    weight_decay: float = 0.01
    warmup: float = 0.1
    """The share of steps in which the learning rate rises."""
    decay: bool = True
    """Whether the learning rate then falls to 0, on a line."""
    clip: float = 1.0
    """The longest gradient."""
    max_length: int = 0
    """Tokens of a text; 0 is the task's. Never more than the model takes."""
    log_targets: bool = True
    """Whether numbers are learned as standardized logarithms: efforts span orders of magnitude."""
    group_lengths: bool = True
    """Whether texts of like length share a step, which saves padding."""
    padding: str = "auto"
    """`left` or `right`; `auto` is left for StarCoder2 and right for others."""
    precision: str = "auto"
    """`bf16` or `fp32`; `auto` is bf16 on GPUs that have it."""
    attention: str = "auto"
    """`flash`, `sdpa` or `eager`; `auto` is the fastest that model and device have."""
    device: str = "auto"
    """`cpu` or `cuda`."""
    processes: int = 1
    """Processes, one per GPU."""
    launcher: str = "torchrun"
    """`torchrun` or `deepspeed`."""
    deepspeed: str = "none"
    """`zero2` or `zero2-offload`."""
    recompute: bool = False
    """Whether activations are computed twice instead of kept: slower, less memory."""
    lora: bool = False
    """Whether low-rank adapters learn instead of the model."""
    lora_rank: int = 16
    lora_alpha: int = 32
    answer_tokens: int = 256
    """The longest answer, of tasks that ask for text."""


CHOICES: Mapping[str, tuple[str, ...]] = {
    "padding": ("auto", "left", "right"),
    "precision": ("auto", "bf16", "fp32"),
    "attention": ("auto", "flash", "sdpa", "eager"),
    "device": ("auto", "cpu", "cuda"),
    "launcher": ("torchrun", "deepspeed"),
    "deepspeed": ("none", "zero2", "zero2-offload"),
}

LENGTHS = "lengths"
"""Of a recipe's file: the longest text in tokens by kind of model; of others, what they take."""
_SMALLEST, _MOST_EPOCHS = 8, 100
"""The smallest batch and the most epochs that few rows are given."""
FEWEST_STEPS = 100
"""Fewer steps hardly change a model: a run says so."""
_AT_LEAST = {
    "epochs": 1,
    "word_epochs": 1,
    "evaluations": 1,
    "patience": 1,
    "batch": 1,
    "device_batch": 0,
    "least_steps": 0,
    "learning_rate": 0,
    "weight_decay": 0,
    "warmup": 0,
    "clip": 0,
    "max_length": 0,
    "processes": 1,
    "lora_rank": 1,
    "lora_alpha": 1,
    "answer_tokens": 1,
}


def with_enough_steps(
    settings: Settings, rows: int, *, words: bool, chosen: Collection[str]
) -> Settings:
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
    batch = max(batch, settings.processes)
    enough = replace(settings, batch=batch)
    return replace(enough, word_epochs=epochs) if words else replace(enough, epochs=epochs)


def _read_recipe(path: Path) -> Mapping[str, Any]:
    source = read_toml(path, "docs/finetuning.md")
    values = dict(source.values)
    if LENGTHS in values:
        source.read(dict[str, int], values.pop(LENGTHS), (LENGTHS,))
    source.read(Settings, values)
    return source.values


_OWN: Mapping[str, Mapping[str, Any]] = {"default": {}}
find_recipe = Registry("recipe", lambda: _OWN, "fine-tuning recipe", read=_read_recipe).find
"""Returns the settings that a recipe sets, and its `LENGTHS`; raises `UsageError`."""


def check(settings: Settings) -> Settings:
    """Return the settings; raises `UsageError` for a value that none can have."""
    for name, choices in CHOICES.items():
        value = getattr(settings, name)
        if value not in choices:
            raise UsageError(f"{name} cannot be {value!r}", f"Choose {', '.join(choices)}")
    for name, least in _AT_LEAST.items():
        value = getattr(settings, name)
        if not value >= least:
            raise UsageError(f"{name} cannot be {value}", f"Give {least} or more")
    if settings.warmup > 1:
        raise UsageError(f"warmup cannot be {settings.warmup}", "Give a share of the steps")
    if settings.batch < settings.processes:
        raise UsageError(
            f"A batch of {settings.batch} rows leaves some of {settings.processes} processes idle",
            "Give a larger batch or fewer processes",
        )
    return settings
