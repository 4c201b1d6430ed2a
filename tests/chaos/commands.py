"""Goldpan's command line in processes that can be killed, without waiting for imports each time.

A child is a fork of this process, which has imported everything: so it begins with the work at
once, and a random moment of its life is a moment of its work.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import resource
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path

import goldpan
from goldpan import cli
from goldpan.miners.github.limits import Pace
from tests.mining import PACE, TOKEN
from tests.openai_server import KEY

_PATIENCE = 120.0
_OTHERS = ("pyarrow.compute", "pyarrow.dataset", "sklearn.svm", "sklearn.linear_model")


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended; a killed one has the negative number of its signal."""

    code: int
    said: str
    complained: str
    seconds: float


@dataclass(slots=True)
class Running:
    """A command under way."""

    process: int
    started: float
    said: Path
    complained: Path

    def wait(self, seconds: float = _PATIENCE) -> Done | None:
        """Return how it ended; None where it has not after so long."""
        end = time.monotonic() + seconds
        while True:
            process, status = os.waitpid(self.process, os.WNOHANG)
            if process:
                took = time.monotonic() - self.started
                texts = [_read(path) for path in (self.said, self.complained)]
                return Done(os.waitstatus_to_exitcode(status), texts[0], texts[1], took)
            if time.monotonic() >= end:
                return None
            time.sleep(min(0.002, max(0.0, end - time.monotonic())))

    def kill(self) -> Done:
        """End it without a chance to clean up."""
        os.kill(self.process, signal.SIGKILL)
        done = self.wait()
        assert done is not None
        self.sweep()
        return done

    def sweep(self) -> None:
        """End what it started and left behind, so that trials do not slow each other."""
        with suppress(ProcessLookupError):
            os.killpg(self.process, signal.SIGKILL)


def preload() -> None:
    """Import all that commands import when they need it; heavy extras are left aside."""
    for module in pkgutil.walk_packages(goldpan.__path__, "goldpan."):
        if ".finetune" not in module.name:
            importlib.import_module(module.name)
    for name in _OTHERS:
        importlib.import_module(name)


def start(
    arguments: Sequence[str], directory: Path, api: str, *, room: int | None = None, name: str = "a"
) -> Running:
    """Start a command in a directory; with `room` no file may grow beyond so many bytes."""
    printed, complained = directory / f"{name}.out", directory / f"{name}.err"
    started = time.monotonic()
    process = os.fork()
    if not process:
        _child(arguments, directory, api, room, (printed, complained))
    return Running(process, started, printed, complained)


def run(arguments: Sequence[str], directory: Path, api: str, *, room: int | None = None) -> Done:
    """Run a command to its end."""
    running = start(arguments, directory, api, room=room)
    done = running.wait()
    if done is None:
        running.kill()
        raise TimeoutError(f"goldpan {' '.join(arguments)} runs for {_PATIENCE:.0f} s")
    running.sweep()
    return done


def _child(
    arguments: Sequence[str],
    directory: Path,
    api: str,
    room: int | None,
    outputs: tuple[Path, Path],
) -> None:
    code = 70
    try:
        os.setsid()
        for number, path in enumerate(outputs, 1):
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
            os.dup2(file, number)
        sys.stdout = os.fdopen(1, "w", closefd=False, encoding="utf-8")
        sys.stderr = os.fdopen(2, "w", closefd=False, encoding="utf-8")
        os.chdir(directory)
        os.environ.update(
            GITHUB_TOKEN=TOKEN, GOLDPAN_API_URL=api, OPENAI_API_KEY=KEY, COLUMNS="200"
        )
        if room is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
        pace = tuple(getattr(PACE, part.name) for part in fields(Pace))
        setattr(Pace.__init__, "__defaults__", pace)  # noqa: B010 - mypy knows no such name
        sys.argv = ["goldpan", *arguments]
        cli.main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:  # noqa: BLE001 - a trace is what the trial looks for
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
