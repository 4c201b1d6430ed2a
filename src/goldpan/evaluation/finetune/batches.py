"""Which rows make a step, and which of them a process takes at once.

A step has the same rows in the same order however many processes share it and however few fit on
a device, so that neither changes what is learned.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import orjson

from goldpan.evaluation.finetune.settings import Settings

# What DeepSpeed is told: the templates in `deepspeed/` with what the settings say filled in.

_TEMPLATES = files("goldpan.evaluation.finetune") / "deepspeed"


def deepspeed_config(
    settings: Settings, *, device_batch: int, half: bool, gpu: bool
) -> dict[str, Any]:
    """Return the configuration of `zero2` or `zero2-offload` for a training.

    Accumulation is told for the full step; the training itself says where a step ends, since the
    last one of an epoch is shorter. The learning rate is set at each step.
    """
    text = (_TEMPLATES / f"{settings.deepspeed}.json").read_bytes()
    config: dict[str, Any] = orjson.loads(text)
    config["optimizer"]["params"] |= {
        "lr": settings.learning_rate,
        "weight_decay": settings.weight_decay,
    }
    config["bf16"]["enabled"] = half
    config["gradient_clipping"] = settings.clip
    config["train_micro_batch_size_per_gpu"] = device_batch
    config["gradient_accumulation_steps"] = accumulation(settings, device_batch)
    if not gpu:
        config["zero_optimization"]["overlap_comm"] = False
        if "offload_optimizer" in config["zero_optimization"]:
            config["zero_optimization"]["offload_optimizer"]["pin_memory"] = False
    return config


def accumulation(settings: Settings, device_batch: int) -> int:
    """Return how many parts a step has on each process."""
    share = -(-settings.batch // settings.processes)
    return -(-share // device_batch)


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
class Part:
    """What a process takes at once."""

    rows: Sequence[int]
    counts: bool = True
    """False where there are no rows left for it: it takes one that does not count, since all
    processes must take part in every exchange."""


def rows_at_once(most: int, longest: int, device: str) -> int:
    """Return how many rows a device takes at once, of which the longest has `longest` tokens."""
    return max(1, min(most, _CPU_TOKENS // max(1, longest))) if device == "cpu" else most


def parts_of(step: Sequence[int], rank: int, world: int, device_batch: int) -> list[Part]:
    """Return the parts of a step that one of `world` processes takes, as many as any other."""
    largest = math.ceil(len(step) / world)
    parts = math.ceil(largest / device_batch)
    mine = step[rank::world]
    cut = [mine[at * len(mine) // parts : (at + 1) * len(mine) // parts] for at in range(parts)]
    return [Part(rows) if rows else Part(step[:1], counts=False) for rows in cut]
