"""Tells the true similarity of texts from their sets of shingles, which lie in many files."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from goldpan.filters.duplicates.sketches import HASH_BITS, Hashes, Ids, SketchFile

_AT_ONCE = 2**21
"""Shingles that are compared at once, as far as one pair allows."""
_LEAST = 64
"""What a small pair counts as, so that 16 bits always tell the pairs of one step apart."""
_WIDTH = 8
_OPEN = 100
"""Files that are open at once."""


@dataclass(frozen=True, slots=True)
class Portions:
    """The files of all texts. A slot is a row of one of them, counted through them all."""

    paths: tuple[Path, ...]
    offsets: Ids
    """The first slot of each file, and the number of slots."""

    @classmethod
    def of(cls, paths: Sequence[Path], counts: Sequence[int]) -> Self:
        """Take files with their numbers of rows."""
        return cls(tuple(paths), np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]))

    @property
    def slots(self) -> int:
        """How many slots there are."""
        return int(self.offsets[-1])


class Shingles:
    """Reads the sets of slots; a context manager that closes the files."""

    def __init__(self, portions: Portions) -> None:
        self._portions = portions
        self._open: OrderedDict[int, tuple[SketchFile, Ids, Ids]] = OrderedDict()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with ExitStack() as stack:
            for file, _, _ in self._open.values():
                stack.enter_context(file)
        self._open.clear()

    def similarities(self, left: Ids, right: Ids) -> NDArray[np.float64]:
        """Return the Jaccard similarity of each pair of sets, given by their slots."""
        if not len(left):
            return np.empty(0)
        slots, places = np.unique(np.concatenate([left, right]), return_inverse=True)
        sizes = self._sizes(slots)
        first, second = places[: len(left)], places[len(left) :]
        common = np.empty(len(left), np.int64)
        total = sizes[first] + sizes[second]
        steps = np.cumsum(np.maximum(total, _LEAST)) // _AT_ONCE
        bounds = np.flatnonzero(np.diff(steps)) + 1
        for start, end in zip([0, *bounds], [*bounds, len(left)], strict=True):
            common[start:end] = self._common(slots, sizes, first[start:end], second[start:end])
        return np.asarray(common / np.maximum(total - common, 1))

    def _common(self, slots: Ids, sizes: Ids, left: Ids, right: Ids) -> Ids:
        """Count the shingles that the two sets of each pair share."""
        sets = self._sets(slots, np.unique(np.concatenate([left, right])))
        positions = np.arange(len(left), dtype=np.uint64) << HASH_BITS
        keys = np.concatenate(
            [_flat(sets, side) | np.repeat(positions, sizes[side]) for side in (left, right)]
        )
        keys.sort()
        twice = keys[1:][keys[1:] == keys[:-1]] >> HASH_BITS
        return np.bincount(twice.astype(np.int64), minlength=len(left))

    def _sizes(self, slots: Ids) -> Ids:
        sizes = np.empty(len(slots), np.int64)
        for number, start, end in self._files(slots):
            _, _, file_sizes = self._file(number)
            sizes[start:end] = file_sizes[slots[start:end] - self._portions.offsets[number]]
        return sizes

    def _sets(self, slots: Ids, chosen: Ids) -> dict[int, bytes]:
        """Read the sets of some slots, by their places in `slots`."""
        sets: dict[int, bytes] = {}
        chosen_slots = slots[chosen]
        for number, start, end in self._files(chosen_slots):
            file, starts, sizes = self._file(number)
            rows = chosen_slots[start:end] - self._portions.offsets[number]
            bounds = ((starts[rows] * _WIDTH).tolist(), (sizes[rows] * _WIDTH).tolist())
            for text, first, size in zip(chosen[start:end].tolist(), *bounds, strict=True):
                sets[text] = file.read(first, size)
        return sets

    def _files(self, slots: Ids) -> list[tuple[int, int, int]]:
        """Return each file that sorted slots are in, with the first of them and the last."""
        file = np.searchsorted(self._portions.offsets, slots, side="right") - 1
        first = np.flatnonzero(np.diff(file, prepend=-1))
        ends = np.append(first[1:], len(slots))
        return list(zip(file[first].tolist(), first.tolist(), ends.tolist(), strict=True))

    def _file(self, number: int) -> tuple[SketchFile, Ids, Ids]:
        if number not in self._open:
            if len(self._open) >= _OPEN:
                _, (oldest, _, _) = self._open.popitem(last=False)
                oldest.__exit__(None, None, None)
            file = SketchFile(self._portions.paths[number])
            sizes: Ids = file.column("sizes")
            self._open[number] = file, np.cumsum(sizes) - sizes, sizes
        self._open.move_to_end(number)
        return self._open[number]


def _flat(sets: dict[int, bytes], places: Ids) -> Hashes:
    """Return sets one after the other."""
    return np.frombuffer(b"".join(map(sets.__getitem__, places.tolist())), np.uint64)
