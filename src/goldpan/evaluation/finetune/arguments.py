"""Arguments of a training, as transformers and DeepSpeed take them."""

from __future__ import annotations

import math
import os
from typing import Any

from goldpan.evaluation.finetune.job import WORD_TASKS, TrainingJob, TrainingSettings
from goldpan.evaluation.finetune.steps import StepSampler
from goldpan.evaluation.model import load

CHECKPOINTS = "checkpoints"
STATE = "trainer_state.json"
"""Of a checkpoint, which the Trainer writes last."""
_LOGGED = 1_000
"""Losses that are kept at most."""


def training_arguments(
    job: TrainingJob, sampler: StepSampler, *, gpu: bool, half: bool
) -> dict[str, Any]:
    """Return the arguments of transformers' `TrainingArguments` for a training."""
    settings = job.settings
    steps = sampler.steps * job.epochs
    by_epoch = job.task.type in WORD_TASKS
    interval = sampler.steps if by_epoch else math.ceil(steps / settings.evaluations)
    arguments: dict[str, Any] = {
        "output_dir": str(job.directory / CHECKPOINTS),
        "seed": job.seed % 2**32,
        "use_cpu": not gpu,
        "bf16": half,
        "per_device_train_batch_size": sampler.device_batch,
        "gradient_accumulation_steps": sampler.parts,
        "num_train_epochs": job.epochs,
        "learning_rate": settings.learning_rate,
        "weight_decay": settings.weight_decay,
        "max_grad_norm": settings.clip,
        "warmup_steps": math.ceil(settings.warmup * steps),
        "lr_scheduler_type": "linear" if settings.decay else "constant_with_warmup",
        "gradient_checkpointing": settings.recompute,
        "gradient_checkpointing_kwargs": {"use_reentrant": False},
        "save_strategy": "steps",
        "save_steps": interval,
        "save_total_limit": 2,
        "restore_callback_states_from_checkpoint": True,
        "logging_steps": math.ceil(steps / _LOGGED),
        "logging_nan_inf_filter": False,
        "report_to": [name for name in settings.report_to.split(",") if name != "none"],
        "disable_tqdm": True,
        "remove_unused_columns": False,
        "label_names": ["labels"],
        "dataloader_pin_memory": gpu,
    }
    if job.validation is not None and len(job.validation):
        arguments |= {
            "eval_strategy": "steps",
            "eval_steps": interval,
            "metric_for_best_model": "score",
            "greater_is_better": True,
        }
    if "LOCAL_RANK" in os.environ:
        arguments["ddp_backend"] = "nccl" if gpu else "gloo"
    if settings.deepspeed != "none":
        arguments["deepspeed"] = deepspeed_config(settings, gpu=gpu)
    return arguments


def deepspeed_config(settings: TrainingSettings, *, gpu: bool) -> dict[str, Any]:
    """Return DeepSpeed's configuration; the Trainer fills in `auto`."""
    number = 3 if settings.shares_weights else 2
    stage: dict[str, Any] = {"stage": number, "overlap_comm": gpu, "contiguous_gradients": True}
    on_cpu = {"device": "cpu", "pin_memory": gpu}
    if settings.deepspeed.endswith("-offload"):
        stage["offload_optimizer"] = on_cpu
    if settings.shares_weights:
        stage["stage3_gather_16bit_weights_on_model_save"] = True
    return {
        "zero_optimization": stage,
        "zero_force_ds_cpu_optimizer": False,  # it wants a compiler
        "zero_allow_untested_optimizer": True,
        "bf16": {"enabled": "auto"},
        "data_types": {"grad_accum_dtype": "fp32"},
        "gradient_clipping": "auto",
        "train_micro_batch_size_per_gpu": "auto",
        "gradient_accumulation_steps": "auto",
        "steps_per_print": 1_000_000_000,
    }


def sharding(settings: TrainingSettings, *, gpu: bool) -> Any:
    """Return what makes transformers share out the weights that it reads, None if nothing."""
    if not settings.shares_weights:
        return None
    config = deepspeed_config(settings, gpu=gpu) | {
        "train_micro_batch_size_per_gpu": 1,
        "gradient_accumulation_steps": 1,
        "gradient_clipping": settings.clip,
        "bf16": {"enabled": False},
    }
    return load("transformers.integrations").HfDeepSpeedConfig(config)
