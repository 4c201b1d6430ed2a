"""Draws by hash: what is drawn depends on the seed and the names alone, and stays as data grow."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Callable, Iterable
from typing import TypeVar

Item = TypeVar("Item")


def draw_number(seed: int, *names: str) -> int:
    """Return a number below 2^64 that a seed and names give."""
    text = "\0".join((str(seed), *names))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())


def sample_by_hash(
    items: Iterable[Item], most: int, seed: int, name: Callable[[Item], str]
) -> list[Item]:
    """Return at most so many items, those with the least numbers, in their own order.

    No more than `most` are held. Names have to differ.
    """
    heap: list[tuple[int, int, Item]] = []
    for position, item in enumerate(items):
        entry = -draw_number(seed, name(item)), position, item
        if len(heap) < most:
            heapq.heappush(heap, entry)
        elif entry[0] > heap[0][0]:
            heapq.heapreplace(heap, entry)
    return [item for _, _, item in sorted(heap, key=lambda entry: entry[1])]
