"""Sketches of texts, by which near duplicates are found.

A sketch is a function of the text and the settings: no hash depends on the process.

A file has all that other processes and machines need, so that no sketch is sent to them: the sets
of shingles, then columns, then a JSON object with the place of each column, and the length of that
object in the last eight bytes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import IO, Any, Self

import numpy as np
from numpy.typing import NDArray

from goldpan.core.storage.workspace import replacing_file
from goldpan.filters.duplicates.settings import DuplicateSettings, fold, signatures, words

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
    """The sketches of n texts, of which m are distinct and say something.

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


Ids = NDArray[np.int64]
NO_TEXT = -1
"""The number of a text that says nothing."""
SLICES = 128
"""Parts into which the values of a band fall, so that a reader can take some of them."""
ENTRY = np.dtype([("key", "<u8"), ("second", "<u4"), ("third", "<u4"), ("row", "<u4")])
"""A text in a band: its bucket, the bands that follow, by which a bucket is sorted, and its row."""
_TAIL = 8


class SketchWriter:
    """Writes sketches to a file as they come; distinct texts are rows, from 0 on."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._rows: dict[bytes, int] = {}
        self._which: list[Ids] = [np.empty(0, np.int64)]
        self._sizes: list[Ids] = [np.empty(0, np.int64)]
        self._bands: list[Hashes] = []

    @property
    def count(self) -> int:
        """The number of distinct texts so far."""
        return len(self._rows)

    def append(self, sketches: Sketches) -> Ids:
        """Add the texts that are new, and return the row of each text, `NO_TEXT` for none."""
        count = self.count
        rows = np.array(
            [self._rows.setdefault(digest, len(self._rows)) for digest in sketches.digests],
            np.int64,
        )
        new = rows >= count
        self._file.write(sketches.shingles[np.repeat(new, sketches.sizes)].tobytes())
        self._sizes.append(sketches.sizes[new])
        self._bands.append(sketches.bands[new])
        which = np.where(sketches.which < 0, NO_TEXT, np.append(rows, 0)[sketches.which])
        self._which.append(which)
        return which

    def finish(self) -> None:
        """Write the columns."""
        sizes = np.concatenate(self._sizes)
        columns: dict[str, NDArray[Any]] = {
            "which": np.concatenate(self._which),
            "digests": np.frombuffer(b"".join(self._rows), np.uint64).reshape(-1, 2),
            "sizes": sizes,
        }
        long = np.flatnonzero(sizes)
        bands = np.concatenate(self._bands) if self._bands else np.empty((0, 0), np.uint64)
        entries, bounds = _by_slice(bands[long], long)
        columns |= {"entries": entries, "bounds": bounds}
        where: dict[str, Any] = {}
        for name, column in columns.items():
            where[name] = self._file.tell(), column.dtype.descr, column.shape
            self._file.write(column.tobytes())
        text = json.dumps(where).encode()
        self._file.write(text + len(text).to_bytes(_TAIL, "little"))


def _by_slice(bands: Hashes, rows: Ids) -> tuple[NDArray[Any], NDArray[np.uint32]]:
    """Return the entries of each band, those of a slice together, and where slices begin."""
    count = bands.shape[1]
    entries = np.zeros((count, len(rows)), ENTRY)
    bounds = np.zeros((count, SLICES + 1), np.uint32)
    for band in range(count):
        key = bands[:, band]
        part = (key >> np.uint64(57)).astype(np.uint8)
        order = np.argsort(part, kind="stable")
        entries[band]["key"] = key[order]
        for name, further in (("second", 1), ("third", 2)):
            entries[band][name] = bands[order, (band + further) % count] >> np.uint64(32)
        entries[band]["row"] = rows[order]
        bounds[band] = np.searchsorted(part[order], np.arange(SLICES + 1))
    return entries, bounds


class SketchFile:
    """Reads sketches from a file; a context manager that closes it."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDONLY)
        size = os.fstat(self._descriptor).st_size
        length = int.from_bytes(os.pread(self._descriptor, _TAIL, size - _TAIL), "little")
        text = os.pread(self._descriptor, length, size - _TAIL - length)
        self._where: dict[str, tuple[int, list[Any], list[int]]] = json.loads(text)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    @property
    def count(self) -> int:
        """The number of distinct texts."""
        return self._where["sizes"][2][0]

    def column(self, name: str) -> NDArray[Any]:
        """Return a column: `which`, `digests` (two numbers each), `sizes` or `bounds`."""
        offset, description, shape = self._where[name]
        kind = _dtype(description)
        size = int(np.prod(shape)) * kind.itemsize
        data = np.frombuffer(self.read(offset, size), kind)
        return data.reshape(shape)

    def entries(self, band: int, start: int, end: int) -> NDArray[Any]:
        """Return some of the entries of a band."""
        offset, _, (_, count) = self._where["entries"]
        first = offset + (band * count + start) * ENTRY.itemsize
        return np.frombuffer(self.read(first, (end - start) * ENTRY.itemsize), ENTRY)

    def read(self, start: int, size: int) -> bytes:
        """Return bytes of the file: the sets of shingles lie at its beginning."""
        parts = []
        while size and (part := os.pread(self._descriptor, size, start)):
            parts.append(part)
            start, size = start + len(part), size - len(part)
        return b"".join(parts)


def _dtype(description: list[Any]) -> np.dtype[Any]:
    fields = [tuple(field) for field in description]
    return np.dtype(fields[0][1] if fields[0][0] == "" else fields)


@contextmanager
def sketch_file(path: Path) -> Iterator[SketchWriter]:
    """Give a writer; the file appears by a rename when the block ends well."""
    with replacing_file(path) as part, part.open("wb") as file:
        target = SketchWriter(file)
        yield target
        target.finish()
        file.flush()
