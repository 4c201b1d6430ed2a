"""Finds n-grams of words that two collections share, as in Brown et al. 2020, appendix C.

Words are those of near duplicates: in NFKC, case folded, without punctuation and HTML comments.
An n-gram that more than `common` items or rows have is of a template or a license and says nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from goldpan.filters.duplicates.sketches import WordHashes

Hashes = NDArray[np.uint64]

_MIX = np.uint64(0x9E3779B97F4A7C15)
_LEAST_BITS, _MOST_BITS = 16, 27
"""The size of the filter: at most 128 MB."""
_hashes = WordHashes()


@dataclass(frozen=True, slots=True)
class SharedGrams:
    """The n-grams that a row has in common with the item nearest to it."""

    row: int
    item: int
    shared: int
    share: float
    """The share of the row's n-grams that any item has."""


@dataclass(slots=True)
class GramIndex:
    """n-grams of items, and which of them rows have: first all items come, then all rows.

    Memory follows the words of the items, 12 bytes each, and what rows share with them.
    """

    width: int
    common: int
    _grams: list[Hashes] = field(default_factory=list)
    _owners: list[NDArray[np.int32]] = field(default_factory=list)
    _found: list[NDArray[np.int64]] = field(default_factory=list)
    _rows: list[tuple[int, int]] = field(default_factory=list)
    _distinct: Hashes = field(default_factory=lambda: np.empty(0, np.uint64))
    _starts: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    _filter: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(2, np.bool_))
    """Known first bits of n-grams: they tell nine of ten others apart."""
    _shift: np.uint64 = field(default_factory=lambda: np.uint64(63))

    def add_item(self, number: int, texts: Iterable[Sequence[str]]) -> None:
        """Take in the words of an item's texts; numbers rise."""
        grams = self.grams(texts)
        self._grams.append(grams)
        self._owners.append(np.full(len(grams), number, np.int32))

    def finish_items(self) -> None:
        """End the items; rows come next."""
        grams = np.concatenate([np.empty(0, np.uint64), *self._grams])
        owners = np.concatenate([np.empty(0, np.int32), *self._owners])
        self._grams, self._owners = [], []
        # Owners rise as they are added, so a stable order by n-gram alone keeps them sorted.
        order = np.argsort(grams, kind="stable")
        grams, owners = grams[order], owners[order]
        del order
        first = np.append(True, grams[1:] != grams[:-1])[: len(grams)]
        self._distinct, self._owners = grams[first], [owners]
        self._starts = np.append(np.flatnonzero(first), len(grams)).astype(np.int64)
        bits = min(max((8 * len(self._distinct)).bit_length(), _LEAST_BITS), _MOST_BITS)
        self._shift = np.uint64(64 - bits)
        self._filter = np.zeros(2**bits, np.bool_)
        self._filter[self._distinct >> self._shift] = True

    def add_row(self, number: int, texts: Iterable[Sequence[str]]) -> None:
        """Take in the words of a row's texts."""
        grams = self._all(texts)
        perhaps = np.unique(grams[self._filter[grams >> self._shift]])
        if not len(perhaps):
            return
        at = np.minimum(np.searchsorted(self._distinct, perhaps), len(self._distinct) - 1)
        matched = at[self._distinct[at] == perhaps]
        if len(matched):
            self._found.append(matched)
            self._rows.append((number, len(np.unique(grams))))

    def shared(self) -> tuple[list[SharedGrams], int]:
        """Return what each row shares, and how many n-grams were left out as common."""
        rows = np.bincount(
            np.concatenate([np.empty(0, np.int64), *self._found]), minlength=len(self._distinct)
        )
        often = (rows > self.common) | (np.diff(self._starts) > self.common)
        shared = []
        for (row, total), grams in zip(self._rows, self._found, strict=True):
            rare = grams[~often[grams]]
            if len(rare):
                item, count = self._most(rare)
                shared.append(SharedGrams(row, item, count, len(rare) / total))
        return shared, int((often & (rows > 0)).sum())

    def grams(self, texts: Iterable[Sequence[str]]) -> Hashes:
        """Return the hashes of the n-grams of texts, given by their words, sorted, each once."""
        return np.unique(self._all(texts))

    def _all(self, texts: Iterable[Sequence[str]]) -> Hashes:
        return np.concatenate([np.empty(0, np.uint64), *map(self._of_text, texts)])

    def _of_text(self, tokens: Sequence[str]) -> Hashes:
        last = len(tokens) - self.width + 1
        if last < 1:
            return np.empty(0, np.uint64)
        flat = np.fromiter(map(_hashes.__getitem__, tokens), np.uint64, len(tokens))
        mixed = flat[:last].copy()
        for offset in range(1, self.width):
            mixed *= _MIX
            mixed += flat[offset : offset + last]
        return mixed

    def _most(self, grams: NDArray[np.int64]) -> tuple[int, int]:
        owners = self._owners[0]
        counts: Counter[int] = Counter()
        for gram in grams.tolist():
            counts.update(owners[self._starts[gram] : self._starts[gram + 1]].tolist())
        count, item = max((count, -item) for item, count in counts.items())
        return -item, count
