"""The settings and the text form of comparisons, and sketches of texts, by which copies are found.

A sketch is a function of the text and the settings: no hash depends on the process.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from hashlib import blake2b
from itertools import chain
from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt, Le, Lt
from numpy.typing import NDArray
from rensa import RMinHash  # type: ignore[import-untyped]

from goldpan.text.markers import nfkc

ALGORITHM = f"rensa RMinHash {RMinHash.ALGORITHM_VERSION}"


def signatures(
    hashes: NDArray[np.uint64], ends: NDArray[np.int64], length: int, seed: int
) -> NDArray[np.uint64]:
    """Return the signatures (sets x length) of sets of hashes that lie one after the other.

    `ends` says where each set ends. An empty set's signature is all ones.
    """
    offsets = np.concatenate([[0], ends]).astype(np.uint64)
    matrix = RMinHash.digest_matrix_from_flat_token_hashes(hashes, offsets, length, seed)
    return np.array(matrix.to_rows(), np.uint64).reshape(len(ends), length)


Positive = Annotated[int, Ge(1)]
_METHOD = 3
"""Raised when the same settings give other clusters than before."""


@dataclass(frozen=True, slots=True)
class DuplicateSettings:
    """Settings of near-duplicate detection.

    Two texts whose similarity is s meet in a band with probability 1 - (1 - s^rows)^bands: 0.990
    for s = 0.7 with the defaults, and above 0.9999 from s = 0.8 on.
    """

    threshold: Annotated[float, Gt(0), Le(1)] = 0.7
    """Jaccard similarity of the texts' sets of shingles from which on they are near duplicates."""
    shingle_words: Positive = 3
    min_words: int = 16
    """Shorter texts are compared for equality alone: one word more or less is another text."""
    bands: Positive = 25
    rows: Positive = 5
    """Hashes in a band."""
    window: Positive = 32
    """Texts on each side with which a text is compared in one band, however many meet there."""
    seed: Annotated[int, Ge(0), Lt(2**64)] = 1

    def __post_init__(self) -> None:
        if self.min_words < self.shingle_words:
            raise ValueError("min_words is below shingle_words")

    def digest(self) -> str:
        """Return a short name of the settings, this method and the signatures' algorithm."""
        method = {"method": _METHOD, "signatures": ALGORITHM, **asdict(self)}
        return hashlib.sha256(json.dumps(method, sort_keys=True).encode()).hexdigest()[:16]


# Scripts that are written without spaces: Thai and Lao, Myanmar, Khmer, Japanese, Chinese.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
_ANY_UNSPACED = re.compile(f"[{_UNSPACED}]")
_WORD = re.compile(r"\w+")
_UNSPACED_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
_ASCII_WORDS = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) == "_")}


def fold(text: str) -> str:
    """Return a text in NFKC, case folded, with white space collapsed and HTML comments left out.

    GitHub does not show HTML comments, and issue templates are full of them. Texts that are
    equal in this form are exact duplicates.
    """
    if "<!--" in text:
        text = _without_comments(text)
    text = text.lower() if text.isascii() else nfkc(text).casefold()
    return " ".join(text.split())


def copies_key(text: str) -> str:
    """Return a name that exact duplicates share; a text without anything in it is its own."""
    return _digest(fold(text) or text).hex()


def words(folded: str) -> list[str]:
    """Return the words of a folded text: letters, digits and underscores, without punctuation.

    A character of a script that is written without spaces is a word.
    """
    if folded.isascii():
        return folded.translate(_ASCII_WORDS).split()
    # The general expression takes twice the time of the simple one.
    return (_UNSPACED_WORD if _ANY_UNSPACED.search(folded) else _WORD).findall(folded)


def _without_comments(text: str) -> str:
    """Leave out ``<!-- ... -->``; one that does not end stays."""
    pieces: list[str] = []
    at = 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        pieces += (text[at:start], " ")
        at = end + 3
    return "".join([*pieces, text[at:]])


Ids = NDArray[np.int64]
_NAME = np.dtype("S16")
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


class _WordHashes(dict[str, int]):
    """Hashes of words, 64 bits wide; the short ones are remembered up to a fixed number."""

    def __missing__(self, word: str) -> int:
        data = word.encode("utf-8", "surrogatepass")
        value = int.from_bytes(blake2b(data, digest_size=8).digest(), "little")
        if len(word) <= _LONG:
            if len(self) >= _REMEMBERED:
                self.clear()
            self[word] = value
        return value


_hashes = _WordHashes()


def hash_words(texts: Sequence[Sequence[str]]) -> tuple[Hashes, Ids]:
    """Return the hashes of the words of texts one after the other, and the text of each."""
    counts = np.fromiter(map(len, texts), np.int64, len(texts))
    words_of_all = map(_hashes.__getitem__, chain.from_iterable(texts))
    flat = np.fromiter(words_of_all, np.uint64, int(counts.sum()))
    return flat, np.repeat(np.arange(len(texts)), counts)


@dataclass(frozen=True, slots=True, eq=False)
class Sketches:
    """The sketches of n texts, of which m are distinct and say something.

    `names` has each text's digest (n), empty for one that says nothing; `digests` those of the
    sketches (m). `sets` holds the hashes of their shingles one after the other; `sizes` how many
    each has (m), 0 for a text with fewer words than `min_words`; `bands` one hash a band of the
    signature (m x bands).
    """

    names: NDArray[np.bytes_]
    digests: NDArray[np.bytes_]
    sets: NDArray[np.uint32]
    sizes: Ids
    bands: Hashes


def sketch_all(batches: Iterable[Sequence[str | None]], settings: DuplicateSettings) -> Sketches:
    """Sketch any number of texts, some at a time."""
    return joined([sketch(part, settings) for texts in batches for part in _cut(texts)], settings)


def joined(parts: Sequence[Sketches], settings: DuplicateSettings) -> Sketches:
    """Return sketches as those of all their texts; equal texts of several parts stay."""
    parts = [sketch([], settings), *parts]
    columns = (field.name for field in fields(Sketches))
    return Sketches(*(np.concatenate([getattr(part, name) for part in parts]) for name in columns))


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
    folded = [fold(text or "") for text in texts]
    names = [_digest(text) if text else b"" for text in folded]
    distinct = {name: text for name, text in zip(names, folded, strict=True) if name}
    shingles, sizes = _sets(list(distinct.values()), settings)
    return Sketches(
        np.array(names, _NAME),
        np.array(list(distinct), _NAME),
        shingles.astype(np.uint32),
        sizes,
        _bands(shingles, sizes, settings),
    )


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _sets(texts: list[str], settings: DuplicateSettings) -> tuple[Hashes, NDArray[np.int64]]:
    split = [tokens if len(tokens) >= settings.min_words else [] for tokens in map(words, texts)]
    keys = shingles(*hash_words(split), settings.shingle_words)
    sizes = np.bincount((keys >> _HASH_BITS).astype(np.int64), minlength=len(texts))
    return keys & _MASK, sizes


def shingles(flat: Hashes, rows: NDArray[np.int64], width: int) -> Hashes:
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
