"""Brings together the texts whose signatures agree in a band, partition by partition.

A partition holds some values of every band, so that a bucket lies in one of them. Texts that are
alone in their bucket, which most are, go no further.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldpan.core.engine import Engine
from goldpan.core.resources import named
from goldpan.filters.duplicates.kept import ENTRY, NO_TEXT, SLICES, SketchFile, replacing
from goldpan.filters.duplicates.numbering import Numbering
from goldpan.filters.duplicates.shingles import Portions

MEMBER = np.dtype([("bucket", "<i4"), ("size", "<i4"), ("number", "<i8"), ("slot", "<i8")])
"""A text in a bucket; members of a bucket lie side by side, the most alike next to each other."""

_TEXTS = 20_000
"""Texts from which on a partition more is worth its while, up to 16 partitions."""
_MANY_TEXTS = 200_000
"""Texts from which on there are more than 16."""


@dataclass(frozen=True, slots=True)
class Shuffle:
    """What is brought together, and the folder for it."""

    portions: Portions
    numbers: Path
    """The file of the number of each slot's text."""
    folder: Path
    partitions: int
    bands: int

    def path(self, partition: int) -> Path:
        """Return the file of a partition: its members, band after band."""
        return self.folder / f"{partition}.members.npy"


@dataclass(frozen=True, slots=True)
class Bucketed:
    """Members of one band in a file of members."""

    path: Path
    band: int
    start: int
    end: int

    def __str__(self) -> str:
        return f"band {self.band} of {self.path.name}"

    def read(self) -> NDArray[Any]:
        """Return the members."""
        return np.array(np.load(self.path, mmap_mode="r")[self.start : self.end])


def bring_together(
    portions: Portions, numbering: Numbering, bands: int, folder: Path, engine: Engine
) -> list[list[Bucketed]]:
    """Return for each band the members of buckets of two and more, a part each partition."""
    texts = len(numbering.slot)
    if not texts:
        return []
    partitions = min(SLICES, max(1 + min(15, texts // _TEXTS), texts // _MANY_TEXTS))
    numbers = folder / "numbers.npy"
    with named(numbers):
        np.save(numbers, numbering.of_slots(portions.slots))
    shuffle = Shuffle(portions, numbers, folder, partitions, bands)
    parts: list[list[Bucketed]] = [[] for _ in range(bands)]
    for number, counts in enumerate(engine.map(partial(gather, shuffle), range(partitions))):
        ends = np.cumsum(counts).tolist()
        for band, (count, end) in enumerate(zip(counts, ends, strict=True)):
            if count:
                parts[band].append(Bucketed(shuffle.path(number), band, end - count, end))
    return parts


def gather(shuffle: Shuffle, partition: int) -> list[int]:
    """Write the members of a partition, and return how many each band has."""
    bounds = [SLICES * part // shuffle.partitions for part in (partition, partition + 1)]
    numbers = np.load(shuffle.numbers, mmap_mode="r")
    parts: list[list[NDArray[Any]]] = [[] for _ in range(shuffle.bands)]
    for file, start, end in _opened(shuffle.portions):
        own, sizes = numbers[start:end], file.column("sizes")
        slices = file.column("bounds")
        for band, (first, last) in enumerate(slices[:, bounds].tolist()):
            entries = file.entries(band, first, last)
            number = own[entries["row"]]
            entries, number = entries[number != NO_TEXT], number[number != NO_TEXT]
            part = np.empty(len(entries), [*ENTRY.descr, *MEMBER.descr[1:]])
            for name in ENTRY.names or ():
                part[name] = entries[name]
            part["number"], part["slot"] = number, start + entries["row"].astype(np.int64)
            part["size"] = sizes[entries["row"]]
            parts[band].append(part)
    counts = []
    members = [np.empty(0, MEMBER)]
    for entries_of_band in parts:
        members.append(_members(entries_of_band))
        entries_of_band.clear()
        counts.append(len(members[-1]))
    with replacing(shuffle.path(partition)) as path, path.open("wb") as target:
        np.save(target, np.concatenate(members))
    return counts


def _members(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return the members of buckets of two and more in a band, sorted."""
    if not parts:
        return np.empty(0, MEMBER)
    entries = np.concatenate(parts)
    entries = entries[np.argsort(entries["key"])]
    change = np.flatnonzero(np.diff(entries["key"])) + 1
    starts = np.concatenate([[0], change]) if len(entries) else change
    sizes = np.diff(np.append(starts, len(entries)))
    shared = np.repeat(sizes, sizes) > 1
    bucket = np.repeat(np.arange(len(sizes)), sizes)[shared]
    entries = entries[shared]
    order = np.lexsort((entries["number"], entries["third"], entries["second"], bucket))
    members = np.empty(len(order), MEMBER)
    members["bucket"] = bucket[order]
    for name in ("size", "number", "slot"):
        members[name] = entries[name][order]
    return members


def _opened(portions: Portions) -> Iterator[tuple[SketchFile, int, int]]:
    bounds = portions.offsets.tolist()
    for path, start, end in zip(portions.paths, bounds, bounds[1:], strict=False):
        if end > start:
            with SketchFile(path) as file:
                yield file, start, end
