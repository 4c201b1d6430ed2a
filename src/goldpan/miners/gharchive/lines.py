"""Cuts hours into lines, and lines that are no event into what may be events.

Known damage in GH Archive: objects joined without a line end (2011 and 2012), an event cut off
by the beginning of the next one (2017, 2021), runs of NUL bytes (2018, 2023).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

LONGEST_LINE = 16 << 20
_LONG = 1 << 20
_HEAD = 64 << 10
_NULS = re.compile(rb"(?<!\0)\0{4096,}+")

_JOINT = re.compile(rb'(?<=\})(?=\{"[a-z])')
"""Between two objects. Valid JSON holds no such bytes: in a text, the quote would end the text,
and no letter can follow it."""
_RESTART = re.compile(rb'(?<=[\s\S])(?=\{"id":"[0-9]{1,20}","type":")')
"""Before an event that begins in the middle of another one."""


@dataclass(frozen=True, slots=True)
class LongLine:
    """A line that is too long to be an event; only its beginning was kept."""

    head: bytes
    length: int


def lines_of(chunks: Iterable[bytes]) -> Iterator[list[bytes] | LongLine]:
    """Yield the lines of a file in batches; memory follows the chunk, not the line."""
    carry = b""
    long: LongLine | None = None
    look = _LONG
    for chunk in chunks:
        rest = chunk
        if long is not None:
            end = rest.find(b"\n")
            if end < 0:
                long = LongLine(long.head, long.length + len(rest))
                continue
            yield LongLine(long.head, long.length + end)
            long, rest = None, rest[end + 1 :]
        lines = rest.split(b"\n")
        lines[0] = carry + lines[0]
        carry = lines.pop()
        if lines:
            yield lines
        if len(carry) > min(look, LONGEST_LINE):
            *whole, carry = _joined(carry)
            if whole:
                yield whole
            look = 2 * len(carry)  # so a byte is looked at about twice, not once a chunk
        look = max(look if len(carry) > _LONG else 0, _LONG)
        if len(carry) > LONGEST_LINE:
            long, carry, look = LongLine(carry[:_HEAD], len(carry)), b"", _LONG
    if long is not None:
        yield long
    elif carry:
        yield [carry]


def pieces_of(line: bytes) -> list[bytes]:
    """Return what a line that is no event consists of: whole events and what lies between."""
    parts = (part for joined in _joined(line) for part in _RESTART.split(joined))
    return [piece for part in parts if (piece := part.strip(b"\0 \t\r"))]


def _joined(line: bytes) -> list[bytes]:
    """Return the objects that are joined on a line; long runs of NUL become one."""
    if b"\0\0" in line:
        line = _NULS.sub(b"\0", line)
    return _JOINT.split(line) if b'}{"' in line else [line]
