"""Runs one command of foreign code, bounded in time, memory, processes and what it writes."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from goldpan.core.errors import GoldpanError

# Bounds what foreign code writes to the disk, which no engine here does by itself.

_SPARED = 1 << 30
"""Bytes that stay free on the disk: files that are deleted but open count in no directory."""
_SHARE = 0.05
"""The most of the time that is spent counting."""


@dataclass(slots=True)
class DiskWatch:
    """Tells whether directories have grown by more than they may, or their disk is full."""

    directories: Sequence[Path]
    limit: int
    """Bytes that may be added to them together."""
    _start: int = field(init=False)
    _free: int = field(init=False)
    _next: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        self._start = self._count()
        self._free = self._free_bytes()

    def is_exceeded(self) -> bool:
        """Look again, unless the last look was too short a time ago for what it takes."""
        now = time.monotonic()
        if now < self._next:
            return False
        left = self._free_bytes()
        # A disk that was full before is not this code's fault, unless it takes still more.
        if left < min(_SPARED, self._free):
            return True
        return self._count() - self._start > self.limit

    def _count(self) -> int:
        started = time.monotonic()
        counted = subprocess.run(  # noqa: S603 - du with our own arguments
            ["du", "--summarize", "--total", "--block-size=1", "--", *self.directories],  # noqa: S607
            capture_output=True,
            check=False,  # what is gone meanwhile, or hidden from us, counts for nothing
        )
        end = time.monotonic()
        self._next = end + (end - started) / _SHARE
        return int(counted.stdout.split()[-2])

    def _free_bytes(self) -> int:
        about = os.statvfs(self.directories[0])
        return about.f_bavail * about.f_frsize


Exceeded = Literal["time", "memory", "processes", "output", "disk"]
TESTBED = "/testbed"
"""Where the repository's files lie for isolated code."""
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
HOME = "/tmp/home"  # noqa: S108 - inside the namespace
MOST_FILE = 1 << 30
"""Bytes of a file that foreign code writes."""
_LOOK_SECONDS = 0.5
_MOST_LOG = 64 << 20  # bytes of a log that are kept


class IsolationError(GoldpanError):
    """The isolation of foreign code does not work on this machine."""


@dataclass(frozen=True, slots=True)
class CommandLimits:
    """The limits of one command."""

    seconds: float = 1_800
    memory: int = 8 << 30
    """Bytes, of one process's addresses and of what all processes hold together."""
    processes: int = 512
    disk: int = 16 << 30
    """Bytes of all that it writes into its directories, looked at every few seconds."""


@dataclass(frozen=True, slots=True)
class SandboxCommand:
    """A command and what it may see."""

    arguments: Sequence[str]
    testbed: Path
    """The directory that isolated code sees as `TESTBED`, to write into."""
    writable: Sequence[Path] = ()
    readable: Sequence[Path] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    network: bool = False
    """True where it has all of this machine's network."""


@dataclass(frozen=True, slots=True)
class Finished:
    """How a command ended."""

    code: int
    """The exit status."""
    exceeded: Exceeded | None = None
    """The limit at which it was stopped."""


def environment_of(command: SandboxCommand) -> dict[str, str]:
    """Return the variables that a command sees, none of ours among them."""
    return {
        "HOME": HOME,
        "LANG": "C.UTF-8",
        "PATH": SYSTEM_PATH,
        "PYTHONHASHSEED": "0",
        "TZ": "UTC",
        **command.environment,
    }


def below_limits(command: SandboxCommand, limits: CommandLimits, *, own_users: bool) -> list[str]:
    """Return the command below `prlimit`.

    Processes are counted by user, so that limit holds only where the namespace has its own.
    """
    return [
        "/usr/bin/prlimit",
        f"--as={limits.memory}",
        f"--fsize={MOST_FILE}",
        "--core=0",
        *((f"--nproc={limits.processes}",) if own_users else ()),
        "--",
        *command.arguments,
    ]


def run_limited(
    arguments: Sequence[str],
    command: SandboxCommand,
    limits: CommandLimits,
    log: Path,
    *,
    environment: Mapping[str, str],
    directory: Path | None = None,
) -> Finished:
    """Run what isolates a command to its end, appending what it prints to `log`."""
    disk = DiskWatch((command.testbed, *command.writable), limits.disk)
    with log.open("ab") as output:
        process = subprocess.Popen(  # noqa: S603 - an engine with our own arguments
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            cwd=directory,
            start_new_session=True,
        )
        try:
            finished = _watch(process, limits, log, disk)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    size = log.stat().st_size
    if size > _MOST_LOG:
        os.truncate(log, _MOST_LOG)
    return Finished(finished.code, "output") if size >= MOST_FILE else finished


def _watch(
    process: subprocess.Popen[bytes], limits: CommandLimits, log: Path, disk: DiskWatch
) -> Finished:
    """Wait for a command's end, or until it and its children take more than they may.

    The kernel does not count the processes of root, nor the memory of several together.
    """
    end = time.monotonic() + limits.seconds
    while True:
        left = max(0.0, end - time.monotonic())
        with suppress(subprocess.TimeoutExpired):
            return Finished(process.wait(min(_LOOK_SECONDS, left)))
        processes, memory = _usage(process.pid)
        if time.monotonic() > end:
            return Finished(-1, "time")
        if log.stat().st_size >= MOST_FILE:
            return Finished(-1, "output")
        if processes > limits.processes:
            return Finished(-1, "processes")
        if memory > limits.memory:
            return Finished(-1, "memory")
        if disk.is_exceeded():
            return Finished(-1, "disk")


def _usage(root: int) -> tuple[int, int]:
    """Return how many processes there are below one, and the bytes that they hold."""
    children: dict[int, list[tuple[int, int]]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it ended meanwhile
            # The name, in parentheses, may hold anything.
            fields = path.read_text(errors="replace").rpartition(")")[2].split()
            children.setdefault(int(fields[1]), []).append((int(path.parent.name), int(fields[21])))
    count = pages = 0
    waiting = [root]
    while waiting:
        for process, resident in children.get(waiting.pop(), ()):
            count, pages = count + 1, pages + resident
            waiting.append(process)
    return count, pages * os.sysconf("SC_PAGE_SIZE")
