"""Works through items in processes that end, and are replaced, where one is too hard.

Nothing bounds the time and memory of a parser: 100 KB of open parentheses take minutes, a megabyte
of ``a<b<`` in C# takes 7 GB. So hostile texts, and answers of models are no better, must not be
parsed in the process of the user.
"""

from __future__ import annotations

import resource
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from goldpan.core.errors import GoldpanError
from goldpan.core.workers import WorkerProcess

T = TypeVar("T")
R = TypeVar("R")

_AHEAD = 1_000  # results that may wait for an earlier one
_MEMORY = 2 * 1024**3  # bytes for one item


@dataclass(frozen=True, slots=True)
class Failed:
    """Why an item has no result: its time was spent, or its process died."""

    reason: Literal["timeout", "crash"]


def map_in_sandbox(
    work: Callable[[T], R],
    items: Iterable[T],
    workers: int,
    timeout: float,
    at_once: Callable[[T], R | None] = lambda _: None,
) -> Iterator[R | Failed]:
    """Yield the result of each item in order; items are drawn as they are needed.

    `work` is a function of a module, `timeout` seconds of processor time for one item. Where it
    is spent, or the process dies or wants more than 2 GiB, that item is `Failed`, which another
    machine may not repeat, and the rest goes on. `at_once` gives the results of items that need
    no process, None for others. Raises `GoldpanError` where a process cannot start, and what
    `work` raises of that kind: a missing package is no property of an item.
    """
    waiting = enumerate(items)
    crew: list[_Worker[T, R]] = []
    results: dict[int, R | Failed] = {}
    yielded = 0
    more = True
    try:
        while more or results or any(worker.busy for worker in crew):
            while (
                more
                and len(results) < _AHEAD
                and not (crew and all(worker_.busy for worker_ in crew))
            ):
                number, item = next(waiting, (-1, None))
                if item is None:
                    more = False
                    break
                result = at_once(item)
                if result is not None:
                    results[number] = result
                    continue
                crew = crew or [_Worker(work, timeout) for _ in range(max(workers, 1))]
                next(worker for worker in crew if not worker.busy).take(number, item)
            while yielded in results:
                yield results.pop(yielded)
                yielded += 1
            busy = [worker.connection for worker in crew if worker.busy]
            ready = wait(busy) if busy else []
            for index, worker in enumerate(crew):
                if worker.connection in ready:
                    results[worker.number] = worker.give()
                    if worker.dead:
                        crew[index] = _Worker(work, timeout)
    finally:
        for worker in crew:
            worker.end()


class _Worker(Generic[T, R]):
    """A process that works on one item at a time."""

    def __init__(self, work: Callable[[T], R], timeout: float) -> None:
        self._process = WorkerProcess(_work, work, timeout)
        self.connection = self._process.connection
        self.number = -1
        self.busy = self.dead = self.greeted = False

    def take(self, number: int, item: T) -> None:
        """Begin with an item; raises `GoldpanError` where the process did not start."""
        if not self.greeted:
            try:
                greeting = self.connection.recv()
            except (EOFError, OSError):
                raise GoldpanError(
                    f"A process for reading code did not start ({sys.executable})",
                    "Try again; its own words are above, if it had any",
                ) from None
            if isinstance(greeting, GoldpanError):
                raise greeting
            self.greeted = True
        self.number, self.busy = number, True
        with suppress(OSError):  # it died while idle, which `give` tells
            self.connection.send(item)

    def give(self) -> R | Failed:
        """Return what came of the item that it took; raises the `GoldpanError` of its work."""
        self.busy = False
        try:
            result: R | GoldpanError = self.connection.recv()
        except (EOFError, OSError):
            self.dead = True
            self.connection.close()
            return Failed("timeout" if self._process.wait() == -signal.SIGPROF else "crash")
        if isinstance(result, GoldpanError):
            raise result
        return result

    def end(self) -> None:
        """End the process, whatever it does."""
        if not self.dead:
            self._process.end()


def _work(connection: Connection[Any, Any], work: Callable[[Any], Any], timeout: float) -> None:
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    _bound_memory()
    with suppress(EOFError, OSError):
        connection.send(None)
        while True:
            item = connection.recv()
            # The kernel ends the process at this signal, also within the parser, and also where
            # the parent is gone.
            signal.setitimer(signal.ITIMER_PROF, timeout)
            try:
                result = work(item)
            except GoldpanError as error:
                result = error
            signal.setitimer(signal.ITIMER_PROF, 0)
            connection.send(result)


def _bound_memory() -> None:
    """Bound what the process may take beyond what it has, where the system can."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + _MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
