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
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tests.places import ROOT


class Done(NamedTuple):
    """How a program ended."""

    code: int
    out: str
    err: str


def goldpan(
    *arguments: str | Path,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    program: str = "main",
    room: int | None = None,
    timeout: int = 120,
) -> Done:
    """Run `goldpan`, or another entry point of its command line, where warnings are errors.

    It runs in `folder` with `environment`, which are this process's unless given; no file may
    grow beyond `room` bytes.
    """
    words = list(map(str, arguments))
    with tempfile.TemporaryDirectory() as name:
        out, err = Path(name) / "out", Path(name) / "err"
        job = {
            "program": program,
            "arguments": words,
            "folder": str(folder or Path.cwd()),
            "environment": dict(os.environ if environment is None else environment),
            "room": room,
            "timeout": timeout,
            "out": str(out),
            "err": str(err),
        }
        server = _server()
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps(job) + "\n")
        server.stdin.flush()
        told = server.stdout.readline()
        assert told, "the server of programs has ended"
        done = Done(int(told), _read(out), _read(err))
    if done.code == -signal.SIGALRM:
        raise subprocess.TimeoutExpired(["goldpan", *words], timeout, done.out, done.err)
    return done


@cache
def _server() -> subprocess.Popen[str]:
    server = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", "from tests.program import serve; serve()"],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(_end, server)
    return server


def _end(server: subprocess.Popen[str]) -> None:
    assert server.stdin is not None
    server.stdin.close()  # which ends its loop
    server.wait()


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def serve() -> None:
    """Run the jobs that come on stdin until it ends; tell each one's exit code on stdout."""
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
        _, status = os.waitpid(process, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()
    os._exit(0)


def _become(job: dict[str, Any]) -> int:
    """Be the program; return its exit code. What it imported is not taken apart at the end."""
    from goldpan import cli

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
        if job["room"] is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (job["room"], job["room"]))
        signal.alarm(job["timeout"])
        sys.argv = ["goldpan", *job["arguments"]]
        getattr(cli, job["program"])()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:  # noqa: BLE001 - as the interpreter would say it
        traceback.print_exc()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return code
