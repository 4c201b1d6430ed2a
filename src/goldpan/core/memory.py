"""Memory that goes back to the system as soon as it is free."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa


@contextmanager
def frugal() -> Iterator[None]:
    """Have Arrow give back at once what its own pool would keep, which can be 100 MB."""
    before = pa.default_memory_pool()
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        yield
    finally:
        pa.set_memory_pool(before)
