"""Processes that work for this one, started as programs of our own; a sandbox for hard items.

They import nothing of the user's program, so they can be started from a plain script, standard
input, a notebook, a thread, or a process of `multiprocessing`'s. What they call is a function of
a module; they end when this process does.

Nothing bounds the time and memory of a parser: 100 KB of open parentheses take minutes, a megabyte
of ``a<b<`` in C# takes 7 GB. So hostile texts, and answers of models are no better, must not be
parsed in the process of the user: `map_in_sandbox` replaces a process for which one is too hard.
"""

from __future__ import annotations

import json
import os
import pickle
import resource
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

from goldpan.core.errors import GoldpanError
from goldpan.core.imports import spare_pandas

R = TypeVar("R")
T = TypeVar("T")

_PROGRAM = (
    "import json, sys; path, number, sandboxed = sys.argv[1:]; sys.path[:] = json.loads(path); "
    "from goldpan.core.parallel.workers import serve; serve(int(number), sandboxed=bool(sandboxed))"
)


_GRACE = 5.0
"""Seconds in which a process may clean up before it is killed."""


class WorkerEndedError(Exception):
    """A worker process was killed, or ended itself, in the middle of its work."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code
        """Negative for a signal."""

    def __str__(self) -> str:
        return f"exit code {self.code}"


class _ElsewhereError(Exception):
    """The traceback of an error of another process."""


class _Worker:
    """A process that answers calls, at the other end of `connection`.

    Raises `GoldpanError` where it does not start.
    """

    def __init__(self, *, sandboxed: bool) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            warnings = [f"-W{option}" for option in sys.warnoptions]
            arguments = json.dumps(sys.path), str(theirs.fileno()), "sandboxed" if sandboxed else ""
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and program
                [sys.executable, "-P", *warnings, "-c", _PROGRAM, *arguments],
                # Whoever reads it knows by its end that this process is gone.
                stdin=subprocess.PIPE,
                pass_fds=(theirs.fileno(),),
            )
        self.connection: Connection[Any, Any] = Connection(ours.detach())
        try:
            self.connection.recv()
        except (EOFError, OSError):
            self.end()
            raise GoldpanError(
                f"A process that works for this one did not start ({sys.executable})",
                "Try again; its own output, if any, is above",
            ) from None

    def end(self) -> int:
        """End the process, whatever it does, and return its exit code, negative for a signal."""
        self.connection.close()
        self._process.kill()
        assert self._process.stdin is not None
        self._process.stdin.close()
        return self._process.wait()

    def interrupt(self) -> None:
        """Have the process give up its work and end; kill it where that takes long."""
        self._process.terminate()
        try:
            self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()


class WorkerPool:
    """Calls functions in several processes; a context manager that ends them."""

    def __init__(self, processes: int, *, sandboxed: bool = False) -> None:
        self._threads = ThreadPoolExecutor(processes, "goldpan-worker")
        self._sandboxed = sandboxed
        self._idle: list[_Worker] = []
        self._busy: set[_Worker] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(self, function: Callable[..., R], *arguments: Any) -> Future[R]:
        """Have a process call a function of a module, as soon as one is free.

        The future raises what the function raises, and `WorkerEndedError` where its process ended.
        """
        return self._threads.submit(self._call, function, arguments)

    def abandon(self) -> None:
        """Drop what is waiting, and end the processes that are at work."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in list(self._busy):
            worker.interrupt()

    def close(self) -> None:
        """Wait for what is running, drop what is waiting, and end the processes."""
        self._threads.shutdown(cancel_futures=True)
        while self._idle:
            self._idle.pop().end()

    def _call(self, function: Callable[..., R], arguments: tuple[Any, ...]) -> R:
        try:
            worker = self._idle.pop()
        except IndexError:
            worker = _Worker(sandboxed=self._sandboxed)
        self._busy.add(worker)
        try:
            worker.connection.send((function, arguments))
            answer = worker.connection.recv()
        except (EOFError, OSError):
            raise WorkerEndedError(worker.end()) from None
        except BaseException:  # such as Ctrl-C: the answer would be taken for that of the next call
            worker.end()
            raise
        finally:
            self._busy.discard(worker)
        if isinstance(answer, GoldpanError):  # it could not even begin
            worker.end()
            raise answer
        self._idle.append(worker)
        result, error, trace = answer
        if error is not None:
            raise error from _ElsewhereError(f"\n{trace}")
        value: R = result
        return value


def serve(number: int, *, sandboxed: bool) -> None:
    """Be a worker process, whose connection is the open file of this number."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends its workers
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that work cleans up behind itself
    threading.Thread(target=_end_with_parent, daemon=True).start()
    spare_pandas()
    if sandboxed:
        _enter_sandbox()
    with suppress(EOFError, OSError):
        _answer_calls(Connection(number))


def _answer_calls(connection: Connection[Any, Any]) -> None:
    connection.send(None)
    while True:
        try:
            function, arguments = connection.recv()
        except (AttributeError, ImportError, pickle.UnpicklingError) as error:
            unknown = GoldpanError(
                f"A process that works for this one does not find what it should call ({error})",
                "Put it into a module or a plugin's file (docs/plugins.md) rather than into the "
                "script that is run",
            )
            connection.send(unknown)
            return
        answer: tuple[Any, Exception | None, str]
        try:
            answer = (function(*arguments), None, "")
        except Exception as error:  # noqa: BLE001 - the caller gets whatever it is
            answer = (None, error, traceback.format_exc())
        try:
            connection.send(answer)
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            unsent = RuntimeError(f"{answer[0] or answer[1]!r} cannot be sent: {error}")
            connection.send((None, unsent, answer[2]))


def _end_with_parent() -> None:
    """End this process when its standard input ends, as that of the parent's death does."""
    sys.stdin.buffer.read()
    os._exit(1)


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
    workers = max(workers, 1)
    waiting: deque[Future[R]] = deque()  # in order
    running: set[Future[R]] = set()
    pool = WorkerPool(workers, sandboxed=True)
    try:
        for item in items:
            result = at_once(item)
            if result is None:
                waiting.append(pool.submit(_timed, work, timeout, item))
                running.add(waiting[-1])
            else:
                waiting.append(Future())
                waiting[-1].set_result(result)
            while waiting and waiting[0].done():
                yield _outcome(waiting.popleft())
            running = {future for future in running if not future.done()}
            while len(running) >= workers:
                running = wait(running, return_when=FIRST_COMPLETED).not_done
            while waiting and (waiting[0].done() or len(waiting) > _AHEAD):
                yield _outcome(waiting.popleft())
        while waiting:
            yield _outcome(waiting.popleft())
    finally:
        pool.abandon()
        pool.close()


def _outcome(future: Future[Any]) -> Any:
    try:
        return future.result()
    except WorkerEndedError as error:
        return Failed("timeout" if error.code == -signal.SIGPROF else "crash")
    except GoldpanError:
        raise
    except Exception:  # noqa: BLE001 - an item may make its work fail in any way
        return Failed("crash")


def _timed(work: Callable[[T], R], timeout: float, item: T) -> R:
    """Do work under a limit of time.

    The kernel ends the process at its signal, also within a parser, and also where the parent is
    gone.
    """
    signal.setitimer(signal.ITIMER_PROF, timeout)
    try:
        return work(item)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _enter_sandbox() -> None:
    """Bound what the process may take beyond what it has, where the system can."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + _MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
