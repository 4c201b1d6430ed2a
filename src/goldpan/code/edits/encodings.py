"""Bytes to text and back, exactly, in the encodings of the table `changes`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from goldpan.code.edits.edit import FileError
from goldpan.git.objects import Encoding, encodings


@dataclass(frozen=True, slots=True)
class Decoded:
    """A file's text, and the encoding that gives its bytes back exactly."""

    text: str
    encoding: Encoding


def decode(data: bytes) -> Decoded | None:
    """Return the text of a file, or None where it is binary."""
    return next(readings(data), None)


def readings(data: bytes) -> Iterator[Decoded]:
    """Yield a file's text in each encoding that gives its bytes back, the best one first.

    A version may have to be read like the other one of its change, in an encoding of both.
    """
    for encoding in encodings(data):
        yield Decoded(data.decode(encoding), encoding)


def encode(text: str, encoding: Encoding) -> bytes:
    """Return the bytes of a text: for a text that `decode` gave, exactly those that it was given.

    Raises `FileError` where the encoding lacks a character.
    """
    try:
        return text.encode(encoding)
    except UnicodeEncodeError as error:
        raise FileError(
            f"The file is {encoding}, which lacks {error.object[error.start]!r}",
            "Leave it out of the patch, or save the file as UTF-8 first",
        ) from None
