"""Draws the instances of a task that it is evaluated on."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass

from goldpan.datasets.hash_sampling import draw_number
from goldpan.papers.crosscodebench.instance import Instance


@dataclass(frozen=True, slots=True)
class Drawn:
    """Which instances of a task were drawn."""

    indexes: frozenset[int]
    """Their numbers in the task's file, from 0."""
    instances: int
    """How many the file holds."""
    shown: int
    """How many could not be drawn because the task's examples show them."""


def draw_instances(
    instances: Iterable[Instance], task: str, cap: int, seed: int, shown: frozenset[str]
) -> Drawn:
    """Draw up to `cap` instances of a task that its examples do not show.

    Those with the lowest hashes of seed, task, split and number are drawn: a larger file gives
    the same ones, but for those that new ones with lower hashes push out (CrossCodeBench, IV-D,
    fixes them too). Memory follows the cap.
    """
    drawn: list[tuple[int, int]] = []
    total = left_out = 0
    for index, instance in enumerate(instances):
        total += 1
        if instance.input in shown:
            left_out += 1
            continue
        rank = (-draw_number(seed, task, instance.split, instance.idx), -index)
        if len(drawn) < cap:
            heapq.heappush(drawn, rank)
        elif rank > drawn[0]:
            heapq.heapreplace(drawn, rank)
    return Drawn(frozenset(-index for _, index in drawn), total, left_out)
