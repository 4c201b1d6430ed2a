"""Reads a git diff, as text: its files, the lines of its hunks, and both sides for people.

A diff that is cut off or damaged is taken for what it still says; `git/apply.py` applies one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby, zip_longest
from typing import Literal, NamedTuple

from goldpan.core.sanitize import CUT, visible
from goldpan.git.trees import unquoted

_PARTS = re.compile(r"^(?=diff --git )", re.M)
_OLD = re.compile(rb"^(?:--- (?!/dev/null)|rename from |copy from )([^\t\r\n]+)", re.M)
_NEW = re.compile(rb"^(?:\+\+\+ (?!/dev/null)|rename to |copy to )([^\t\r\n]+)", re.M)
_PREFIXED = re.compile(rb'diff --git "?([abciow12])/.* "?(?!\1)[abciow12]/')
"""Names behind two different prefixes, maybe those of `diff.mnemonicPrefix`."""
_RENAME = re.compile(rb"^rename from ", re.M)
_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_BINARY = re.compile(rb"^(?:Binary files |GIT binary patch)", re.M)


@dataclass(frozen=True, slots=True)
class FilePatch:
    """One file's part of a diff, as text."""

    path: str
    """Its name after the change; of a deleted file, its last."""
    text: str
    """The part of the diff, with its header."""
    is_binary: bool
    moved_from: str = ""
    """Its name before the change, of a file that was renamed."""


class HunkLine(NamedTuple):
    """A line of a hunk."""

    mark: str
    """Plus, minus or a space."""
    text: str
    """What stands behind the mark."""
    old: int
    """Its number in the file before, from 1; of an added line, that of the next one there."""
    new: int
    """Its number in the file after; of a removed line, that of the next one there."""
    start: int
    """The offset of the text in the diff."""
    ends: bool
    """False where the file ends without a line end."""


def read_hunks(diff: str) -> Iterator[list[HunkLine]]:
    """Yield the lines of each hunk, also of a diff that is cut off or damaged."""
    lines = diff.split("\n")
    hunk: list[HunkLine] | None = None
    old = new = old_end = new_end = start = 0
    for line, after in zip(lines, (*lines[1:], ""), strict=True):
        mark = line[:1] or " "  # editors trim blank lines
        if hunk is not None and mark in " +-" and (old < old_end or new < new_end):
            hunk.append(HunkLine(mark, line[1:], old, new, start + 1, not after.startswith("\\")))
            old += mark != "+"
            new += mark != "-"
        elif head := _HUNK.match(line):
            if hunk is not None:
                yield hunk
            # A side without lines names the line before it.
            old, new = int(head[1]) + (head[2] == "0"), int(head[3]) + (head[4] == "0")
            old_end, new_end = old + int(head[2] or 1), new + int(head[4] or 1)
            hunk = []
        elif mark != "\\":
            old_end = new_end = 0
        start += len(line) + 1
    if hunk is not None:
        yield hunk


def split_patch(diff: str) -> tuple[FilePatch, ...]:
    """Return the parts of a git diff in order; joined, their texts are the diff again.

    Raises `ValueError` where a part does not name its file, so it is no diff of git.
    """
    before, *parts = _PARTS.split(diff)
    if before:
        raise ValueError("the text does not begin with 'diff --git'")
    return tuple(map(_file_patch, parts))


def part_patch(diff: str, choose: Callable[[str], bool]) -> tuple[str, str]:
    """Return the parts of the files that are chosen by path, and the others."""
    files = split_patch(diff)
    chosen = "".join(file.text for file in files if choose(file.path))
    return chosen, "".join(file.text for file in files if not choose(file.path))


def _file_patch(text: str) -> FilePatch:
    # Before the first hunk: its lines may look like anything.
    head = text.partition("\n@@ ")[0].encode("utf-8", "surrogateescape")
    old, new = _OLD.search(head), _NEW.search(head)
    named = new or old
    if named is None:
        path = _only_name(head.splitlines()[0].removeprefix(b"diff --git "))
    else:
        path = _name(named, head)
    moved_from = _name(old, head) if old and _RENAME.search(head) else b""
    return FilePatch(
        path.decode("utf-8", "surrogateescape"),
        text,
        _BINARY.search(head) is not None,
        moved_from.decode("utf-8", "surrogateescape"),
    )


def _name(match: re.Match[bytes], head: bytes) -> bytes:
    """Return the path that a line of the head names."""
    is_prefixed = match[0].startswith((b"---", b"+++")) and _PREFIXED.match(head)
    return unquoted(match[1])[2 if is_prefixed else 0 :]


def _only_name(names: bytes) -> bytes:
    """Return the path in ``a/NAME b/NAME`` or ``NAME NAME``, of a file whose content stays."""
    half = len(names) // 2
    old, new = unquoted(names[:half]), unquoted(names[half + 1 :])
    if old[2:] != new[2:] or names[half : half + 1] != b" ":
        raise ValueError(f"{names[:200]!r} names no file")
    return new if old == new else new[2:]


# A diff side by side, with what changed within a line.

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
