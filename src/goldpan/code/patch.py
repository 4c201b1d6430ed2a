"""Reads a git diff, as text: its files, and the lines of its hunks; `git/apply.py` applies one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

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
