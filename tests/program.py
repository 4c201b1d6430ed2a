"""Goldpan's programs, each run in a process of its own that need not import them first.

A server beside the tests has imported everything and forks for each run: the child has its own
environment, directory and output, as if it had been started anew, a second sooner.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tests.places import ROOT
from tests.rights import obey_modes

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

    def __init__(self, server: subprocess.Popen[bytes], out: Path, err: Path) -> None:
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

    def ended(self) -> bool:
        """Return whether the program has ended."""
        assert self._server.stdout is not None
        return self._done is not None or bool(select.select([self._server.stdout], [], [], 0)[0])

    def until(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition holds, which it must before the program ends."""
        while not condition():
            assert not self.ended() or condition(), f"it ended too early: {self.wait()}"
            time.sleep(0.002)

    def wait(self) -> Done:
        """Wait for the program's end and return how it ended."""
        if self._done is None:
            code = int(self._line())
            self._done = Done(code, _read(self._out), _read(self._err))
            _tell(self._server, "bury")
        return self._done

    def _line(self) -> bytes:
        assert self._server.stdout is not None
        line: bytes = self._server.stdout.readline()
        assert line, "the server of programs has ended"
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
    with start(
        *arguments,
        folder=folder,
        environment=environment,
        program=program,
        room=room,
        obeys_modes=obeys_modes,
    ) as running:
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
) -> Iterator[Running]:
    """Start a program as `goldpan` does, one at a time; it is killed where the block ends first."""
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
        server = _server()
        _tell(server, json.dumps(job))
        running = Running(server, out, err)
        try:
            yield running
        finally:
            running.kill()
            running.wait()


@cache
def _server() -> subprocess.Popen[bytes]:
    server = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", "from tests.program import serve; serve()"],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
    )
    atexit.register(_end, server)
    return server


def _tell(server: subprocess.Popen[bytes], line: str) -> None:
    assert server.stdin is not None
    data = f"{line}\n".encode()
    while data:
        data = data[server.stdin.write(data) :]


def _end(server: subprocess.Popen[bytes]) -> None:
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.close()  # which ends its loop
    server.wait()
    server.stdout.close()


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


def serve() -> None:
    """Run the jobs that come on stdin until it ends.

    Each one's process number is told on stdout, then its exit code; its number stays its own
    until the next line, so that no signal goes astray.
    """
    from tests.chaos.commands import preload

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        preload()
    gc.freeze()
    while line := sys.stdin.readline():
        job = json.loads(line)
        process = os.fork()
        if not process:
            os._exit(_become(job))
        _say(process)
        status = os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)
        assert status is not None
        _say(status.si_status if status.si_code == os.CLD_EXITED else -status.si_status)
        sys.stdin.readline()
        os.waitpid(process, 0)
    os._exit(0)


def _say(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


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
