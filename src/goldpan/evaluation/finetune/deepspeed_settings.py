"""What DeepSpeed is told: the templates in `deepspeed/` with what the settings say filled in."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import orjson

from goldpan.evaluation.finetune.settings import Settings

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
