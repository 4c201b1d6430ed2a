"""Processes that work for this one, started as programs of our own.

They import nothing of the user's program, so they can be started from a plain script, standard
input, a notebook, a thread, or a process of `multiprocessing`'s. What they call is a function of
a module; they end when this process does.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, Self, TypeVar

from goldpan.core.errors import GoldpanError
from goldpan.core.imports import spare_pandas

R = TypeVar("R")

_PROGRAM = (
    "import json, sys; path, number = sys.argv[1:]; sys.path[:] = json.loads(path); "
    "from goldpan.core.workers import serve; serve(int(number))"
)


class WorkerEndedError(Exception):
    """A worker process was killed, or ended itself, in the middle of its work."""


class _ElsewhereError(Exception):
    """The traceback of an error of another process."""


class WorkerProcess:
    """A process that runs ``main(connection, *arguments)``, with the other end of `connection`."""

    def __init__(self, main: Callable[..., None], *arguments: Any) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            warnings = [f"-W{option}" for option in sys.warnoptions]
            number = str(theirs.fileno())
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and program
                [sys.executable, "-P", *warnings, "-c", _PROGRAM, json.dumps(sys.path), number],
                # Whoever reads it knows by its end that this process is gone.
                stdin=subprocess.PIPE,
                pass_fds=(theirs.fileno(),),
            )
        self.connection: Connection[Any, Any] = Connection(ours.detach())
        with suppress(OSError):  # it did not start, which `connection` tells
            self.connection.send((main, arguments))

    def end(self) -> int:
        """End the process, whatever it does, and return its exit code, negative for a signal."""
        self.connection.close()
        self._process.kill()
        return self.wait()

    def wait(self) -> int:
        """Wait for the process's end and return its exit code."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        return self._process.wait()


class WorkerPool:
    """Calls functions in several processes; a context manager that ends them."""

    def __init__(self, processes: int, initializer: Callable[[], object] | None = None) -> None:
        self._threads = ThreadPoolExecutor(processes, "goldpan-worker")
        self._initializer = initializer
        self._idle: list[WorkerProcess] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(self, function: Callable[..., R], *arguments: Any) -> Future[R]:
        """Have a process call a function of a module, as soon as one is free.

        The future raises what the function raises, and `WorkerEndedError` where its process ended.
        """
        return self._threads.submit(self._call, function, arguments)

    def close(self) -> None:
        """Wait for what is running, drop what is waiting, and end the processes."""
        self._threads.shutdown(cancel_futures=True)
        while self._idle:
            self._idle.pop().end()

    def _call(self, function: Callable[..., R], arguments: tuple[Any, ...]) -> R:
        try:
            worker = self._idle.pop()
        except IndexError:
            worker = WorkerProcess(_answer_calls, self._initializer)
        try:
            worker.connection.send((function, arguments))
            answer = worker.connection.recv()
        except (EOFError, OSError):
            worker.end()
            raise WorkerEndedError from None
        except BaseException:  # such as Ctrl-C: the answer would be taken for that of the next call
            worker.end()
            raise
        if isinstance(answer, GoldpanError):  # it could not even begin
            worker.end()
            raise answer
        self._idle.append(worker)
        result, error, trace = answer
        if error is not None:
            raise error from _ElsewhereError(f"\n{trace}")
        value: R = result
        return value


def serve(number: int) -> None:
    """Be a worker process, whose connection is the open file of this number."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends its workers
    threading.Thread(target=_end_with_parent, daemon=True).start()
    spare_pandas()
    connection: Connection[Any, Any] = Connection(number)
    with suppress(EOFError, OSError):
        try:
            main, arguments = connection.recv()
        except (AttributeError, ImportError, pickle.UnpicklingError) as error:
            connection.send(_not_found(error))
            return
        main(connection, *arguments)


def _answer_calls(
    connection: Connection[Any, Any], initializer: Callable[[], object] | None
) -> None:
    if initializer is not None:
        initializer()
    while True:
        try:
            function, arguments = connection.recv()
        except (AttributeError, ImportError, pickle.UnpicklingError) as error:
            connection.send(_not_found(error))
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


def _not_found(error: Exception) -> GoldpanError:
    return GoldpanError(
        f"A process that works for this one does not find what it should call ({error})",
        "Put it into a module or a plugin's file (docs/plugins.md) rather than into the script "
        "that is run",
    )


def _end_with_parent() -> None:
    """End this process when its standard input ends, as that of the parent's death does."""
    sys.stdin.buffer.read()
    os._exit(1)
