"""Calls a function on many things in a process that ends, and is replaced, where one is too hard.

Nothing bounds the time and memory of a parser, and answers of a model are as hostile as any text.
"""

from __future__ import annotations

import multiprocessing
import resource
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Generic, TypeVar

from goldpan.errors import GoldpanError

Given = TypeVar("Given")
Found = TypeVar("Found")

_MEMORY = 2 * 1024**3
SECONDS = 5.0
"""Processor time for one thing; ordinary code takes milliseconds."""


def guarded_map(
    function: Callable[[Given], Found], things: Iterable[Given], *, seconds: float = SECONDS
) -> Iterator[Found | None]:
    """Yield what a function of a module gives for each thing, in order.

    None stands where it took more than `seconds` of processor time or 2 GiB, or crashed: the only
    result that another machine may not give. Raises `GoldpanError` where no process can start.
    """
    worker: _Worker[Given, Found] | None = None
    try:
        for thing in things:
            worker = worker or _Worker(function, seconds)
            found, alive = worker.ask(thing)
            if not alive:
                worker.end()
                worker = None
            yield found
    finally:
        if worker:
            worker.end()


class _Worker(Generic[Given, Found]):
    """A process that takes one thing at a time."""

    def __init__(self, function: Callable[[Given], Found], seconds: float) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, function, seconds), daemon=True)
        self.process.start()
        theirs.close()
        try:
            self.connection.recv()
        except EOFError:
            self.end()
            raise GoldpanError(
                "A process for reading code did not start",
                "Guard the program's main part with if __name__ == '__main__'",
            ) from None

    def ask(self, thing: Given) -> tuple[Found | None, bool]:
        """Return what the function gives, and whether the process lives on."""
        try:
            self.connection.send(thing)
            found: Found = self.connection.recv()
        except (EOFError, OSError):
            return None, False
        return found, True

    def end(self) -> None:
        """End the process, whatever it does."""
        self.connection.close()
        self.process.kill()
        self.process.join()


def _work(connection: Connection, function: Callable[[Given], Found], seconds: float) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its workers
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    _bound_memory()
    with suppress(EOFError, OSError):
        connection.send(None)
        while True:
            thing = connection.recv()
            # The kernel ends the process at this signal, also within the parser.
            signal.setitimer(signal.ITIMER_PROF, seconds)
            found = function(thing)
            signal.setitimer(signal.ITIMER_PROF, 0)
            connection.send(found)


def _bound_memory() -> None:
    """Bound what the process may take beyond what it has, where the system can."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + _MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
