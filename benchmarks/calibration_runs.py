"""Repeats the studies of a cell until its rate of false decisions is known well enough.

Each batch of studies is a line of `results.jsonl`, drawn by random numbers of its own, so that a
run goes on where another stopped, and several processes share the cells of one folder.
"""

from __future__ import annotations

import json
import math
import time
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy import stats  # type: ignore[import-untyped]

from benchmarks.calibration_methods import METHODS
from benchmarks.null_models import Cell, draw

LIMIT = 0.06
_SURELY = 0.99
_BATCH = 250
"""Studies that share random numbers, and that are kept or lost together."""


@dataclass(slots=True)
class Tally:
    """What the studies of a cell add up to."""

    repeats: int = 0
    different: dict[str, int] = field(default_factory=dict)
    """Studies in which a method declares any two models different."""
    won: dict[str, float] = field(default_factory=dict)
    """Shares of the other models that the first is said to be better than, added up."""

    def add(self, other: Tally) -> None:
        """Add the studies of another tally."""
        self.repeats += other.repeats
        for method, count in other.different.items():
            self.different[method] = self.different.get(method, 0) + count
            self.won[method] = self.won.get(method, 0.0) + other.won[method]

    def rate(self, method: str) -> float:
        """Return the share of studies in which a method declares any models different."""
        return self.different[method] / self.repeats

    def power(self, method: str) -> float:
        """Return the mean share of models that the first is said to be better than."""
        return self.won[method] / self.repeats


def rates(
    cell: Cell, methods: Iterable[str], repeats: int, seed: int | list[int] = 0, first: int = 0
) -> Tally:
    """Return what methods decide of studies; `first` is the number of the first."""
    random = np.random.default_rng(seed)
    names = list(methods)
    tally = Tally(repeats, dict.fromkeys(names, 0), dict.fromkeys(names, 0.0))
    for repeat in range(first, first + repeats):
        drawn = draw(cell, random)
        for name in names:
            decided = METHODS[name](drawn, repeat)
            tally.different[name] += any(word in ("better", "worse") for word in decided.values())
            won = sum(
                (word == "better" and pair[0] == 0) or (word == "worse" and pair[1] == 0)
                for pair, word in decided.items()
            )
            tally.won[name] += won / (cell.models - 1)
    return tally


def above_limit(count: int, repeats: int, limit: float = LIMIT, surely: float = 0.001) -> bool:
    """Return whether so many false decisions are more than the limit allows, beyond chance."""
    return float(stats.binom.sf(count - 1, repeats, limit)) < surely


def wilson(count: int, repeats: int, confidence: float = _SURELY) -> tuple[float, float]:
    """Return Wilson's interval of a share."""
    z = float(stats.norm.isf((1 - confidence) / 2))
    share, weight = count / repeats, z**2 / repeats
    half = z * math.sqrt(share * (1 - share) / repeats + weight / repeats / 4)
    return (share + weight / 2 - half) / (1 + weight), (share + weight / 2 + half) / (1 + weight)


@dataclass(frozen=True, slots=True)
class Runs:
    """Where results are kept, and how many studies a cell gets."""

    folder: Path
    fewest: int
    most: int
    batch: int = _BATCH
    """Studies of a batch. Both bounds are reached in whole batches."""

    def repeat(self, part: str, cell: Cell, methods: list[str]) -> Tally:
        """Return what at least `fewest` studies of a cell show, running those that lack."""
        tally = self._kept(part, cell)
        while tally.repeats < self.fewest:
            tally.add(self._batch(part, cell, methods, tally.repeats))
        return tally

    def repeat_until_clear(self, part: str, cell: Cell, method: str) -> Tally:
        """Return what so many studies show that the rate is clearly below the limit or above it.

        Clear is what Wilson's interval (99%) excludes; `most` studies are the end.
        """
        tally = self.repeat(part, cell, [method])
        while tally.repeats < self.most:
            low, high = wilson(tally.different[method], tally.repeats)
            if high <= LIMIT or low > LIMIT:
                break
            tally.add(self._batch(part, cell, [method], tally.repeats))
        return tally

    def _kept(self, part: str, cell: Cell) -> Tally:
        tally = Tally()
        if not self._file.exists():
            return tally
        # Two processes may have run the same batch, with the same result.
        batches = {}
        for line in self._file.read_text().splitlines():
            batch = json.loads(line)
            if batch["part"] == part and batch["cell"] == cell.named():
                batches[batch["first"]] = batch
        for batch in batches.values():
            tally.add(Tally(batch["repeats"], batch["different"], batch["won"]))
        return tally

    def _batch(self, part: str, cell: Cell, methods: list[str], first: int) -> Tally:
        started = time.process_time()
        # A crc, as Python's own hash of a text differs between runs.
        seed = [zlib.crc32(f"{part} {cell.named()}".encode()), first]
        tally = rates(cell, methods, self.batch, seed, first)
        line = {
            "part": part,
            "cell": cell.named(),
            "first": first,
            "repeats": self.batch,
            "different": tally.different,
            "won": tally.won,
            "seconds": round(time.process_time() - started, 2),
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._file.open("a") as file:
            file.write(json.dumps(line) + "\n")
        return tally

    @property
    def _file(self) -> Path:
        return self.folder / "results.jsonl"
