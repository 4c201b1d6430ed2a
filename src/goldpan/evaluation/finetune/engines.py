"""Engines that sum gradients and change weights: PyTorch alone, or DeepSpeed."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol

import orjson

from goldpan.evaluation.finetune.heads import Tensor
from goldpan.evaluation.finetune.loading import learned, pick_device, put_back
from goldpan.evaluation.finetune.settings import TrainingSettings
from goldpan.evaluation.model import load


@dataclass(frozen=True, slots=True)
class ProcessGroup:
    """Which process this is, and its device."""

    device: Any
    rank: int = 0
    world: int = 1
    talk: Any = None
    """The group of processes that exchange what is no tensor, without a GPU."""

    @property
    def first(self) -> bool:
        """Whether it is the one that writes what all share."""
        return self.rank == 0

    @property
    def gpus(self) -> int:
        """How many GPUs all processes use."""
        return self.world if self.device.type == "cuda" else 0

    def wait(self) -> None:
        """Return when all processes have come here."""
        if self.world > 1:
            load("torch.distributed").barrier(group=self.talk)

    def gather(self, value: Any) -> list[Any]:
        """Return what all processes give, by their order."""
        if self.world == 1:
            return [value]
        gathered: list[Any] = [None] * self.world
        load("torch.distributed").all_gather_object(gathered, value, group=self.talk)
        return gathered


def join(settings: TrainingSettings) -> ProcessGroup:
    """Join the processes that a launcher started with this one."""
    device = pick_device(settings.device, int(os.environ.get("LOCAL_RANK", "0")))
    if device.type == "cpu":
        os.environ["DS_ACCELERATOR"] = "cpu"
    else:
        load("torch").cuda.set_device(device)
    distributed = load("torch.distributed")
    distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    talk = distributed.new_group(backend="gloo")
    return ProcessGroup(device, distributed.get_rank(), distributed.get_world_size(), talk)


def single_process(settings: TrainingSettings) -> ProcessGroup:
    """Return the place of a process that trains by itself."""
    return ProcessGroup(pick_device(settings.device))


_TEMPLATES = files("goldpan.evaluation.finetune") / "deepspeed"


def deepspeed_config(
    settings: TrainingSettings, *, device_batch: int, half: bool, gpu: bool
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


def accumulation(settings: TrainingSettings, device_batch: int) -> int:
    """Return how many parts a step has on each process."""
    share = -(-settings.batch // settings.processes)
    return -(-share // device_batch)


LossOf = Callable[[Any], Tensor]
"""Gives the loss that a model has; the model is that of an engine, which counts its calls."""


class TrainingEngine(Protocol):
    """Engine that changes a model's weights."""

    def learn(self, loss_of: LossOf, *, last: bool) -> Tensor:
        """Add the gradient of a loss, and return the loss; `last` of a step exchanges it."""
        ...

    def update(self, rate: float) -> None:
        """Change the weights by the gradients, and forget those."""
        ...

    def save(self, directory: Path) -> None:
        """Write weights and the optimizer's state; all processes do so together."""
        ...

    def load(self, directory: Path) -> None:
        """Read what `save` wrote; raises where it is broken."""
        ...


def weight_groups(module: Any, decay: float) -> list[dict[str, Any]]:
    """Return the weights that are trained: vectors, such as biases and norms, do not decay."""
    weights = [parameter for parameter in module.parameters() if parameter.requires_grad]
    return [
        {"params": [weight for weight in weights if weight.ndim > 1], "weight_decay": decay},
        {"params": [weight for weight in weights if weight.ndim <= 1], "weight_decay": 0.0},
    ]


class Plain:
    """AdamW of PyTorch; several processes average their gradients."""

    def __init__(self, module: Any, settings: TrainingSettings, group: ProcessGroup) -> None:
        torch = load("torch")
        self._module = module
        self._group = group
        self._clip = settings.clip
        self._wrapped = module
        if group.world > 1:
            parallel = load("torch.nn.parallel").DistributedDataParallel
            devices = [group.device] if group.device.type == "cuda" else None
            # Poolers and the like may lie unused, which else is an error at the second step.
            self._wrapped = parallel(module, device_ids=devices, find_unused_parameters=True)
        groups = weight_groups(module, settings.weight_decay)
        self._optimizer = torch.optim.AdamW(groups, lr=settings.learning_rate)

    def learn(self, loss_of: LossOf, *, last: bool) -> Tensor:
        """See `TrainingEngine`."""
        alone = last or self._group.world == 1
        with nullcontext() if alone else self._wrapped.no_sync():
            loss = loss_of(self._wrapped)
            loss.backward()
        return loss.detach()

    def update(self, rate: float) -> None:
        """See `TrainingEngine`."""
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        if self._clip:
            utils = load("torch.nn.utils")
            utils.clip_grad_norm_(self._module.parameters(), self._clip)
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)

    def save(self, directory: Path) -> None:
        """See `TrainingEngine`."""
        if self._group.first:
            torch = load("torch")
            torch.save(learned(self._module), directory / "weights.pt")
            torch.save(self._optimizer.state_dict(), directory / "optimizer.pt")

    def load(self, directory: Path) -> None:
        """See `TrainingEngine`."""
        torch = load("torch")
        options = {"map_location": "cpu", "weights_only": True}
        weights = torch.load(directory / "weights.pt", **options)
        optimizer = torch.load(directory / "optimizer.pt", **options)
        put_back(self._module, weights)
        self._optimizer.load_state_dict(optimizer)


class Zero:
    """DeepSpeed's ZeRO, stage 2: processes share gradients and the optimizer's state."""

    def __init__(
        self,
        module: Any,
        settings: TrainingSettings,
        group: ProcessGroup,
        device_batch: int,
        *,
        half: bool,
    ) -> None:
        deepspeed = load("deepspeed")
        gpu = group.device.type == "cuda"
        if not gpu:
            # Else a compiler is called for an extension that gloo does without.
            load("deepspeed.ops").__compatible_ops__["deepspeed_shm_comm"] = False
        deepspeed.init_distributed(dist_backend="nccl" if gpu else "gloo", verbose=False)
        self._lora = settings.lora
        self._engine, _, _, _ = deepspeed.initialize(
            model=module,
            model_parameters=weight_groups(module, settings.weight_decay),
            config=deepspeed_config(settings, device_batch=device_batch, half=half, gpu=gpu),
        )

    def learn(self, loss_of: LossOf, *, last: bool) -> Tensor:
        """See `TrainingEngine`."""
        self._engine.set_gradient_accumulation_boundary(last)
        loss = loss_of(self._engine)
        self._engine.backward(loss, scale_wrt_gas=False)
        return loss.detach()

    def update(self, rate: float) -> None:
        """See `TrainingEngine`."""
        for group in self._engine.optimizer.param_groups:
            group["lr"] = rate
        self._engine.step()

    def save(self, directory: Path) -> None:
        """See `TrainingEngine`."""
        self._engine.save_checkpoint(
            str(directory), tag="zero", save_latest=False, exclude_frozen_parameters=self._lora
        )

    def load(self, directory: Path) -> None:
        """See `TrainingEngine`."""
        loaded, _ = self._engine.load_checkpoint(
            str(directory), tag="zero", load_module_strict=not self._lora
        )
        if loaded is None:
            raise OSError(f"{directory} holds no DeepSpeed state")
