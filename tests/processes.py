"""The processes that work for this one."""

from __future__ import annotations

import os
import signal
from pathlib import Path


def workers() -> list[int]:
    """Return the processes that this one started to work for it, and that are not buried yet."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text(errors="replace").rpartition(")")[2].split()[1])
            words = path.with_name("cmdline").read_bytes()
        except OSError:  # it ended meanwhile
            continue
        if parent == os.getpid() and b"goldpan.core.parallel.workers" in words:
            found.append(int(path.parent.name))
    return sorted(found)


def kill_workers() -> None:
    """Kill the processes that work for this one, as the kernel does where memory is short."""
    for process in workers():
        os.kill(process, signal.SIGKILL)
        os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)
