"""Runs one piece of work over many units: in this process, in several, or on a Ray cluster.

A unit may be worked on twice, where a machine dies in the middle. So what a unit writes must be
the same each time and appear by a rename, and the results that come back must be small.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Literal, Protocol, Self, TypeVar

from goldpan.core.engine_units import AHEAD, Closing, EngineError, do, name_of
from goldpan.core.errors import UsageError
from goldpan.core.ray_cluster import RayCluster
from goldpan.core.workers import WorkerEndedError, WorkerPool

EngineName = Literal["local", "ray"]
T = TypeVar("T")
R = TypeVar("R")


class Engine(Protocol):
    """Does work on units; a context manager that frees its processes at the end."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def map(self, work: Callable[[T], R], units: Sequence[T]) -> Iterator[R]:
        """Yield the result of each unit, in the order of units, as soon as it is there.

        Few units are in flight at once, so a slow reader holds the work back. `work` is a
        function of a module, or a `functools.partial` of one, and units can be pickled. A
        `GoldpanError` of a unit comes back as it is with the unit's name in front, any other
        failure as `UnitError`; the units after it are given up. Raises `EngineError` where
        processes end from outside.
        """
        ...


def open_engine(name: EngineName, processes: int, address: str = "") -> Engine:
    """Open an engine; use it as a context manager.

    `local` works in this process where `processes` is 1, else in that many others. `ray` works on
    the cluster at `address` (``auto`` for the one of this machine), with as many tasks as it has
    processors; without an address, on a cluster of `processes` on this machine that ends with
    the engine. All machines of a cluster must see the same files.

    Raises `UsageError` for options that make no sense, `EngineError` where Ray is not installed
    or no cluster answers.
    """
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


class _InProcess(Closing):
    """Works here and now."""

    def map(self, work: Callable[[T], R], units: Sequence[T]) -> Iterator[R]:
        for unit in units:
            yield do(work, unit)


class _Pool(Closing):
    """Works in other processes of this machine."""

    def __init__(self, processes: int) -> None:
        self._processes = processes
        self._pool = WorkerPool(processes)

    def close(self) -> None:
        self._pool.close()

    def map(self, work: Callable[[T], R], units: Sequence[T]) -> Iterator[R]:
        waiting: deque[Future[R]] = deque()
        at: T | None = None
        try:
            for at in units:
                waiting.append(self._pool.submit(do, work, at))
                if len(waiting) >= AHEAD * self._processes:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except WorkerEndedError:
            raise EngineError(
                f"A process was killed, perhaps for lack of memory, at {name_of(at)} or one of "
                f"the {AHEAD * self._processes} units before it",
                "Give fewer processes and try again",
            ) from None
        finally:
            for future in waiting:
                future.cancel()
