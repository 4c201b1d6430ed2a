"""Unified diffs as git and GitHub write them: read and applied exactly, and parted by file."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from goldpan.git.trees import unquoted

_HUNK = re.compile(rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_INDEX = re.compile(rb"index ([0-9a-f]{4,40})\.\.([0-9a-f]{4,40})(?: \d{6})?\Z")
_NO_NEWLINE = b"\\"
_NOTHING = b"/dev/null"
_USUAL_MODE = "100644"


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines with their marks, and after how many lines of the old file they begin."""

    after: int
    lines: tuple[bytes, ...]


@dataclass(slots=True)
class FileDiff:
    """One file's part of a diff; ids may be abbreviated, and are empty where it names none."""

    before: bytes
    after: bytes
    letter: str = "M"
    mode_before: str | None = None
    mode_after: str | None = None
    id_before: str = ""
    id_after: str = ""
    is_binary: bool = False
    hunks: list[Hunk] = field(default_factory=list)

    def count(self, mark: bytes) -> int:
        """Return how many lines have a mark, ``+`` or ``-``."""
        return sum(line.startswith(mark) for hunk in self.hunks for line in hunk.lines)


def parse_diff(text: bytes) -> list[FileDiff]:
    """Parse a diff of many files; raises `ValueError` where it is none or is cut off.

    A file begins with the line that git writes above its names, or with these alone.
    """
    *lines, rest = text.split(b"\n")
    if rest:
        raise ValueError("it is cut off" if text.startswith(b"diff ") else "it is not a diff")
    files: list[FileDiff] = []
    index = 0
    is_named = False
    while index < len(lines):
        line = lines[index]
        index += 1
        if line.startswith(b"diff --git "):
            files.append(_begin(line.removeprefix(b"diff --git ")))
            is_named = True
        elif not is_named and _are_names(lines[index - 1 : index + 1]):
            files.append(_begin_unnamed(line, lines[index]))
            is_named = True
        elif not files:
            raise ValueError("it does not begin like a diff")
        elif match := _HUNK.match(line):
            old, new = (1 if count is None else int(count) for count in (match[2], match[4]))
            end = _end_of_hunk(lines, index, old, new)
            after = int(match[1]) - (1 if old else 0)
            files[-1].hunks.append(Hunk(after, tuple(lines[index:end])))
            index = end
            is_named = False
        else:
            _read_header(files[-1], line)
    return files


def apply(before: bytes, hunks: Sequence[Hunk]) -> bytes:
    """Return a file after a change; raises `ValueError` where the change does not fit exactly."""
    *old, last = (line + b"\n" for line in before.split(b"\n"))
    old += [last[:-1]] if last != b"\n" else []
    new: list[bytes] = []
    index = 0
    for hunk in hunks:
        if not index <= hunk.after <= len(old):
            raise ValueError("its parts are not in order")
        new += old[index : hunk.after]
        index = hunk.after
        for line, following in zip(hunk.lines, (*hunk.lines[1:], b""), strict=True):
            mark, content = line[:1], line[1:]
            if mark == _NO_NEWLINE:
                continue
            if not following.startswith(_NO_NEWLINE):
                content += b"\n"
            if mark != b"+":
                if old[index : index + 1] != [content]:
                    raise ValueError(f"line {index + 1} of the file is another one")
                index += 1
            if mark != b"-":
                new.append(content)
    return b"".join([*new, *old[index:]])


def _end_of_hunk(lines: Sequence[bytes], index: int, old: int, new: int) -> int:
    """Return where the lines that a hunk announced end, with a note on a last line's end."""
    while old > 0 or new > 0:
        mark = lines[index][:1] if index < len(lines) else b""
        if mark not in (b" ", b"-", b"+", _NO_NEWLINE) or mark == b"":
            raise ValueError("it is cut off")
        old -= mark in (b" ", b"-")
        new -= mark in (b" ", b"+")
        index += 1
    if index < len(lines) and lines[index].startswith(_NO_NEWLINE):
        index += 1
    return index


def _begin(names: bytes) -> FileDiff:
    """Begin a file with the names of its first line, ``a/OLD b/NEW``.

    They are only needed where they are the same and nothing else names them: where only the
    mode changed, or of an empty or binary file.
    """
    if names.startswith(b'"'):
        half = names.index(b'" "') + 1 if b'" "' in names else 0
    else:
        half = len(names) // 2
    return FileDiff(_name(names[:half]), _name(names[half + 1 :]))


def _are_names(lines: Sequence[bytes]) -> bool:
    return [line[:4] for line in lines] == [b"--- ", b"+++ "]


def _begin_unnamed(before: bytes, after: bytes) -> FileDiff:
    """Begin a file without the line of git, whose names follow and are read then."""
    old, new = _plain(before[4:]), _plain(after[4:])
    if old == _NOTHING:
        return FileDiff(_name(new), _name(new), "A", mode_after=_USUAL_MODE)
    if new == _NOTHING:
        return FileDiff(_name(old), _name(old), "D", mode_before=_USUAL_MODE)
    return FileDiff(_name(old), _name(old))


def _read_header(file: FileDiff, line: bytes) -> None:
    word, _, rest = line.partition(b" ")
    mode = line[-6:].decode("ascii", "replace")
    if line.startswith(b"--- ") and _plain(rest) != _NOTHING:
        file.before = _name(rest)
    elif line.startswith(b"+++ ") and _plain(rest) != _NOTHING:
        file.after = _name(rest)
    elif line.startswith((b"rename from ", b"copy from ")):
        file.before = unquoted(line.partition(b" from ")[2])
        file.letter = "R" if word == b"rename" else "C"
    elif line.startswith((b"rename to ", b"copy to ")):
        file.after = unquoted(line.partition(b" to ")[2])
    elif line.startswith(b"new file mode "):
        file.letter, file.mode_after = "A", mode
    elif line.startswith(b"deleted file mode "):
        file.letter, file.mode_before = "D", mode
    elif line.startswith(b"old mode "):
        file.mode_before = mode
    elif line.startswith(b"new mode "):
        file.mode_after = mode
    elif match := _INDEX.match(line):
        file.id_before, file.id_after = match[1].decode(), match[2].decode()
    elif line.startswith((b"Binary files ", b"GIT binary patch")):
        file.is_binary = True


def _plain(name: bytes) -> bytes:
    """Return a name without what stands behind it: a time, or git's tab where it has spaces."""
    return name.partition(b"\t")[0]


def _name(text: bytes) -> bytes:
    """Return a path without its ``a/`` or ``b/``."""
    name = unquoted(_plain(text))
    return name[2:] if name[:2] in (b"a/", b"b/") else name


_PARTS = re.compile(r"^(?=diff --git )", re.M)
_NAMES = (b"--- ", b"+++ ", b"rename ", b"copy ")


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


def split_patch(diff: str) -> tuple[FilePatch, ...]:
    """Return the parts of a git diff in order; joined, their texts are the diff again.

    Raises `ValueError` where a part does not name its file, so it is no diff of git.
    """
    before, *parts = _PARTS.split(diff)
    if before:
        raise ValueError("the text does not begin with 'diff --git'")
    return tuple(map(_file_patch, parts))


def _file_patch(text: str) -> FilePatch:
    # Before the first hunk: its lines may look like anything.
    head = text.partition("\n@@ ")[0].encode("utf-8", "surrogateescape")
    first, *lines = head.split(b"\n")
    file = _begin(first.removeprefix(b"diff --git "))
    if file.before != file.after and not any(line.startswith(_NAMES) for line in lines):
        raise ValueError(f"{text.splitlines()[0][:200]!r} names no file")
    for line in lines:
        _read_header(file, line)
    before, after = (path.decode("utf-8", "surrogateescape") for path in (file.before, file.after))
    return FilePatch(after, text, file.is_binary, before if file.letter == "R" else "")


def part_patch(diff: str, choose: Callable[[str], bool]) -> tuple[str, str]:
    """Return the parts of the files that are chosen by path, and the others."""
    files = split_patch(diff)
    chosen = "".join(file.text for file in files if choose(file.path))
    return chosen, "".join(file.text for file in files if not choose(file.path))
