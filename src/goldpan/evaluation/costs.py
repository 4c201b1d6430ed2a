"""Counts what a run takes: wall time, processor time of this process and its children."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from goldpan.evaluation.model import Costs


@contextmanager
def counting(costs: Costs) -> Iterator[None]:
    """Add the time of the block, also where it fails."""
    started, before = time.monotonic(), _processor()
    try:
        yield
    finally:
        costs.wall_seconds += time.monotonic() - started
        costs.cpu_seconds += _processor() - before


def _processor() -> float:
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system
