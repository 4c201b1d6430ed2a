"""Keeps foreign code from the rest of the machine: bubblewrap, or a container engine.

Code out of a repository's history is hostile until proved otherwise. It sees a file system of its
own, no variable of ours, no home directory, and no network while tests run; time, memory and
processes are bounded.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Literal, Protocol
from uuid import uuid4

from goldpan.core.errors import GoldpanError
from goldpan.execution.disk import DiskWatch

IsolationName = Literal["auto", "docker", "podman", "bubblewrap", "none"]
Exceeded = Literal["time", "memory", "processes", "output", "disk"]
TESTBED = "/testbed"
"""Where the repository's files lie for isolated code."""
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
_ANSWER_SECONDS = 20
_LOOK_SECONDS = 0.5
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64")
_SETTINGS = ("/etc/alternatives", "/etc/ld.so.cache", "/etc/localtime", "/etc/passwd", "/etc/group")
_NETWORK = (
    "/etc/ssl",
    "/etc/pki",
    "/etc/ca-certificates",
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/nsswitch.conf",
)
_MOST_FILE = 1 << 30  # bytes of a file that foreign code writes
_MOST_LOG = 64 << 20  # bytes of a log that are kept


class IsolationError(GoldpanError):
    """Nothing on this machine keeps foreign code apart."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one command may use."""

    seconds: float = 1_800
    memory: int = 8 << 30
    """Bytes, of one process's addresses and of what all processes hold together."""
    processes: int = 512
    disk: int = 16 << 30
    """Bytes of all that it writes into its directories, looked at every few seconds."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command and what it may see."""

    arguments: Sequence[str]
    testbed: Path
    """The directory that isolated code sees as `TESTBED`, to write into."""
    writable: Sequence[Path] = ()
    readable: Sequence[Path] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    network: bool = False


@dataclass(frozen=True, slots=True)
class Finished:
    """How a command ended."""

    code: int
    """The exit status."""
    exceeded: Exceeded | None = None
    """The limit at which it was stopped."""


class Isolation(Protocol):
    """Runs commands so that they reach nothing but what they are given."""

    @property
    def name(self) -> str:
        """Which engine it is, for records."""
        ...

    def testbed(self, directory: Path) -> str:
        """Return the path under which a command sees its testbed."""
        ...

    def run(self, command: Command, limits: Limits, log: Path) -> Finished:
        """Run a command to its end, appending what it prints to `log`, 64 MiB at most."""
        ...


def find_isolation(name: IsolationName = "auto", image: str = "") -> Isolation:
    """Return an engine that works on this machine, by name or the first of them.

    `image` is the container engines' image. Raises `IsolationError` where none works; `none`, no
    isolation at all, has to be named.
    """
    if name == "none":
        return NoIsolation()
    tried = []
    for engine in ("docker", "podman", "bubblewrap") if name == "auto" else (name,):
        isolation: Isolation
        if engine == "bubblewrap":
            isolation, test = Bubblewrap(), ["bwrap", *_BARE, "--", "/usr/bin/env", "true"]
        else:
            isolation, test = Container(engine, image), [engine, "info"]
        if engine != "bubblewrap" and not image and name == "auto":
            continue  # which image has the repository's language, only its user knows
        if _works(test):
            return isolation
        tried.append(test[0])
    raise IsolationError(
        f"Nothing here keeps the code of repositories apart: {' and '.join(tried)} "
        f"{'do' if len(tried) > 1 else 'does'} not work",
        "Install bubblewrap (a package of most Linux distributions), give --isolation docker "
        "--image IMAGE, or take the risk with --isolation none",
    )


def _works(command: Sequence[str]) -> bool:
    if shutil.which(command[0]) is None:
        return False
    try:
        ended = subprocess.run(  # noqa: S603 - an engine with our own arguments
            command, capture_output=True, timeout=_ANSWER_SECONDS, check=False, env=_bare_path()
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return ended.returncode == 0


def _bare_path() -> dict[str, str]:
    known = ("PATH", "HOME", "DOCKER_HOST", "XDG_RUNTIME_DIR", "CONTAINER_HOST")
    return {name: os.environ[name] for name in known if name in os.environ}


def _system_binds() -> list[str]:
    """Return the arguments that show programs and libraries, links as links."""
    binds: list[str] = []
    for path in map(Path, _SYSTEM):
        if path.is_symlink():
            binds += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir():
            binds += ["--ro-bind", str(path), str(path)]
    return binds


_BARE = (
    "--unshare-all",
    "--die-with-parent",
    "--new-session",
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    *_system_binds(),
)


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """Namespaces of the Linux kernel, without a daemon."""

    name: str = "bubblewrap"

    def testbed(self, directory: Path) -> str:
        """Return the path under which a command sees its testbed."""
        return TESTBED

    def run(self, command: Command, limits: Limits, log: Path) -> Finished:
        """Run a command in namespaces of its own; limits are those of its processes."""
        shown = [*_SETTINGS, *(_NETWORK if command.network else ())]
        size = ("--size", str(limits.memory)) if _sizes_memory_disks() else ()
        arguments = [
            shutil.which("bwrap") or "bwrap",
            *_BARE,
            *(("--share-net",) if command.network else ()),
            *("--unshare-user", "--uid", "1000", "--gid", "1000", "--hostname", "testbed"),
            *(*size, "--tmpfs", "/tmp", "--dir", "/tmp/home"),  # noqa: S108 - inside the namespace
            *(*size, "--tmpfs", "/dev/shm"),  # noqa: S108 - inside the namespace
        ]
        for path in shown:
            arguments += ["--ro-bind-try", os.path.realpath(path), path]
        for readable in command.readable:
            arguments += ["--ro-bind", str(readable), str(readable)]
        for writable in command.writable:
            arguments += ["--bind", str(writable), str(writable)]
        arguments += ["--bind", str(command.testbed), TESTBED, "--chdir", TESTBED]
        # The rest is in memory, too, which nothing bounds.
        arguments += ["--remount-ro", "/dev", "--remount-ro", "/"]
        limited = _limited(command, limits, own_users=True)
        # Variables travel here and not as arguments, which every user of the machine can list.
        return _run(
            [*arguments, "--", *limited], command, limits, log, environment=_environment(command)
        )


@lru_cache(maxsize=1)
def _sizes_memory_disks() -> bool:
    """Tell whether this bubblewrap bounds file systems in memory, as those since 0.5 do."""
    output = subprocess.run(["bwrap", "--help"], capture_output=True, check=False)  # noqa: S607
    return b"--size" in output.stdout + output.stderr


@dataclass(frozen=True, slots=True)
class Container:
    """A container engine that has docker's command line."""

    name: str
    image: str

    def testbed(self, directory: Path) -> str:
        """Return the path under which a command sees its testbed."""
        return TESTBED

    def run(self, command: Command, limits: Limits, log: Path) -> Finished:
        """Run a command in a container that vanishes with it."""
        label = f"goldpan-{uuid4().hex}"
        arguments = [
            *(self.name, "run", "--rm", "--init", "--name", label),
            *("--network", "bridge" if command.network else "none"),
            *("--memory", str(limits.memory), "--pids-limit", str(limits.processes)),
            *("--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--read-only"),
            *("--tmpfs", "/tmp:exec", "--workdir", TESTBED),  # noqa: S108 - inside the container
            *("--user", f"{os.getuid()}:{os.getgid()}"),
            *("--volume", f"{command.testbed}:{TESTBED}"),
        ]
        for readable in command.readable:
            arguments += ["--volume", f"{readable}:{readable}:ro"]
        for writable in command.writable:
            arguments += ["--volume", f"{writable}:{writable}"]
        # The engine's own PATH and HOME are others; the rest, which may be secret, it passes on.
        variables, own = _environment(command), _bare_path()
        for name, value in variables.items():
            arguments += ["--env", f"{name}={value}" if name in own else name]
        try:
            return _run(
                [*arguments, self.image, *command.arguments],
                command,
                limits,
                log,
                environment={**variables, **own},
            )
        finally:
            with suppress(OSError, subprocess.TimeoutExpired):  # it is gone, but where time ran out
                subprocess.run(  # noqa: S603 - an engine with our own arguments
                    [self.name, "rm", "--force", label],
                    capture_output=True,
                    timeout=_ANSWER_SECONDS,
                    check=False,
                    env=_bare_path(),
                )


@dataclass(frozen=True, slots=True)
class NoIsolation:
    """Runs foreign code as its user: for code that one trusts, or within a virtual machine."""

    name: str = "none"

    def testbed(self, directory: Path) -> str:
        """Return the path under which a command sees its testbed."""
        return str(directory)

    def run(self, command: Command, limits: Limits, log: Path) -> Finished:
        """Run a command as any other, bounded in time and memory."""
        return _run(
            _limited(command, limits, own_users=False),
            command,
            limits,
            log,
            environment=_environment(command),
            directory=command.testbed,
        )


def _environment(command: Command) -> dict[str, str]:
    return {
        "HOME": "/tmp/home",  # noqa: S108 - inside the namespace
        "LANG": "C.UTF-8",
        "PATH": SYSTEM_PATH,
        "PYTHONHASHSEED": "0",
        "TZ": "UTC",
        **command.environment,
    }


def _limited(command: Command, limits: Limits, *, own_users: bool) -> list[str]:
    """Return the command below `prlimit`.

    Processes are counted by user, so that limit holds only where the namespace has its own.
    """
    return [
        "/usr/bin/prlimit",
        f"--as={limits.memory}",
        f"--fsize={_MOST_FILE}",
        "--core=0",
        *((f"--nproc={limits.processes}",) if own_users else ()),
        "--",
        *command.arguments,
    ]


def _run(
    arguments: Sequence[str],
    command: Command,
    limits: Limits,
    log: Path,
    *,
    environment: Mapping[str, str],
    directory: Path | None = None,
) -> Finished:
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
    return Finished(finished.code, "output") if size >= _MOST_FILE else finished


def _watch(
    process: subprocess.Popen[bytes], limits: Limits, log: Path, disk: DiskWatch
) -> Finished:
    """Wait for a command's end, or until it and its children take more than they may.

    The kernel does not count the processes of root, nor the memory of several together.
    """
    end = time.monotonic() + limits.seconds
    while True:
        with suppress(subprocess.TimeoutExpired):
            return Finished(process.wait(_LOOK_SECONDS))
        processes, memory = _usage(process.pid)
        if time.monotonic() > end:
            return Finished(-1, "time")
        if log.stat().st_size >= _MOST_FILE:
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
