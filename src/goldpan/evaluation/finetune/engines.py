"""Engines that change weights, PyTorch alone or DeepSpeed, and the checkpoints that they leave.

    DIRECTORY/checkpoints/step-00000120/
    ├── state.json    how far the training is, and the size of every other file
    ├── random-0.pt   the state of each process's random numbers
    └── ...           weights and optimizer, as the engine writes them

A kill, even in the middle of writing, does a checkpoint no harm: it is complete when it has its
name. Two are kept; where the newer is damaged, the older serves.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson

from goldpan.core.errors import EvaluationError
from goldpan.core.storage.workspace import write_whole
from goldpan.core.terminal import Reporter
from goldpan.evaluation.finetune.heads import Tensor
from goldpan.evaluation.finetune.job import TrainingSettings
from goldpan.evaluation.finetune.loading import learned, pick_device, put_back
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
        """True in the process of rank 0, which writes the files that all share."""
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
        """Return the values of all processes, in their order."""
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


def weight_groups(module: Any, decay: float) -> list[dict[str, Any]]:
    """Return the weights that are trained: vectors, such as biases and norms, do not decay."""
    weights = [parameter for parameter in module.parameters() if parameter.requires_grad]
    return [
        {"params": [weight for weight in weights if weight.ndim > 1], "weight_decay": decay},
        {"params": [weight for weight in weights if weight.ndim <= 1], "weight_decay": 0.0},
    ]


class TrainingEngine:
    """Changes a model's weights by AdamW of PyTorch; several processes average their gradients."""

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
        """Add the gradient of a loss, and return the loss; `last` of a step exchanges it."""
        alone = last or self._group.world == 1
        with nullcontext() if alone else self._wrapped.no_sync():
            loss = loss_of(self._wrapped)
            loss.backward()
        return loss.detach()

    def update(self, rate: float) -> None:
        """Change the weights by the gradients, and forget those."""
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        if self._clip:
            utils = load("torch.nn.utils")
            utils.clip_grad_norm_(self._module.parameters(), self._clip)
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)

    def save(self, directory: Path) -> None:
        """Write weights and the optimizer's state; all processes do so together."""
        if self._group.first:
            torch = load("torch")
            torch.save(learned(self._module), directory / "weights.pt")
            torch.save(self._optimizer.state_dict(), directory / "optimizer.pt")

    def load(self, directory: Path) -> None:
        """Read what `save` wrote; raises where it is broken."""
        torch = load("torch")
        options = {"map_location": "cpu", "weights_only": True}
        weights = torch.load(directory / "weights.pt", **options)
        optimizer = torch.load(directory / "optimizer.pt", **options)
        put_back(self._module, weights)
        self._optimizer.load_state_dict(optimizer)


class _Zero(TrainingEngine):
    """DeepSpeed's ZeRO, stage 2: processes share gradients and the optimizer's state."""

    def __init__(
        self, module: Any, settings: TrainingSettings, gpu: bool, config: Mapping[str, Any]
    ) -> None:
        deepspeed = load("deepspeed")
        if not gpu:
            # Else a compiler is called for an extension that gloo does without.
            load("deepspeed.ops").__compatible_ops__["deepspeed_shm_comm"] = False
        deepspeed.init_distributed(dist_backend="nccl" if gpu else "gloo", verbose=False)
        self._lora = settings.lora
        self._engine, _, _, _ = deepspeed.initialize(
            model=module,
            model_parameters=weight_groups(module, settings.weight_decay),
            config=config,
        )

    def learn(self, loss_of: LossOf, *, last: bool) -> Tensor:
        self._engine.set_gradient_accumulation_boundary(last)
        loss = loss_of(self._engine)
        self._engine.backward(loss, scale_wrt_gas=False)
        return loss.detach()

    def update(self, rate: float) -> None:
        for group in self._engine.optimizer.param_groups:
            group["lr"] = rate
        self._engine.step()

    def save(self, directory: Path) -> None:
        self._engine.save_checkpoint(
            str(directory), tag="zero", save_latest=False, exclude_frozen_parameters=self._lora
        )

    def load(self, directory: Path) -> None:
        loaded, _ = self._engine.load_checkpoint(
            str(directory), tag="zero", load_module_strict=not self._lora
        )
        if loaded is None:
            raise OSError(f"{directory} holds no DeepSpeed state")


def make_engine(
    module: Any, settings: TrainingSettings, group: ProcessGroup, device_batch: int, *, half: bool
) -> TrainingEngine:
    """Return the engine that the settings ask for."""
    if settings.deepspeed == "none":
        return TrainingEngine(module, settings, group)
    gpu = group.device.type == "cuda"
    config = deepspeed_config(settings, device_batch=device_batch, half=half, gpu=gpu)
    return _Zero(module, settings, gpu, config)


_KEPT = 2
_STATE = "state.json"


@dataclass(slots=True)
class TrainingState:
    """How far a training is."""

    step: int = 0
    best: float | None = None
    """The best validation score, higher is better."""
    best_step: int = 0
    misses: int = 0
    """Evaluations since then."""
    losses: list[float] = field(default_factory=list)
    """Loss of each step."""
    scores: list[tuple[int, float | None]] = field(default_factory=list)
    """Score of each evaluation, with its step."""
    tokens: int = 0
    seconds: float = 0.0


def save(
    directory: Path, state: TrainingState, engine: TrainingEngine, group: ProcessGroup
) -> None:
    """Write a checkpoint and remove older ones; all processes call it together.

    Raises `EvaluationError` where the disk does not take it.
    """
    folder = directory / "checkpoints"
    final = folder / f"step-{state.step:08d}"
    unfinished = folder / f"{final.name}.unfinished"
    if group.first:
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
    group.wait()
    try:
        engine.save(unfinished)
        load("torch").save(_random_states(group), unfinished / f"random-{group.rank}.pt")
        group.wait()
        if group.first:
            _finish(unfinished, final, state)
    except (OSError, RuntimeError) as error:
        raise EvaluationError(
            f"The checkpoint {final} cannot be written ({' '.join(str(error).split())[:300]})",
            "Free some space on that disk; the same command resumes from the previous checkpoint",
        ) from None
    group.wait()


def resume(
    directory: Path, engine: TrainingEngine, group: ProcessGroup, reporter: Reporter
) -> TrainingState:
    """Set engine and random numbers to the newest sound checkpoint; all processes together.

    Returns a fresh state where there is none; raises `EvaluationError` where all are damaged.
    """
    paths = group.gather(_complete(directory))[0]
    for path in paths:
        problem = _read(path, engine, group)
        problems = [text for text in group.gather(problem) if text]
        if not problems:
            stored = orjson.loads((path / _STATE).read_bytes())["state"]
            stored["scores"] = [(step, score) for step, score in stored["scores"]]
            return TrainingState(**stored)
        if group.first:
            reporter.note(f"The checkpoint {path.name} is damaged: {problems[0]}")
    if paths:
        raise EvaluationError(
            f"All checkpoints in {directory / 'checkpoints'} are damaged",
            "Remove them and run the same command again, which starts over",
        )
    return TrainingState()


def _complete(directory: Path) -> list[Path]:
    paths = (directory / "checkpoints").glob("step-*")
    return sorted((path for path in paths if path.suffix != ".unfinished"), reverse=True)


def _read(path: Path, engine: TrainingEngine, group: ProcessGroup) -> str:
    """Load a checkpoint; return its problem, empty if it is sound."""
    try:
        sizes = orjson.loads((path / _STATE).read_bytes())["sizes"]
        for name, size in sizes.items():
            if (path / name).stat().st_size != size:
                return f"{name} is cut off"
        torch = load("torch")
        states = torch.load(path / f"random-{group.rank}.pt", weights_only=True)
        engine.load(path)
    except Exception as error:  # noqa: BLE001 - torch raises any kind for a broken file
        return " ".join(f"{type(error).__name__}: {error}".split())[:200]
    torch.set_rng_state(states["processor"])
    if group.device.type == "cuda":
        torch.cuda.set_rng_state(states["device"], group.device)
    return ""


def _random_states(group: ProcessGroup) -> dict[str, Any]:
    torch = load("torch")
    states = {"processor": torch.get_rng_state()}
    if group.device.type == "cuda":
        states["device"] = torch.cuda.get_rng_state(group.device)
    return states


def _finish(unfinished: Path, final: Path, state: TrainingState) -> None:
    files = sorted(path for path in unfinished.rglob("*") if path.is_file())
    sizes = {str(path.relative_to(unfinished)): path.stat().st_size for path in files}
    state_file = unfinished / _STATE
    write_whole(state_file, orjson.dumps({"state": asdict(state), "sizes": sizes}))
    for path in (*files, state_file):
        with path.open("rb") as file:
            os.fsync(file.fileno())
    if final.exists():
        shutil.rmtree(final)
    unfinished.rename(final)
    for old in _complete(final.parents[1])[_KEPT:]:
        shutil.rmtree(old, ignore_errors=True)
