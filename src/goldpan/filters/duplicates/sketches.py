"""Sketches of texts, by which near duplicates are found.

A sketch is a function of the text and the settings: no hash depends on the process.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from goldpan.filters.duplicates.settings import DuplicateSettings, fold, signatures, words

Ids = NDArray[np.int64]
Hashes = NDArray[np.uint64]
NO_TEXT = -1
"""The number of a text that says nothing."""
MAX_TEXTS = 2**16 - 1
_HASH_BITS = np.uint64(48)
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
    """The sketches of n texts, of which m are distinct and say something.

    `which` gives each text's place among the m (n), -1 for one that says nothing. `digests` are
    equal where texts are (m x 2). `sets` holds the hashes of their shingles one after the other;
    `sizes` how many each has (m), 0 for a text with fewer words than `min_words`; `bands` one hash
    a band of the signature (m x bands).
    """

    which: Ids
    digests: Hashes
    sets: NDArray[np.uint32]
    sizes: Ids
    bands: Hashes


def sketch_all(batches: Iterable[Sequence[str | None]], settings: DuplicateSettings) -> Sketches:
    """Sketch any number of texts, some at a time; each text is kept once."""
    parts = [sketch(texts, settings) for batch in batches for texts in _cut(batch)]
    return joined(parts, settings)


def joined(parts: Sequence[Sketches], settings: DuplicateSettings) -> Sketches:
    """Return sketches as those of all their texts, equal ones once."""
    empty = sketch([], settings)
    parts = [empty, *parts]
    kept, own = _distinct(np.concatenate([part.digests for part in parts]))
    which, sets, sizes, bands = [], [], [], []
    start = 0
    for part in parts:
        end = start + len(part.sizes)
        which.append(np.where(part.which < 0, NO_TEXT, np.append(own[start:end], 0)[part.which]))
        sets.append(part.sets[np.repeat(kept[start:end], part.sizes)])
        sizes.append(part.sizes[kept[start:end]])
        bands.append(part.bands[kept[start:end]])
        start = end
    return Sketches(
        np.concatenate(which),
        np.concatenate([part.digests for part in parts])[kept],
        np.concatenate(sets),
        np.concatenate(sizes),
        np.concatenate(bands),
    )


def _distinct(digests: Hashes) -> tuple[NDArray[np.bool_], Ids]:
    """Return which digests are the first of their kind, and the place of each among those."""
    order = np.lexsort((digests[:, 1], digests[:, 0]))
    new = np.ones(len(order), np.bool_)
    new[1:] = np.any(digests[order[1:]] != digests[order[:-1]], axis=1)
    first = order[new]  # the sort is stable
    kept = np.zeros(len(order), np.bool_)
    kept[first] = True
    place = np.cumsum(kept) - 1
    own = np.empty(len(order), np.int64)
    own[order] = place[first][np.cumsum(new) - 1]
    return kept, own


def _cut(texts: Sequence[str | None]) -> Iterator[Sequence[str | None]]:
    """Yield texts some at a time."""
    start = size = 0
    for at, text in enumerate(texts):
        size += len(text or "")
        if size >= _CHARACTERS or at - start + 1 == MAX_TEXTS:
            yield texts[start : at + 1]
            start, size = at + 1, 0
    if start < len(texts):
        yield texts[start:]


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
    return Sketches(
        np.array(which, np.int64),
        np.frombuffer(b"".join(positions), np.uint64).reshape(-1, 2),
        shingles.astype(np.uint32),
        sizes,
        _bands(shingles, sizes, settings),
    )


def _sets(texts: list[str], settings: DuplicateSettings) -> tuple[Hashes, NDArray[np.int64]]:
    split = [words(text) for text in texts]
    counts = np.fromiter(map(len, split), np.int64, len(split))
    for row in np.flatnonzero(counts < settings.min_words):
        split[row] = []
        counts[row] = 0
    total = int(counts.sum())
    flat = np.fromiter(map(_hashes.__getitem__, chain.from_iterable(split)), np.uint64, total)
    keys = _shingles(flat, np.repeat(np.arange(len(texts)), counts), settings.shingle_words)
    sizes = np.bincount((keys >> _HASH_BITS).astype(np.int64), minlength=len(texts))
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
    keys = rows[:last][whole].astype(np.uint64) << _HASH_BITS
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
