"""Runs one piece of work over many units: in this process, in several, or on a Ray cluster.

A unit may be worked on twice, where a machine dies in the middle. So what a unit writes must be
the same each time and appear by a rename, and the results that come back must be small.
"""

from __future__ import annotations

import logging
import multiprocessing
import multiprocessing.process
import os
import signal
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from types import TracebackType
from typing import Any, Literal, Protocol, Self, TypeVar

from goldpan.core.errors import GoldpanError, UsageError
from goldpan.core.extras import load
from goldpan.core.resources import explain

EngineName = Literal["local", "ray"]
T = TypeVar("T")
R = TypeVar("R")

_AHEAD = 2
"""Units in flight a process: one at work, one waiting."""
_RETRIES = 5
"""How often Ray does a unit again whose machine died under it."""
_OBJECT_STORE_BYTES = 128 * 2**20
_MOST_OF_A_NAME = 200


class EngineError(GoldpanError):
    """The processes or machines that do the work are not there, or ended under it."""


class UnitError(Exception):
    """Work on a unit failed as nobody foresaw; the cause tells how."""


class Engine(Protocol):
    """Does work on units; a context manager that frees its processes at the end."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

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
        raise UsageError(f"{processes} processes can do no work", "Give at least 1")
    match name:
        case "ray":
            return _Ray(processes, address)
        case "local" if address:
            raise UsageError(
                f"The local engine has no cluster at {address!r}", "Use it with --engine ray"
            )
        case "local":
            return _Pool(processes) if processes > 1 else _InProcess()
        case _:
            raise UsageError(f"There is no engine {name!r}", "Choose local or ray")


class _Closing:
    """A context manager that closes itself."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Free what the engine holds."""


class _InProcess(_Closing):
    """Works here and now."""

    def map(self, work: Callable[[T], R], units: Sequence[T]) -> Iterator[R]:
        for unit in units:
            yield _do(work, unit)


class _Pool(_Closing):
    """Works in other processes of this machine."""

    def __init__(self, processes: int) -> None:
        self._processes = processes
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(processes, context, initializer=_serve_the_parent)

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)

    def map(self, work: Callable[[T], R], units: Sequence[T]) -> Iterator[R]:
        waiting: deque[Future[R]] = deque()
        at: T | None = None
        try:
            for at in units:
                waiting.append(self._pool.submit(_do, work, at))
                if len(waiting) >= _AHEAD * self._processes:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool:
            raise EngineError(
                f"A process ended from outside, perhaps for memory, at {_name(at)} or one of the "
                f"{_AHEAD * self._processes} units before it",
                "Give fewer processes and try again; in your own script, call Goldpan below "
                "if __name__ == '__main__'",
            ) from None
        finally:
            for future in waiting:
                future.cancel()


class _Ray(_Closing):
    """Works on a Ray cluster."""

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
            why = f"({_first_line(error)})"
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
        if not self._joined:
            self._ray.shutdown()

    def map(self, work: Callable[[T], R], units: Sequence[T]) -> Iterator[R]:
        task = self._ray.remote(_do).options(max_retries=_RETRIES)
        waiting: deque[tuple[T, Any]] = deque()
        try:
            for unit in units:
                waiting.append((unit, task.remote(work, unit)))
                if len(waiting) >= _AHEAD * self._processors():
                    yield self._result(*waiting.popleft())
            while waiting:
                yield self._result(*waiting.popleft())
        finally:
            for _, reference in waiting:
                self._ray.cancel(reference)

    def _processors(self) -> int:
        """Count the processors that the cluster has now: machines come and go."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def _result(self, unit: object, reference: Any) -> Any:
        errors = self._ray.exceptions
        try:
            return self._ray.get(reference)
        except errors.RayTaskError as error:
            raise error.cause from error
        except errors.RayError as error:
            raise EngineError(
                f"Ray gave up {_name(unit)} after {_RETRIES} new attempts ({_first_line(error)})",
                "See ray status for the machines; run the same command again for the rest",
            ) from None


def _knock(address: str) -> None:
    """Raise `OSError` where nobody listens, for which Ray itself takes a minute."""
    host, _, port = address.rpartition(":")
    if host and port.isdigit() and "://" not in host:
        socket.create_connection((host, int(port)), timeout=10).close()


def _do(work: Callable[[T], R], unit: T) -> R:
    """Do the work on one unit; whatever goes wrong bears its name."""
    try:
        return work(unit)
    except GoldpanError as error:
        raise type(error)(f"{_name(unit)}: {error.problem}", error.remedy) from error
    except Exception as error:  # work may raise anything, and has to name its unit
        if known := explain(error):
            raise type(known)(f"{_name(unit)}: {known.problem}", known.remedy) from error
        # Of any other kind: without the unit's name nobody finds what broke.
        raise UnitError(f"{_name(unit)}: {type(error).__name__}: {error}") from error


def _name(unit: object) -> str:
    return str(unit)[:_MOST_OF_A_NAME]


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:_MOST_OF_A_NAME] if lines else type(error).__name__


def _serve_the_parent() -> None:
    """Leave Ctrl-C to the parent, and end when it is gone: nobody else would end this process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: multiprocessing.process.BaseProcess) -> None:
    parent.join()
    os._exit(1)
