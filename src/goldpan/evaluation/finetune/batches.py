"""Which rows make a step, and which of them a process takes at once.

A step has the same rows in the same order however many processes share it and however few fit on
a device, so that neither changes what is learned.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

_POOL = 50
"""Steps whose rows are sorted by length together: padding is little, order still random."""
_CPU_TOKENS = 4_096
"""Tokens that a processor takes at once: more are no faster, and a machine whose memory is full
kills the process instead of telling it."""


def steps_of_epoch(
    lengths: Sequence[int], batch: int, seed: int, epoch: int, *, group: bool
) -> list[list[int]]:
    """Return the rows of each step of an epoch, longest first within a step where grouped.

    The first step of the first epoch has the longest row, so that memory runs out at once if
    ever.
    """
    draw = random.Random(f"{seed} order {epoch}")  # noqa: S311
    rows = list(range(len(lengths)))
    draw.shuffle(rows)
    if not group:
        return [rows[start : start + batch] for start in range(0, len(rows), batch)]
    pooled = []
    for start in range(0, len(rows), batch * _POOL):
        pool = sorted(rows[start : start + batch * _POOL], key=lambda row: -lengths[row])
        pooled += [pool[at : at + batch] for at in range(0, len(pool), batch)]
    draw.shuffle(pooled)
    if epoch == 0:
        heaviest = max(range(len(pooled)), key=lambda step: lengths[pooled[step][0]])
        pooled[0], pooled[heaviest] = pooled[heaviest], pooled[0]
    return pooled


@dataclass(frozen=True, slots=True)
class Part:
    """What a process takes at once."""

    rows: Sequence[int]
    counts: bool = True
    """False where there are no rows left for it: it takes one that does not count, since all
    processes must take part in every exchange."""


def rows_at_once(most: int, longest: int, device: str) -> int:
    """Return how many rows a device takes at once, of which the longest has `longest` tokens."""
    return max(1, min(most, _CPU_TOKENS // max(1, longest))) if device == "cpu" else most


def parts_of(step: Sequence[int], rank: int, world: int, device_batch: int) -> list[Part]:
    """Return the parts of a step that one of `world` processes takes, as many as any other."""
    largest = math.ceil(len(step) / world)
    parts = math.ceil(largest / device_batch)
    mine = step[rank::world]
    cut = [mine[at * len(mine) // parts : (at + 1) * len(mine) // parts] for at in range(parts)]
    return [Part(rows) if rows else Part(step[:1], counts=False) for rows in cut]
