"""Bounds what foreign code writes to the disk, which no engine here does by itself."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

_SPARED = 1 << 30
"""Bytes that stay free on the disk: files that are deleted but open count in no directory."""
_SHARE = 0.05
"""The most of the time that is spent counting."""
_BLOCK = 512  # bytes, in which `stat` counts


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
        links: set[tuple[int, int]] = set()
        total = 0
        for entry in _entries(self.directories):
            with suppress(OSError):  # it is gone
                about = entry.stat(follow_symlinks=False)
                if about.st_nlink > 1 and not entry.is_dir(follow_symlinks=False):
                    if (about.st_dev, about.st_ino) in links:
                        continue
                    links.add((about.st_dev, about.st_ino))
                total += about.st_blocks * _BLOCK
        end = time.monotonic()
        self._next = end + (end - started) / _SHARE
        return total

    def _free_bytes(self) -> int:
        about = os.statvfs(self.directories[0])
        return about.f_bavail * about.f_frsize


def _entries(directories: Sequence[Path]) -> Iterator[os.DirEntry[str]]:
    waiting = list(map(os.fspath, directories))
    while waiting:
        try:
            with os.scandir(waiting.pop()) as listing:
                for entry in listing:
                    yield entry
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except OSError:  # it is gone, or hidden from us; what it takes is gone from the disk
            continue
