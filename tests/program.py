"""Goldpan's programs, each run in a process of its own that need not import them first.

A server beside the tests has imported everything, once for all processes of a run, and forks for
each program: the child has its own environment, directory and output, as if it had been started
anew, a second sooner.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.places import ROOT
from tests.rights import obey_modes
from tests.shared_folder import made_once, run_goes_on

MAIN = "from goldpan.cli import main; main()"
MINE = "from goldpan.cli import mine_main; mine_main()"
_PATIENCE = 600
"""Seconds after which a program that does not end is taken to hang; a loaded machine is slow."""


class Done(NamedTuple):
    """How a program ended."""

    code: int
    out: str
    err: str


class Running:
    """A program under way, the leader of a process group."""

    def __init__(self, server: socket.socket, out: Path, err: Path) -> None:
        self._server, self._out, self._err = server, out, err
        self._done: Done | None = None
        self.pid = int(self._line())

    def send_signal(self, number: int) -> None:
        """Send a signal to the program alone; nothing happens where it has ended."""
        if self._done is None:
            os.kill(self.pid, number)  # which is a zombie at the least, until `wait`

    def signal_all(self, number: int) -> None:
        """Send a signal to the program and to what it started."""
        if self._done is None:
            os.killpg(self.pid, number)

    def kill(self) -> None:
        """End the program without a chance to clean up."""
        self.send_signal(signal.SIGKILL)

    def ended(self, seconds: float = 0) -> bool:
        """Return whether the program has ended, or ends so soon."""
        return self._done is not None or bool(select.select([self._server], [], [], seconds)[0])

    def until(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition holds, which it must before the program ends."""
        while not condition():
            assert not self.ended() or condition(), f"it ended too early: {self.wait()}"
            time.sleep(0.002)

    def wait(self, *, sweep: bool = False) -> Done:
        """Wait for the program's end and return how it ended; `sweep` ends what it left behind."""
        if self._done is None:
            code = int(self._line())
            self._done = Done(code, _read(self._out), _read(self._err))
            if sweep:
                with suppress(ProcessLookupError):
                    os.killpg(self.pid, signal.SIGKILL)
            self._server.sendall(b"bury\n")
        return self._done

    def _line(self) -> bytes:
        line = b""
        while not line.endswith(b"\n"):
            part = self._server.recv(1)
            assert part, "the server of programs has ended; its log stands beside its socket"
            line += part
        return line


def goldpan(
    *arguments: str | Path,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    program: str = MAIN,
    room: int | None = None,
    obeys_modes: bool = False,
) -> Done:
    """Run `goldpan`, or another program of Python, where warnings are errors.

    It runs in `folder` with `environment`, which are this process's unless given; no file may
    grow beyond `room` bytes. With `obeys_modes`, root has the rights of a user.
    """
    more: dict[str, Any] = {"program": program, "room": room, "obeys_modes": obeys_modes}
    with start(*arguments, folder=folder, environment=environment, **more) as running:
        done = running.wait()
    if done.code == -signal.SIGALRM:
        words = ["goldpan", *map(str, arguments)]
        raise subprocess.TimeoutExpired(words, _PATIENCE, done.out, done.err)
    return done


@contextmanager
def start(
    *arguments: str | Path,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    program: str = MAIN,
    room: int | None = None,
    obeys_modes: bool = False,
    place: str = "",
) -> Iterator[Running]:
    """Start a program as `goldpan` does; it is killed where the block ends first.

    There is one at a time at each `place`.
    """
    with tempfile.TemporaryDirectory() as name:
        out, err = Path(name) / "out", Path(name) / "err"
        job = {
            "program": program,
            "arguments": list(map(str, arguments)),
            "folder": str(folder or Path.cwd()),
            "environment": dict(os.environ if environment is None else environment),
            "room": room,
            "obeys_modes": obeys_modes,
            "out": str(out),
            "err": str(err),
        }
        server = _server(os.getpid(), place)
        server.sendall(f"{json.dumps(job)}\n".encode())
        running = Running(server, out, err)
        try:
            yield running
        finally:
            running.kill()
            running.wait()


@cache
def _server(process: int, place: str) -> socket.socket:
    """Return a connection to the server of this run, which the first process to ask starts."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(str(made_once("programs", _start_server) / "socket"))
    atexit.register(connection.close)
    return connection


def _start_server(folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener, (folder / "log").open("wb") as log:
        listener.bind(str(folder / "socket"))
        listener.listen(64)
        number = listener.fileno()
        code = f"from tests.program import serve; serve({number})"
        server = subprocess.Popen(
            [sys.executable, "-W", "error", "-c", code],
            cwd=ROOT,
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            pass_fds=[number],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    server.returncode = 0  # it outlives this process, and ends with the run


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


def spare_the_disk() -> None:
    """Wait for no disk: what tests write need not outlive a failure of power."""
    pytest.MonkeyPatch().setattr(os, "fsync", lambda descriptor: None)


def preload() -> None:
    """Import all that commands import when they need it; heavy extras are left aside."""
    import goldpan as package

    for module in pkgutil.walk_packages(package.__path__, "goldpan."):
        if ".finetune" not in module.name:
            importlib.import_module(module.name)
    for name in ("pyarrow.compute", "pyarrow.dataset", "sklearn.svm", "sklearn.linear_model"):
        importlib.import_module(name)


def serve(number: int) -> None:
    """Serve the processes that connect to a socket, until the run of tests has ended."""
    spare_the_disk()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        preload()
    gc.freeze()
    with socket.socket(fileno=number) as listener:
        listener.settimeout(1)
        while run_goes_on():
            with suppress(ChildProcessError):
                os.waitpid(-1, os.WNOHANG)
            with suppress(TimeoutError), listener.accept()[0] as connection:
                if not os.fork():
                    listener.close()
                    _attend(connection)
                    os._exit(0)


def _attend(connection: socket.socket) -> None:
    """Run the jobs of a process until it ends.

    Each one's process number is told, then its exit code; its number stays its own until the next
    line, so that no signal goes astray.
    """
    connection.settimeout(None)
    lines = connection.makefile("r", encoding="utf-8")
    while line := lines.readline():
        job = json.loads(line)
        process = os.fork()
        if not process:
            os.close(connection.fileno())
            os._exit(_become(job))
        connection.sendall(b"%d\n" % process)
        status = os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)
        assert status is not None
        exited = status.si_code == os.CLD_EXITED
        connection.sendall(b"%d\n" % (status.si_status if exited else -status.si_status))
        lines.readline()
        os.waitpid(process, 0)


def _become(job: dict[str, Any]) -> int:
    """Be the program; return its exit code. What it imported is not taken apart at the end."""
    os.setsid()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(job[name], os.O_WRONLY | os.O_CREAT, 0o644), number)
    sys.stdout = os.fdopen(1, "w", closefd=False, encoding="utf-8")
    sys.stderr = os.fdopen(2, "w", closefd=False, encoding="utf-8", errors="backslashreplace")
    code = 1
    try:
        os.chdir(job["folder"])
        os.environ.clear()
        os.environ.update(job["environment"])
        tempfile.tempdir = None  # the environment may name another one
        signal.signal(signal.SIGINT, signal.default_int_handler)  # also below `nohup`
        if job["room"] is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (job["room"], job["room"]))
        signal.alarm(_PATIENCE)
        sys.argv = ["goldpan", *job["arguments"]]
        if job["obeys_modes"]:
            obey_modes()
        exec(job["program"], {"__name__": "__main__"})
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:  # noqa: BLE001 - as the interpreter would say it
        traceback.print_exc()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return code
