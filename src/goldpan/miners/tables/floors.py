"""The records before which rows of entries are superseded."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]


class Floors:
    """For each entry number, the record before which rows are superseded; -1 for none."""

    def __init__(self, sequences: dict[int, int]) -> None:
        self._numbers = np.array(sorted(sequences), dtype=np.int64)
        self._sequences = np.array([sequences[n] for n in sorted(sequences)], dtype=np.int64)

    def of(self, numbers: Numbers) -> Numbers:
        """Return the floor of each entry."""
        if not len(self._numbers):
            return np.full(len(numbers), -1, dtype=np.int64)
        indexes = np.searchsorted(self._numbers, numbers).clip(max=len(self._numbers) - 1)
        return np.where(self._numbers[indexes] == numbers, self._sequences[indexes], -1)
