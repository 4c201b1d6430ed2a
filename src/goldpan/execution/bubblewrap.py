"""Keeps foreign code apart by namespaces of the Linux kernel, without a daemon."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from goldpan.execution.command import (
    HOME,
    TESTBED,
    Command,
    Finished,
    Limits,
    below_limits,
    environment_of,
    lacking_here,
    run_limited,
)

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

    def run(self, command: Command, limits: Limits, log: Path) -> Finished:
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
