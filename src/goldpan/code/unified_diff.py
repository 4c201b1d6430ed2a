"""Sets a unified diff side by side, with what changed within a line.

This is for people, and takes a diff that is cut off or damaged for what it still says;
`git/apply.py` applies one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby, zip_longest
from typing import Literal

from goldpan.code.patch import HunkLine, read_hunks
from goldpan.core.sanitize import CUT, visible

_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
_LONGEST_LINE = 400
_MOST_TOKENS = 200
_ALIKE = 0.45


@dataclass(frozen=True, slots=True)
class DiffPiece:
    """A part of a line, changed or as on the other side."""

    text: str
    changed: bool = False


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of one version, numbered from 1."""

    number: int
    pieces: tuple[DiffPiece, ...]
    ends: bool = True
    """True where a line end follows; the last line of a file may have none."""


@dataclass(frozen=True, slots=True)
class DiffRow:
    """A line of both versions; of a gap neither, it stands for lines that are not shown."""

    kind: Literal["same", "changed", "gap"]
    left: DiffLine | None = None
    right: DiffLine | None = None


@dataclass(frozen=True, slots=True)
class Sides:
    """A diff as rows."""

    rows: tuple[DiffRow, ...]
    deleted: int
    inserted: int
    left_out: int
    """Deleted and inserted lines that were too many to show."""


def side_by_side(diff: str, most: int = 160) -> Sides:
    """Set a unified diff side by side; `most` bounds the rows, long lines are cut.

    Deleted lines stand beside the inserted ones of the same place. Where every line ends in CRLF
    that is not shown, else each carriage return is.
    """
    rows: list[DiffRow] = []
    deleted = inserted = 0
    for hunk in read_hunks(_without_crlf(diff)):
        if hunk and (rows or max(hunk[0].old, hunk[0].new) > 1):
            rows.append(DiffRow("gap"))
        for is_same, lines in groupby(hunk, lambda line: line.mark == " "):
            sides: dict[str, list[HunkLine]] = {" ": [], "-": [], "+": []}
            for line in lines:
                sides[line.mark].append(line)
            deleted += len(sides["-"])
            inserted += len(sides["+"])
            room = max(0, most - len(rows))
            if is_same:
                rows += (
                    DiffRow("same", _line(line, line.old), _line(line, line.new))
                    for line in sides[" "][:room]
                )
            else:
                pairs = zip_longest(sides["-"][:room], sides["+"][:room])
                rows += (_changed(*pair) for pair in pairs)
    shown = tuple(rows[:most])
    changed = [row for row in shown if row.kind == "changed"]
    shown_lines = sum((row.left is not None) + (row.right is not None) for row in changed)
    return Sides(shown, deleted, inserted, deleted + inserted - shown_lines)


def _without_crlf(diff: str) -> str:
    body = [line for line in diff.split("\n") if line[:1] in ("-", "+", " ")]
    body = [line for line in body if line[:3] not in ("---", "+++")]
    is_crlf = bool(body) and all(line.endswith("\r") for line in body)
    return diff.replace("\r\n", "\n") if is_crlf else diff


def _changed(old: HunkLine | None, new: HunkLine | None) -> DiffRow:
    """Return two versions of a line with their differences marked where they are alike."""
    left, right = old and _line(old, old.old), new and _line(new, new.new)
    if old is None or new is None or left is None or right is None:
        return DiffRow("changed", left, right)
    ours, theirs = _TOKEN.findall(left.pieces[0].text), _TOKEN.findall(right.pieces[0].text)
    matcher = SequenceMatcher(None, ours, theirs, autojunk=False)
    if max(len(ours), len(theirs)) > _MOST_TOKENS or matcher.quick_ratio() < _ALIKE:
        return DiffRow("changed", left, right)
    pieces: tuple[list[DiffPiece], list[DiffPiece]] = ([], [])
    for tag, a, b, c, d in matcher.get_opcodes():
        for side, tokens in zip(pieces, (ours[a:b], theirs[c:d]), strict=True):
            if tokens:
                side.append(DiffPiece("".join(tokens), tag != "equal"))
    return DiffRow(
        "changed",
        DiffLine(old.old, tuple(pieces[0]), old.ends),
        DiffLine(new.new, tuple(pieces[1]), new.ends),
    )


def _line(line: HunkLine, number: int) -> DiffLine:
    shown = visible(line.text[: _LONGEST_LINE + 1])
    text = shown if len(shown) <= _LONGEST_LINE else shown[: _LONGEST_LINE - 1] + CUT
    return DiffLine(number, (DiffPiece(text),), line.ends)
