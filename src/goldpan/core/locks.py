"""Keeps other processes out, by a lock on a file that goes with its process however that ends.

In the mirror of a workspace that lies in a store, the lock holds on all machines.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from goldpan.core.errors import GoldpanError
from goldpan.core.remote import lease_for


@contextmanager
def hold_lock(path: Path, busy: GoldpanError | None = None) -> Iterator[None]:
    """Hold a lock file meanwhile; where another process holds it, raise `busy` or else wait."""
    from filelock import FileLock, Timeout  # it takes long to import

    # A soft lock, by the mere presence of a file, would outlive a process that is killed.
    lock = FileLock(path, blocking=busy is None, fallback_to_soft=False)
    try:
        lock.acquire()
    except Timeout:
        if busy is None:
            raise
        raise busy from None
    try:
        with lease_for(path, busy):
            yield
    finally:
        lock.release()
