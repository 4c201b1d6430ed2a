"""Keeps foreign code from the rest of the machine: bubblewrap, or a container engine.

Code out of a repository's history is hostile until proved otherwise. It sees a file system of its
own, no variable of ours, no home directory, and no network while tests run; time, memory and
processes are bounded.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, Protocol

from goldpan.execution.command import (
    HOME,
    TESTBED,
    CommandLimits,
    Finished,
    IsolationError,
    SandboxCommand,
    below_limits,
    environment_of,
    lacking_here,
    run_limited,
)
from goldpan.execution.container import checked_container, engine_variables

# Keeps foreign code apart by namespaces of the Linux kernel, without a daemon.

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64")
_SETTINGS = ("/etc/alternatives", "/etc/ld.so.cache", "/etc/localtime", "/etc/passwd", "/etc/group")
_NETWORK = ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf")


def _system_binds() -> list[str]:
    """Return the arguments that show programs and libraries, links as links."""
    binds: list[str] = []
    for path in map(Path, _SYSTEM):
        if path.is_symlink():
            binds += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir():
            binds += ["--ro-bind", str(path), str(path)]
    return binds


BARE = (
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
    is_own_system: bool = True
    image_id: str = ""

    def testbed(self, directory: Path) -> str:
        """Return the path under which a command sees its testbed."""
        return TESTBED

    def lacking(self, programs: Sequence[str]) -> tuple[str, ...]:
        """Return which of these programs this machine does not have."""
        return lacking_here(programs)

    def run(self, command: SandboxCommand, limits: CommandLimits, log: Path) -> Finished:
        """Run a command in namespaces of its own; limits are those of its processes."""
        shown = [*_SETTINGS, *(_NETWORK if command.network else ())]
        size = ("--size", str(limits.memory)) if _sizes_memory_disks() else ()
        arguments = [
            shutil.which("bwrap") or "bwrap",
            *BARE,
            *(("--share-net",) if command.network else ()),
            *("--unshare-user", "--uid", "1000", "--gid", "1000", "--hostname", "testbed"),
            *(*size, "--tmpfs", "/tmp", "--dir", HOME),  # noqa: S108 - inside the namespace
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
        limited = below_limits(command, limits, own_users=True)
        # Variables travel here and not as arguments, which every user of the machine can list.
        return run_limited(
            [*arguments, "--", *limited], command, limits, log, environment=environment_of(command)
        )


@lru_cache(maxsize=1)
def _sizes_memory_disks() -> bool:
    """Tell whether this bubblewrap bounds file systems in memory, as those since 0.5 do."""
    output = subprocess.run(["bwrap", "--help"], capture_output=True, check=False)  # noqa: S607
    return b"--size" in output.stdout + output.stderr


IsolationName = Literal["auto", "docker", "podman", "bubblewrap", "none"]
_ANSWER_SECONDS = 20


class Isolation(Protocol):
    """Runs commands so that they reach nothing but what they are given."""

    @property
    def name(self) -> str:
        """Which engine it is, for records."""
        ...

    @property
    def is_own_system(self) -> bool:
        """Whether commands run this machine's programs, not those of an image."""
        ...

    @property
    def image_id(self) -> str:
        """The digest of the image, empty where there is none."""
        ...

    def testbed(self, directory: Path) -> str:
        """Return the path under which a command sees its testbed."""
        ...

    def lacking(self, programs: Sequence[str]) -> tuple[str, ...]:
        """Return which of these programs are not installed where commands run."""
        ...

    def run(self, command: SandboxCommand, limits: CommandLimits, log: Path) -> Finished:
        """Run a command to its end, appending what it prints to `log`, 64 MiB at most."""
        ...


def find_isolation(name: IsolationName = "auto", image: str = "") -> Isolation:
    """Return an engine that works on this machine, by name or the first of them.

    `image` is the container engines' image. Raises `IsolationError` where none works; `none`, no
    isolation at all, has to be named.
    """
    if name == "none":
        return NoIsolation()
    if name in ("docker", "podman") and not image:
        raise IsolationError(
            f"{name} needs an image that has what the repository's tests need",
            "Give one with --image, such as docker.io/library/python:3.13",
        )
    # Which image has the repository's language, only its user knows.
    automatic = ("docker", "podman", "bubblewrap") if image else ("bubblewrap",)
    tried = []
    for engine in automatic if name == "auto" else (name,):
        if engine == "bubblewrap":
            if _works(["bwrap", *BARE, "--", "/bin/sh", "-c", ":"]):
                return Bubblewrap()
        elif _works([engine, "info"]):
            return checked_container(engine, image)
        tried.append("bwrap" if engine == "bubblewrap" else engine)
    raise IsolationError(
        f"Nothing on this machine can isolate the code of repositories: {' and '.join(tried)} "
        f"{'do' if len(tried) > 1 else 'does'} not work",
        "Install bubblewrap (a package of most Linux distributions), give --isolation docker "
        "--image IMAGE, or take the risk with --isolation none",
    )


def _works(command: Sequence[str]) -> bool:
    if shutil.which(command[0]) is None:
        return False
    try:
        process = subprocess.run(  # noqa: S603 - an engine with our own arguments
            command,
            capture_output=True,
            timeout=_ANSWER_SECONDS,
            check=False,
            env=engine_variables(),
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return process.returncode == 0


@dataclass(frozen=True, slots=True)
class NoIsolation:
    """Runs foreign code as its user: for code that one trusts, or within a virtual machine."""

    name: str = "none"
    is_own_system: bool = True
    image_id: str = ""

    def testbed(self, directory: Path) -> str:
        """Return the path under which a command sees its testbed."""
        return str(directory)

    def lacking(self, programs: Sequence[str]) -> tuple[str, ...]:
        """Return which of these programs this machine does not have."""
        return lacking_here(programs)

    def run(self, command: SandboxCommand, limits: CommandLimits, log: Path) -> Finished:
        """Run a command as any other, bounded in time and memory."""
        return run_limited(
            below_limits(command, limits, own_users=False),
            command,
            limits,
            log,
            environment=environment_of(command),
            directory=command.testbed,
        )
