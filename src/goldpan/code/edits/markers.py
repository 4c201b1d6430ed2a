"""Lines in a patch that are no content: the markers of blocks, and the mark of a missing LF."""

from __future__ import annotations

import re
from dataclasses import dataclass

SHORTEST = 7
NO_NEWLINE = "No newline at end of file"
_MARKER = re.compile(
    r"(?:(?P<open><{7,}+) ?SEARCH|(?P<middle>={7,}+)|(?P<replace>>{7,}+) ?REPLACE"
    rf"|(?P<delete>>{{7,}}+) ?DELETE|(?P<mark>\\++) {NO_NEWLINE})[ \t\r]*"
)
_FIRST = frozenset("<=>\\")


@dataclass(frozen=True, slots=True)
class Marker:
    """What a line is in a block whose markers have this length."""

    kind: str
    """open | middle | replace | delete | mark"""
    length: int


def read_marker(line: str) -> Marker | None:
    """Return what a line without its LF marks, or None where it is content in any block."""
    match = _MARKER.fullmatch(line) if line[:1] in _FIRST else None
    if not match or not match.lastgroup:
        return None
    length = len(match[match.lastgroup])
    return Marker(match.lastgroup, length + (SHORTEST - 1) * (match.lastgroup == "mark"))
