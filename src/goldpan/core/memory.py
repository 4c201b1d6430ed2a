"""When memory is searched for what is free, and when it goes back to the system."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow as pa

_GROUPS = Path("/sys/fs/cgroup")
_GROUP_LIMITS = (
    ("memory.max", "memory.current", "memory.stat"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat"),
)
"""Files of Linux's control groups, by their versions 2 and 1: the limit, what is used, and how."""


@contextmanager
def without_collection() -> Iterator[None]:
    """Spare work that makes many values and no cycles the search for cycles."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def frugal() -> Iterator[None]:
    """Have Arrow give back at once what its own pool would keep, which can be 100 MB."""
    before = pa.default_memory_pool()
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        yield
    finally:
        pa.set_memory_pool(before)


def available_memory() -> int:
    """Return the bytes that this process may still take, as the system and its group's limit say.

    Where neither tells, it is half of what the machine has.
    """
    free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text().splitlines()
        free = int(next(line for line in lines if line.startswith("MemAvailable")).split()[1]) << 10
    for limit, used, cached in _GROUP_LIMITS:
        with suppress(OSError, ValueError, StopIteration):  # no limit is the word "max"
            lines = (_GROUPS / cached).read_text().splitlines()
            files = next(line for line in lines if "inactive_file" in line).split()[1]
            used_bytes = int((_GROUPS / used).read_text()) - int(files)
            free = min(free, max(0, int((_GROUPS / limit).read_text()) - used_bytes))
    return free
