"""Keeps the shingles of all texts in a file, and tells the true similarity of pairs from them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from goldpan.core.errors import WorkspaceError
from goldpan.filters.duplicates.sketch import HASH_BITS, Hashes

Ids = NDArray[np.int64]

_AT_ONCE = 2**21
"""Shingles that are compared at once, as far as one pair allows."""
_LEAST = 64
"""What a small pair counts as, so that 16 bits always tell the pairs of one step apart."""
_WIDTH = 8


class ShingleFile:
    """Shingle sets, numbered from 0 on, in a temporary file."""

    def __init__(self, file: IO[bytes], place: Path | None = None) -> None:
        """Take a file that lies in `place`, by default where the system has such files."""
        self._file = file
        self._place = place or Path(tempfile.gettempdir())
        self.sizes = np.empty(0, np.int64)
        """The size of each set, after `finish`."""
        self._parts: list[Ids] = []
        self._starts = np.empty(0, np.int64)

    def append(self, shingles: Hashes, sizes: Ids) -> None:
        """Add sets, one after the other in `shingles`; raises `WorkspaceError` without room."""
        try:
            self._file.write(shingles.tobytes())
            self._file.flush()
        except OSError as error:
            raise WorkspaceError(
                f"{self._place} cannot hold the shingles of near duplicates: {error.strerror}",
                "Free some space on its disk",
            ) from None
        self._parts.append(sizes)

    def finish(self) -> None:
        """End the adding."""
        self.sizes = np.concatenate([self.sizes, *self._parts])
        self._starts = np.cumsum(self.sizes) - self.sizes

    def similarities(self, left: Ids, right: Ids) -> NDArray[np.float64]:
        """Return the Jaccard similarity of each pair of sets, given by their numbers."""
        common = np.empty(len(left), np.int64)
        total = self.sizes[left] + self.sizes[right]
        steps = np.cumsum(np.maximum(total, _LEAST)) // _AT_ONCE
        bounds = np.flatnonzero(np.diff(steps)) + 1
        for start, end in zip([0, *bounds], [*bounds, len(left)], strict=True):
            common[start:end] = self._common(left[start:end], right[start:end])
        return np.asarray(common / np.maximum(total - common, 1))

    def _common(self, left: Ids, right: Ids) -> Ids:
        """Count the shingles that the two sets of each pair share."""
        keys = np.concatenate([self._read(left), self._read(right)])
        keys.sort()
        twice = keys[1:][keys[1:] == keys[:-1]] >> HASH_BITS
        return np.bincount(twice.astype(np.int64), minlength=len(left))

    def _read(self, ids: Ids) -> Hashes:
        """Read sets, one after the other, with their positions among `ids` in the high bits."""
        hashes = np.frombuffer(b"".join(self._chunks(ids)), np.uint64)
        positions = np.arange(len(ids), dtype=np.uint64) << HASH_BITS
        return hashes | np.repeat(positions, self.sizes[ids])

    def _chunks(self, ids: Ids) -> Iterator[bytes]:
        descriptor = self._file.fileno()
        starts = (self._starts[ids] * _WIDTH).tolist()
        sizes = (self.sizes[ids] * _WIDTH).tolist()
        for start, size in zip(starts, sizes, strict=True):
            yield os.pread(descriptor, size, start)
