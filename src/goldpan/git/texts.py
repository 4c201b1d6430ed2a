"""What a file's bytes are: text in which encoding, with which line ends, or no text."""

from __future__ import annotations

import codecs
import re
from typing import Literal

Encoding = Literal["utf-8", "utf-8-sig", "utf-16-le", "utf-16-be", "latin-1"]
LineEnds = Literal["lf", "crlf", "cr", "mixed", "none"]

_POINTER = re.compile(rb"version https://(?:git-lfs|hawser)\.github\.com/spec/v\d")
_LONGEST_POINTER = 1_024
_MARKS: tuple[tuple[bytes, Encoding], ...] = (
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def is_pointer(data: bytes) -> bool:
    """Tell a file that Git LFS put in the place of a large one."""
    return len(data) < _LONGEST_POINTER and _POINTER.match(data) is not None


def encodings(data: bytes) -> tuple[Encoding, ...]:
    """Return the encodings that give the bytes back exactly, the best one first.

    A file with a NUL is binary and has none, unless it is UTF-16 and says so by its mark, which
    then is the text's first character. Latin-1 gives back everything else.
    """
    for mark, name in _MARKS:
        if data.startswith(mark) and _decodes(data, name):
            return (name,)
    if b"\0" in data:
        return ()
    if not _decodes(data, "utf-8"):
        return ("latin-1",)
    if data.startswith(codecs.BOM_UTF8):
        return ("utf-8-sig", "utf-8", "latin-1")
    return ("utf-8", "latin-1")


def shared_encoding(*versions: bytes) -> Encoding | None:
    """Return the best encoding that gives all versions of a file back exactly, if there is one."""
    candidates = [encodings(data) for data in versions]
    return next(
        (name for name in candidates[0] if all(name in others for others in candidates)), None
    )


def line_ends(data: bytes, encoding: Encoding) -> LineEnds:
    """Return how the lines of a text end."""
    data = _one_byte_signs(data, encoding)
    if b"\r" not in data:  # most files: a search is many times as fast as counts
        return "lf" if b"\n" in data else "none"
    pairs = data.count(b"\r\n")
    counts = {"crlf": pairs, "lf": data.count(b"\n") - pairs, "cr": data.count(b"\r") - pairs}
    endings: list[LineEnds] = [name for name in ("crlf", "lf", "cr") if counts[name]]
    return endings[0] if len(endings) == 1 else "mixed"


def ends_its_line(data: bytes, encoding: Encoding) -> bool:
    """Tell whether the last line of a text has an end; an empty text has no line without one."""
    if encoding.startswith("utf-16") and data.decode(encoding) == "\ufeff":
        return True
    return not data or _one_byte_signs(data, encoding).endswith((b"\n", b"\r"))


def _one_byte_signs(data: bytes, encoding: Encoding) -> bytes:
    """Return a text in which line ends are the bytes that they are in ASCII."""
    return data.decode(encoding).encode() if encoding.startswith("utf-16") else data


def _decodes(data: bytes, encoding: Encoding) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True
