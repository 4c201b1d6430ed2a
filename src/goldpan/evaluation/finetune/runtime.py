"""One process among those that train together, as its launcher told it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from goldpan.evaluation.extras import load
from goldpan.evaluation.finetune.loading import pick_device
from goldpan.evaluation.finetune.settings import Settings


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


def join(settings: Settings) -> ProcessGroup:
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


def single_process(settings: Settings) -> ProcessGroup:
    """Return the place of a process that trains by itself."""
    return ProcessGroup(pick_device(settings.device))
