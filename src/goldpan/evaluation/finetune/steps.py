"""Rows of each step, and those of them that a process takes at once.

A step has the same rows in the same order however many processes share it and however few fit on
a device, so that neither changes what is learned.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

_POOL = 50
"""Steps whose rows are sorted by length together: padding is little, order still random."""


class TakenRow(NamedTuple):
    """A row that a process takes."""

    row: int
    counts: bool = True
    """False where no row is left for a process: it takes one that does not count, since all
    processes take part in every exchange."""


@dataclass(slots=True)
class StepSampler:
    """The rows that one of `world` processes takes at once, part by part, for a data loader."""

    lengths: Sequence[int]
    batch: int
    device_batch: int
    seed: int
    grouped: bool
    rank: int = 0
    world: int = 1
    epoch: int = 0

    @property
    def steps(self) -> int:
        """Steps of an epoch."""
        return math.ceil(len(self.lengths) / self.batch)

    @property
    def parts(self) -> int:
        """Parts of a step."""
        return math.ceil(math.ceil(self.batch / self.world) / self.device_batch)

    def __len__(self) -> int:
        last = len(self.lengths) - (self.steps - 1) * self.batch
        rest = math.ceil(math.ceil(last / self.world) / self.device_batch)
        return (self.steps - 1) * self.parts + rest

    def __iter__(self) -> Iterator[list[TakenRow]]:
        for step in self.rows():
            yield from parts_of(step, self.rank, self.world, self.device_batch)

    def rows(self) -> list[list[int]]:
        """Return the rows of each step of the epoch."""
        return steps_of_epoch(self.lengths, self.batch, self.seed, self.epoch, grouped=self.grouped)


def steps_of_epoch(
    lengths: Sequence[int], batch: int, seed: int, epoch: int, *, grouped: bool
) -> list[list[int]]:
    """Return the rows of each step of an epoch, longest first within a step where grouped.

    The last step has what is left. The first step of the first epoch has the longest row, so that
    memory runs out at once if ever.
    """
    draw = random.Random(f"{seed} order {epoch}")  # noqa: S311
    rows = list(range(len(lengths)))
    draw.shuffle(rows)
    if not grouped:
        return [rows[start : start + batch] for start in range(0, len(rows), batch)]
    whole = len(rows) - len(rows) % batch
    steps = []
    for start in range(0, whole, batch * _POOL):
        pool = sorted(
            rows[start : min(whole, start + batch * _POOL)], key=lambda row: -lengths[row]
        )
        steps += [pool[at : at + batch] for at in range(0, len(pool), batch)]
    draw.shuffle(steps)
    if whole < len(rows):
        steps.append(sorted(rows[whole:], key=lambda row: -lengths[row]))
    if epoch == 0:
        heaviest = max(range(whole // batch or 1), key=lambda step: lengths[steps[step][0]])
        steps[0], steps[heaviest] = steps[heaviest], steps[0]
        if lengths[steps[-1][0]] > lengths[steps[0][0]]:
            steps[0][0], steps[-1][0] = steps[-1][0], steps[0][0]
    return steps


def parts_of(
    step: Sequence[int], rank: int, world: int, device_batch: int
) -> Iterator[list[TakenRow]]:
    """Yield the parts of a step that one of `world` processes takes, as many as any other."""
    parts = math.ceil(math.ceil(len(step) / world) / device_batch)
    mine = step[rank::world]
    for part in range(parts):
        rows = mine[part * len(mine) // parts : (part + 1) * len(mine) // parts]
        yield [TakenRow(row) for row in rows] or [TakenRow(step[0], counts=False)]


def device_share(batch: int, world: int, most: int) -> int:
    """Return the largest number of rows, at most `most`, that divides a process's share."""
    share = batch // world
    return next(size for size in range(max(1, min(most, share)), 0, -1) if share % size == 0)
