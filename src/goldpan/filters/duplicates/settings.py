"""The settings and the text form of comparisons."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray
from rensa import RMinHash  # type: ignore[import-untyped]

from goldpan.core.errors import UsageError
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


_METHOD = 3
"""Raised when the same settings give other clusters than before."""


@dataclass(frozen=True, slots=True)
class DuplicateSettings:
    """Settings of near-duplicate detection; raises `UsageError` where one makes no sense.

    Two texts whose similarity is s meet in a band with probability 1 - (1 - s^rows)^bands: 0.990
    for s = 0.7 with the defaults, and above 0.9999 from s = 0.8 on.
    """

    threshold: float = 0.7
    """Jaccard similarity of the texts' sets of shingles from which on they are near duplicates."""
    shingle_words: int = 3
    min_words: int = 16
    """Shorter texts are compared for equality alone: one word more or less is another text."""
    bands: int = 25
    rows: int = 5
    """Hashes in a band."""
    window: int = 32
    """Texts on each side with which a text is compared in one band, however many meet there."""
    seed: int = 1

    def __post_init__(self) -> None:
        if not 0 < self.threshold <= 1:
            raise UsageError(
                f"threshold {self.threshold} of near duplicates is not a similarity",
                "Give a number above 0 and at most 1",
            )
        for name in ("shingle_words", "bands", "rows", "window"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} of near duplicates is below 1", "Give at least 1")
        if self.min_words < self.shingle_words:
            raise UsageError(
                f"min_words {self.min_words} of near duplicates is below shingle_words "
                f"{self.shingle_words}",
                "Raise min_words",
            )
        if not 0 <= self.seed < 2**64:
            raise UsageError(
                f"seed {self.seed} of near duplicates is out of range", "Give 0 to 2^64 - 1"
            )

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
    text = fold(text) or text
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


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
