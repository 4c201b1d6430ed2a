"""When memory is searched for what is free, and when it goes back to the system."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa


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
