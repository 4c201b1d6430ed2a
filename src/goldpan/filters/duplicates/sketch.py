"""Turns texts into sets of hashed shingles, and those into the bands of their MinHash signatures.

All of it is a function of the texts and the settings: no hash depends on the process.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from goldpan.filters.duplicates.normalize import fold, words
from goldpan.filters.duplicates.settings import DuplicateSettings
from goldpan.filters.duplicates.signatures import signatures

Hashes = NDArray[np.uint64]

MAX_TEXTS = 2**16 - 1
HASH_BITS = np.uint64(48)
"""Width of a shingle's hash: 16 bits remain to tell sets apart while many are sorted at once."""

_MASK = np.uint64(2**48 - 1)
_MIX = np.uint64(0x9E3779B97F4A7C15)
_REMEMBERED = 2**19
_LONG = 64
_CHARACTERS = 2**21
"""Characters that are sketched at once, as far as one text allows."""


class WordHashes(dict[str, int]):
    """Hashes of words, 64 bits wide; the short ones are remembered up to a fixed number."""

    def __missing__(self, word: str) -> int:
        data = word.encode("utf-8", "surrogatepass")
        value = int.from_bytes(blake2b(data, digest_size=8).digest(), "little")
        if len(word) <= _LONG:
            if len(self) >= _REMEMBERED:
                self.clear()
            self[word] = value
        return value


_hashes = WordHashes()


@dataclass(frozen=True, slots=True, eq=False)
class Sketches:
    """What is kept of n texts, of which m are distinct and say something.

    `which` gives each text's place among the m (n), -1 for one that says nothing. `digests` are
    equal where texts are (m). `shingles` holds the sets one after the other, each sorted; `sizes`
    their sizes (m), 0 for a text with fewer words than `min_words`; `bands` one hash a band of
    the signature (m x bands).
    """

    which: NDArray[np.int64]
    digests: list[bytes]
    shingles: Hashes
    sizes: NDArray[np.int64]
    bands: Hashes


def sketches(texts: Sequence[str | None], settings: DuplicateSettings) -> Iterator[Sketches]:
    """Sketch any number of texts, some at a time."""
    start = size = 0
    for at, text in enumerate(texts):
        size += len(text or "")
        if size >= _CHARACTERS or at - start + 1 == MAX_TEXTS:
            yield sketch(texts[start : at + 1], settings)
            start, size = at + 1, 0
    if start < len(texts):
        yield sketch(texts[start:], settings)


def sketch(texts: Sequence[str | None], settings: DuplicateSettings) -> Sketches:
    """Sketch up to `MAX_TEXTS` texts."""
    positions: dict[bytes, int] = {}
    distinct: list[str] = []
    which: list[int] = []
    for text in texts:
        folded = fold(text or "")
        if not folded:
            which.append(-1)
            continue
        digest = blake2b(folded.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        index = positions.setdefault(digest, len(distinct))
        which.append(index)
        if index == len(distinct):
            distinct.append(folded)
    shingles, sizes = _sets(distinct, settings)
    bands = _bands(shingles, sizes, settings)
    return Sketches(np.array(which, np.int64), list(positions), shingles, sizes, bands)


def _sets(texts: list[str], settings: DuplicateSettings) -> tuple[Hashes, NDArray[np.int64]]:
    split = [words(text) for text in texts]
    counts = np.fromiter(map(len, split), np.int64, len(split))
    for row in np.flatnonzero(counts < settings.min_words):
        split[row] = []
        counts[row] = 0
    total = int(counts.sum())
    flat = np.fromiter(map(_hashes.__getitem__, chain.from_iterable(split)), np.uint64, total)
    keys = _shingles(flat, np.repeat(np.arange(len(texts)), counts), settings.shingle_words)
    sizes = np.bincount((keys >> HASH_BITS).astype(np.int64), minlength=len(texts))
    return keys & _MASK, sizes


def _shingles(flat: Hashes, rows: NDArray[np.int64], width: int) -> Hashes:
    """Return the sorted hashes of all shingles, each once a text, with its row in the high bits."""
    if len(flat) < width:
        return np.empty(0, np.uint64)
    last = len(flat) - width + 1
    mixed = flat[:last].copy()
    for offset in range(1, width):
        mixed *= _MIX
        mixed += flat[offset : offset + last]
    whole = rows[:last] == rows[width - 1 :]
    keys = rows[:last][whole].astype(np.uint64) << HASH_BITS
    keys |= mixed[whole] >> np.uint64(16)
    keys.sort()
    fresh = np.concatenate([[True], keys[1:] != keys[:-1]])
    return np.asarray(keys[fresh])


def _bands(shingles: Hashes, sizes: NDArray[np.int64], settings: DuplicateSettings) -> Hashes:
    length = settings.bands * settings.rows
    rows = signatures(shingles, np.cumsum(sizes), length, settings.seed)
    parts = rows.reshape(len(sizes), settings.bands, settings.rows)
    values = np.zeros((len(sizes), settings.bands), np.uint64)
    for row in range(settings.rows):
        values *= _MIX
        values += parts[:, :, row]
    return values
