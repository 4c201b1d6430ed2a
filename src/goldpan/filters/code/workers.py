"""Judges many changes in processes that end, and are replaced, where a text is too hard.

Nothing bounds the time and memory of a parser: 100 KB of open parentheses take minutes, a megabyte
of ``a<b<`` in C# takes 7 GB. So hostile files must not be parsed in the process of the user.
"""

from __future__ import annotations

import multiprocessing
import resource
import signal
from collections.abc import Iterable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path

from goldpan.errors import GoldpanError
from goldpan.filters.code.languages import language_of
from goldpan.filters.code.substance import Pair, Substance, compare_texts, compare_unread

_AHEAD = 1_000  # verdicts that may wait for an earlier one
_MEMORY = 2 * 1024**3  # bytes for one pair; a megabyte of ordinary code takes a tenth of it


def compare_all(
    pairs: Iterable[Pair], workers: int = 2, timeout: float = 20.0
) -> Iterator[Substance]:
    """Judge changes in order, in `workers` processes; pairs are drawn as they are needed.

    `timeout` is seconds of processor time for one pair. Where it is spent, or the parser crashes,
    or wants more than 2 GiB, that pair is undecided with reason ``timeout`` or ``crash``, the only
    verdicts that another machine may not give, and the rest goes on. Raises `GoldpanError` where
    a process cannot start.
    """
    numbered = enumerate(pairs)
    crew: list[_Worker] = []
    done: dict[int, Substance] = {}
    told = 0
    more = True
    try:
        while more or done or any(worker.busy for worker in crew):
            while more and len(done) < _AHEAD and not (crew and all(one.busy for one in crew)):
                number, pair = next(numbered, (-1, None))
                if pair is None:
                    more = False
                    break
                found = compare_unread(pair)
                if found:
                    done[number] = found
                    continue
                crew = crew or [_Worker(timeout) for _ in range(max(workers, 1))]
                next(worker for worker in crew if not worker.busy).take(number, pair)
            while told in done:
                yield done.pop(told)
                told += 1
            busy = [worker.connection for worker in crew if worker.busy]
            ready = wait(busy) if busy else []
            for place, worker in enumerate(crew):
                if worker.connection in ready:
                    done[worker.number] = worker.give()
                    if worker.dead:
                        crew[place] = _Worker(timeout)
    finally:
        for worker in crew:
            worker.end()


class _Worker:
    """A process that judges one pair at a time."""

    def __init__(self, timeout: float) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, timeout), daemon=True)
        self.process.start()
        theirs.close()
        self.number = -1
        self.language = ""
        self.busy = self.dead = self.greeted = False

    def take(self, number: int, pair: Pair) -> None:
        """Begin with a pair; raises `GoldpanError` where the process did not start."""
        if not self.greeted:
            try:
                self.connection.recv()
            except EOFError:
                raise GoldpanError(
                    "A process for reading code did not start",
                    "Guard the program's main part with if __name__ == '__main__'",
                ) from None
            self.greeted = True
        language = language_of(pair.path)
        self.number, self.language, self.busy = number, language.name if language else "", True
        with suppress(OSError):  # it died while idle, which `give` tells
            self.connection.send(pair)

    def give(self) -> Substance:
        """Return the verdict on the pair that it took."""
        self.busy = False
        try:
            verdict: Substance = self.connection.recv()
        except (EOFError, OSError):
            self.dead = True
            self.end()
            late = self.process.exitcode == -signal.SIGPROF
            return Substance(None, "timeout" if late else "crash", self.language, "none")
        return verdict

    def end(self) -> None:
        """End the process, whatever it does."""
        self.connection.close()
        if not self.dead:
            self.process.kill()
        self.process.join()


def _work(connection: Connection, timeout: float) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its workers
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    _bound_memory()
    with suppress(EOFError, OSError):
        connection.send(None)
        while True:
            pair = connection.recv()
            # The kernel ends the process at this signal, also within the parser, and also where
            # the parent is gone.
            signal.setitimer(signal.ITIMER_PROF, timeout)
            verdict = compare_texts(pair)
            signal.setitimer(signal.ITIMER_PROF, 0)
            connection.send(verdict)


def _bound_memory() -> None:
    """Bound what the process may take beyond what it has, where the system can."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + _MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
