"""Works on a Ray cluster, which places the work, and does it again where a machine dies."""

from __future__ import annotations

import logging
import os
import socket
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from importlib import import_module
from typing import Any, Generic, TypeVar

from goldpan.core.engine_units import AHEAD, Closing, EngineError, do, first_line, name_of
from goldpan.core.extras import load

T = TypeVar("T")
R = TypeVar("R")

_RETRIES = 5
"""How often Ray does a unit again whose machine died under it."""
_OBJECT_STORE_BYTES = 128 * 2**20


class RayCluster(Closing):
    """The engine `ray`; see `goldpan.core.engine.open_engine` for the arguments and errors."""

    def __init__(self, processes: int, address: str) -> None:
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        ray = load("ray", "The engine ray", EngineError)
        self._ray = ray
        self._joined = ray.is_initialized()
        if self._joined:
            return
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
        try:
            if address:
                _knock(address)
                ray.init(address=address, **quiet)
            else:
                ray.init(
                    address="local",
                    num_cpus=processes,
                    include_dashboard=False,
                    object_store_memory=_OBJECT_STORE_BYTES,
                    _node_ip_address="127.0.0.1",  # whoever reaches Ray's ports may run code
                    **quiet,
                )
        except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
            why = f"({first_line(error)})"
            if address:
                raise EngineError(
                    f"No Ray cluster answers at {address} {why}",
                    "Start one with ray start --head, or leave the address out",
                ) from None
            raise EngineError(
                f"Ray does not start on this machine {why}",
                "Fix that (a long TMPDIR is too long for it), or take the engine local",
            ) from None

    def close(self) -> None:
        """Leave the cluster, which ends where this engine started it."""
        if not self._joined:
            self._ray.shutdown()

    @property
    def processors(self) -> int:
        """How many processors the cluster has now: machines come and go."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    @property
    def gpus(self) -> float:
        """How many GPUs that machine has now which has the most."""
        return max((float(node["Resources"].get("GPU", 0)) for node in self._nodes()), default=0.0)

    def map(self, work: Callable[[T], R], units: Sequence[T]) -> Iterator[R]:
        """Yield the result of each unit, in the order of units; see `Engine.map`."""
        waiting: deque[Submitted[R]] = deque()
        try:
            for unit in units:
                waiting.append(self.submit(work, unit))
                if len(waiting) >= AHEAD * self.processors:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for submitted in waiting:
                submitted.cancel()

    def submit(self, work: Callable[[T], R], unit: T, *, gpus: float = 0.0) -> Submitted[R]:
        """Have a unit done where there is room: one processor, and `gpus` of one machine."""
        task = self._ray.remote(do).options(max_retries=_RETRIES, num_gpus=gpus)
        return Submitted(self._ray, unit, task.remote(work, unit))

    def on_each_machine(self, work: Callable[[T], R], unit: T) -> dict[str, Submitted[R]]:
        """Have a unit done once on each machine that takes work, by the machine's address."""
        strategies = import_module("ray.util.scheduling_strategies")
        submitted: dict[str, Submitted[R]] = {}
        for node in self._nodes():
            there = strategies.NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            task = self._ray.remote(do).options(num_cpus=0, scheduling_strategy=there)
            name = f"{node['NodeManagerAddress']} ({node['NodeID'][:8]})"
            submitted[name] = Submitted(self._ray, unit, task.remote(work, unit))
        return submitted

    def _nodes(self) -> list[Mapping[str, Any]]:
        """Return the machines that take work."""
        nodes: list[Mapping[str, Any]] = self._ray.nodes()
        return [node for node in nodes if node["Alive"] and node["Resources"].get("CPU", 0)]


class Submitted(Generic[R]):
    """A unit that the cluster does."""

    def __init__(self, ray: Any, unit: object, reference: Any) -> None:
        self._ray = ray
        self._unit = unit
        self._reference = reference
        self.future: Future[Any] = reference.future()
        """Is done when the unit is, for `concurrent.futures.wait`; `result` tells how."""

    def result(self) -> R:
        """Wait for the result; a failure is raised as `Engine.map` says."""
        errors = self._ray.exceptions
        try:
            result: R = self._ray.get(self._reference)
        except errors.RayTaskError as error:
            raise error.cause from error
        except errors.RayError as error:
            raise EngineError(
                f"Ray gave up {name_of(self._unit)} after {_RETRIES} new attempts "
                f"({first_line(error)})",
                "See ray status for the machines; run the same command again for the rest",
            ) from None
        return result

    def cancel(self) -> None:
        """Give it up, where it is not done."""
        self._ray.cancel(self._reference)


def _knock(address: str) -> None:
    """Raise `OSError` where nobody listens, for which Ray itself takes a minute."""
    host, _, port = address.rpartition(":")
    if host and port.isdigit() and "://" not in host:
        socket.create_connection((host, int(port)), timeout=10).close()
