"""Runs one piece of work over many units: in this process, in several, or on a Ray cluster.

A unit may be worked on twice, where a machine dies in the middle. So what a unit writes must be
the same each time and appear by a rename, and the results that come back must be small.
"""

from __future__ import annotations

import logging
import os
import platform
import socket
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import redirect_stdout
from functools import partial
from typing import Any, Generic, Self, TypeVar

from goldpan._version import __version__
from goldpan.core.errors import GoldpanError, UsageError
from goldpan.core.imports import load
from goldpan.core.parallel.workers import WorkerEndedError, WorkerPool
from goldpan.core.plugins.loading import named_files, use
from goldpan.core.resources import explain
from goldpan.core.settings.trust import VARIABLE as TRUST
from goldpan.core.values import Execution

T = TypeVar("T")
R = TypeVar("R")

AHEAD = 2
"""Units in flight a process: one at work, one waiting."""
_MOST_OF_A_NAME = 200


class EngineError(GoldpanError):
    """The processes or machines that do the work are not there, or ended under it."""


class UnitError(Exception):
    """Work on a unit failed as nobody foresaw; the cause tells how."""


class Engine:
    """Does work on units; a context manager that frees its processes at the end."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and not issubclass(kind, Exception):  # such as Ctrl-C
            self.abandon()
        self.close()

    def abandon(self) -> None:
        """End the work on units without waiting for their results."""

    def close(self) -> None:
        """Free what the engine holds."""

    @property
    def processors(self) -> int:
        """How many units are worked on at once."""
        return 1

    def submit(self, work: Callable[[T], R], unit: T) -> Future[R] | Submitted[R]:
        """Have a unit done where there is room; what `work` raises comes back as it is."""
        raise NotImplementedError

    def map(self, work: Callable[[T], R], units: Iterable[T]) -> Iterator[R]:
        """Yield the result of each unit, in the order of units, as soon as it is there.

        Few units are in flight at once, so a slow reader holds the work back. `work` is a
        function of a module, or a `functools.partial` of one, and units can be pickled. A
        `GoldpanError` of a unit comes back as it is with the unit's name in front, any other
        failure as `UnitError`; the units after it are given up. Raises `EngineError` where
        processes end from outside.
        """
        waiting: deque[tuple[T, Future[R] | Submitted[R]]] = deque()
        try:
            for unit in units:
                waiting.append((unit, self.submit(partial(do, work), unit)))
                if len(waiting) >= AHEAD * self.processors:
                    yield _result(*waiting.popleft())
            while waiting:
                yield _result(*waiting.popleft())
        finally:
            for _, submitted in waiting:
                submitted.cancel()


def _result(unit: object, submitted: Future[R] | Submitted[R]) -> R:
    try:
        return submitted.result()
    except WorkerEndedError:
        raise EngineError(
            f"A process was killed, perhaps for lack of memory, at {name_of(unit)}",
            "Give fewer processes and try again",
        ) from None


def do(work: Callable[[T], R], unit: T) -> R:
    """Do the work on one unit; whatever goes wrong bears its name."""
    try:
        return work(unit)
    except GoldpanError as error:
        raise error.reworded(f"{name_of(unit)}: {error.problem}") from error
    except Exception as error:  # work may raise anything, and has to name its unit
        if explained := explain(error):
            raise explained.reworded(f"{name_of(unit)}: {explained.problem}") from error
        # Of any other kind: without the unit's name nobody finds what broke.
        raise UnitError(f"{name_of(unit)}: {type(error).__name__}: {error}") from error


def name_of(unit: object) -> str:
    """Return a unit's name as errors tell it."""
    return str(unit)[:_MOST_OF_A_NAME]


def first_line(error: Exception) -> str:
    """Return the first line of an error, or its kind."""
    lines = str(error).strip().splitlines()
    return lines[0][:_MOST_OF_A_NAME] if lines else type(error).__name__


_RETRIES = 5
"""How often Ray does a unit again whose machine died under it."""
_OBJECT_STORE_BYTES = 128 * 2**20


class LostError(EngineError):
    """The machine that had a unit is gone."""


class RayCluster(Engine):
    """The engine `ray`; see `open_engine` for the arguments and errors."""

    def __init__(self, processes: int, address: str) -> None:
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        ray = load("ray", "The engine ray", EngineError)
        self._ray = ray
        self._joined = ray.is_initialized()
        self._output = redirect_stdout(sys.stderr)
        if self._joined:
            return
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
        try:
            if address:
                _knock(address)
                trusted = {TRUST: os.environ[TRUST]} if TRUST in os.environ else {}
                ray.init(address=address, runtime_env={"env_vars": trusted}, **quiet)
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
                "Fix that (Ray fails with a long TMPDIR), or use --engine local",
            ) from None
        self._output.__enter__()  # Ray tells on stdout, where results belong, that a machine died

    def close(self) -> None:
        """Leave the cluster, which ends where this engine started it."""
        if not self._joined:
            self._ray.shutdown()
            self._output.__exit__(None, None, None)

    @property
    def processors(self) -> int:
        """How many processors the cluster has now: machines come and go."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    @property
    def gpus(self) -> float:
        """How many GPUs that machine has now which has the most."""
        return max((float(node["Resources"].get("GPU", 0)) for node in self._nodes()), default=0.0)

    def submit(self, work: Callable[[T], R], unit: T, *, gpus: float = 0.0) -> Submitted[R]:
        """Have a unit done where there is room: one processor, and `gpus` of one machine.

        What `work` raises comes back as it is.
        """
        task = self._ray.remote(_with).options(max_retries=_RETRIES, num_gpus=gpus)
        return Submitted(self._ray, unit, task.remote(__version__, named_files(), work, unit))

    def _nodes(self) -> list[Mapping[str, Any]]:
        """Return what Ray knows of the machines that take work."""
        nodes: list[Mapping[str, Any]] = self._ray.nodes()
        return [node for node in nodes if node["Alive"] and node["Resources"].get("CPU", 0)]


class Submitted(Generic[R]):
    """A unit that the cluster does."""

    def __init__(self, ray: Any, unit: object, reference: Any) -> None:
        self._ray = ray
        self._unit = unit
        self._reference = reference

    def result(self) -> R:
        """Wait for the result; raises what the work raised, or `LostError`."""
        errors = self._ray.exceptions
        try:
            result: R = self._ray.get(self._reference)
        except errors.RayTaskError as error:
            raise error.cause from error
        except errors.RayError as error:
            raise LostError(
                f"Ray gave up {name_of(self._unit)} after {_RETRIES} new attempts "
                f"({first_line(error)})",
                "See ray status for the machines; run the same command again for the rest",
            ) from None
        return result

    def cancel(self) -> None:
        """Give it up, where it is not done."""
        self._ray.cancel(self._reference)


def _with(version: str, plugins: Sequence[str], work: Callable[[T], R], unit: T) -> R:
    """Do work with the files of plugins that were in use where it was handed in.

    Raises `EngineError` on a machine with another version of Goldpan.
    """
    if version != __version__:
        raise EngineError(
            f"The machine {platform.node()} has version {__version__} of Goldpan, and the command "
            f"{version}",
            "Install the same version on all",
        )
    for plugin in plugins:
        use(plugin)
    return work(unit)


def _knock(address: str) -> None:
    """Raise `OSError` where nobody listens, for which Ray itself takes a minute."""
    host, _, port = address.rpartition(":")
    if host and port.isdigit() and "://" not in host:
        socket.create_connection((host, int(port)), timeout=10).close()


def open_engine(execution: Execution, processes: int | None = None) -> Engine:
    """Open an engine of `processes`, else of as many as there are workers; a context manager.

    `local` works in this process where `processes` is 1, else in that many others. `ray` works on
    the cluster at `address` (``auto`` for the one of this machine), with as many tasks as it has
    processors; without an address, on a cluster of `processes` on this machine that ends with
    the engine. All machines of a cluster must see the same files.

    Raises `UsageError` for options that make no sense, `EngineError` where Ray is not installed
    or no cluster answers.
    """
    name, address = execution.engine, execution.address
    if processes is None:
        processes = execution.workers
    if processes < 1:
        raise UsageError(f"{processes} processes are too few", "Give at least 1")
    match name:
        case "ray":
            return RayCluster(processes, address)
        case "local" if address:
            raise UsageError(
                f"The local engine has no cluster at {address!r}", "Use it with --engine ray"
            )
        case "local":
            return _Pool(processes) if processes > 1 else _InProcess()
        case _:
            raise UsageError(f"There is no engine {name!r}", "Choose local or ray")


class _InProcess(Engine):
    def map(self, work: Callable[[T], R], units: Iterable[T]) -> Iterator[R]:
        for unit in units:
            yield do(work, unit)


class _Pool(Engine):
    def __init__(self, processes: int) -> None:
        self._processes = processes
        self._pool = WorkerPool(processes)

    @property
    def processors(self) -> int:
        return self._processes

    def abandon(self) -> None:
        self._pool.abandon()

    def close(self) -> None:
        self._pool.close()

    def submit(self, work: Callable[[T], R], unit: T) -> Future[R]:
        return self._pool.submit(work, unit)
