"""Bytes to text and back, exactly, in the encodings of the table `changes`."""

from __future__ import annotations

from dataclasses import dataclass

from goldpan.miners.git.texts import Encoding, encodings


@dataclass(frozen=True, slots=True)
class Decoded:
    """A file's text, and the encoding that gives its bytes back exactly."""

    text: str
    encoding: Encoding


def decode(data: bytes) -> Decoded | None:
    """Return the text of a file, or None where it is binary."""
    found = encodings(data)
    return Decoded(data.decode(found[0]), found[0]) if found else None


def encode(text: str, encoding: Encoding) -> bytes:
    """Return the bytes of a text; raises `UnicodeEncodeError` where the encoding lacks some of it.

    The inverse of `decode` for every text that it gave.
    """
    return text.encode(encoding)
