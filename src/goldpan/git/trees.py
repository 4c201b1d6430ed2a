"""Folders as git stores them: all files below one, and the differences between two commits.

A path is written as it is where it is UTF-8 and does not begin with a quotation mark. Any other is
written as git quotes it: between quotation marks, with a backslash and three octal digits for each
byte that is no printable ASCII. So no two paths are written alike, and each can be read back.

Git compares trees faster than anything that would read them for it, and its renames and line
counts are the ones that GitHub announces. Many pairs are compared, and many unified diffs written,
in one git; a pair that git cannot compare, because an object is missing or damaged or because the
change has no end, costs a new start and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from pathlib import Path
from typing import IO, Literal, NamedTuple, cast

from goldpan.git.process import results_in_order, stream

_QUOTE = '"'
_ESCAPES = {
    ord(mark): f"\\{letter}" for mark, letter in zip('\a\b\t\n\v\f\r"\\', 'abtnvfr"\\', strict=True)
}
_BYTES = {text[1]: bytes([value]) for value, text in _ESCAPES.items()}
_ESCAPED = re.compile(rb"\\([abtnvfr\"\\]|[0-3][0-7]{2})")


def path_text(path: bytes) -> str:
    """Return a path as tables hold it."""
    try:
        text = path.decode()
    except UnicodeDecodeError:
        return quoted(path)
    return quoted(path) if text.startswith(_QUOTE) else text


def path_bytes(text: str) -> bytes:
    """Return the path that a table holds: the inverse of `path_text`."""
    return unquoted(text.encode()) if text.startswith(_QUOTE) else text.encode()


def quoted(path: bytes) -> str:
    """Quote a path as git does."""
    signs = (
        _ESCAPES.get(value) or (chr(value) if 32 <= value < 127 else f"\\{value:03o}")
        for value in path
    )
    return f"{_QUOTE}{''.join(signs)}{_QUOTE}"


def unquoted(text: bytes) -> bytes:
    """Return the path that git quoted, or one that it left as it is."""
    if len(text) < 2 or not text.startswith(b'"') or not text.endswith(b'"'):
        return text
    return _ESCAPED.sub(
        lambda match: _BYTES.get(match[1].decode()) or bytes([int(match[1], 8)]), text[1:-1]
    )


def diff_name(side: str, path: str) -> str:
    """Return the name of a file, as tables hold it, on one side of a diff."""
    name = b"%s/%s" % (side.encode(), path_bytes(path))
    shown = quoted(name)
    return shown if "\\" in shown else name.decode()


def is_unsafe(path: bytes) -> bool:
    """Tell a path that no checkout may hold: it climbs, is absolute or goes into `.git`."""
    return any(
        part in (b"", b".", b"..") or part.lower() == b".git" or b"\0" in part
        for part in path.split(b"/")
    )


FileKind = Literal["file", "symlink", "submodule"]
FOLDER, SYMLINK, SUBMODULE = "040000", "120000", "160000"
_ENTRY = re.compile(rb"([0-7]{1,7}) ([^\0]*+)\0(.{20})", re.DOTALL)
_BESIDE = 22
"""Bytes of an entry beside its mode and name: a space, a NUL and a digest."""


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """A name in a folder; `mode` is git's six octal digits, `id` a blob, a tree or a commit."""

    name: bytes
    mode: str
    id: str


@dataclass(frozen=True, slots=True)
class TreeFile:
    """A file of a commit; its path as `path_text` writes it."""

    path: str
    mode: str
    kind: FileKind
    id: str


def parse_tree(data: bytes) -> tuple[TreeEntry, ...]:
    """Parse a tree object; raises `ValueError` where it is cut off or no tree."""
    parts = _ENTRY.findall(data)
    if sum(len(mode) + len(name) + _BESIDE for mode, name, _ in parts) != len(data):
        raise ValueError("the tree is cut off")
    return tuple(TreeEntry(name, _mode(digits), digest.hex()) for digits, name, digest in parts)


@cache
def _mode(digits: bytes) -> str:
    """Return a mode as git reads it: old programs wrote more zeros and more permissions."""
    value = int(digits, 8)
    match value & 0o170000:
        case 0o100000:
            return "100755" if value & 0o100 else "100644"
        case 0o120000:
            return SYMLINK
        case 0o040000:
            return FOLDER
        case _:
            return SUBMODULE


MOST_TOUCHED = 50_000
"""A change of more files is not read: GitHub itself lists 3,000."""

_NO_FILE = "000000"
_OPTIONS = (
    *("--stdin", "--always", "-r", "--no-ext-diff", "--no-textconv", "--no-color"),
    "--diff-algorithm=myers",
)
# Git skips inexact renames where more files than the limit came and went.
RENAMES = ("--find-renames=50%", "-l1000")
_BLOCK = 1 << 20


class Depth(Enum):
    """How closely to compare: folders alone, or files too, for renames and line counts."""

    FOLDERS = ("-z", "--raw", "--no-abbrev", "--no-renames")
    FILES = ("-z", "--raw", "--no-abbrev", *RENAMES, "--numstat")


class CommitPair(NamedTuple):
    """Two commits to compare."""

    before: str
    after: str

    @property
    def line(self) -> bytes:
        """The line by which git is asked for it."""
        return f"{self.after} {self.before}\n".encode()


@dataclass(frozen=True, slots=True)
class Touched:
    """A file that differs; `letter` is git's A, C, D, M, R or T.

    Of a file that came or went one side's mode and blob are null. Line counts are null for
    binary files, and where only folders were compared.
    """

    path: bytes
    previous: bytes | None
    letter: str
    mode_before: str | None
    mode_after: str | None
    blob_before: str | None
    blob_after: str | None
    additions: int | None = None
    deletions: int | None = None

    @property
    def blobs(self) -> tuple[str | None, str | None]:
        """The file before and after; None where there is none, or a submodule."""
        before = None if self.mode_before == SUBMODULE else self.blob_before
        return before, None if self.mode_after == SUBMODULE else self.blob_after


@dataclass(slots=True)
class _PairGroup:
    """Git's output on one pair of commits so far."""

    after: str
    touched: list[Touched]
    counts: int = 0
    """How many of the files have their line counts."""


def compare(
    clone: Path, pairs: Sequence[CommitPair], depth: Depth
) -> Iterator[tuple[Touched, ...] | None]:
    """Yield for each pair, in order, the files that differ; None where git cannot tell.

    The commits must be in the clone.
    """
    return results_in_order(pairs, lambda batch: _compare(clone, batch, depth))


def _compare(
    clone: Path, pairs: Sequence[CommitPair], depth: Depth
) -> Iterator[tuple[Touched, ...]]:
    """Yield the differences of those pairs, from the first on, that git surely wrote whole."""
    lines = (pair.line for pair in pairs)
    with stream("diff-tree", *_OPTIONS, *depth.value, clone=clone, stdin=lines) as process:
        last: _PairGroup | None = None
        for pair, group in zip(
            pairs, _groups(_fields(cast(IO[bytes], process.stdout))), strict=False
        ):
            if last is not None:
                yield tuple(last.touched)
            last = None
            if group.after != pair.after or len(group.touched) > MOST_TOUCHED:
                return
            last = group
        if last is not None and process.wait() == 0:
            yield tuple(last.touched)


def _fields(output: IO[bytes]) -> Iterator[bytes]:
    """Split git's output at the NULs."""
    unfinished = b""
    while block := output.read(_BLOCK):
        *fields, unfinished = (unfinished + block).split(b"\0")
        yield from fields


def _groups(fields: Iterator[bytes]) -> Iterator[_PairGroup]:
    """Gather git's output on each pair: a commit, the files, then their line counts."""
    group: _PairGroup | None = None
    for field in fields:
        if group is not None and field.startswith(b":"):
            group.touched.append(_touched(field, fields))
            if len(group.touched) > MOST_TOUCHED:
                break
        elif group is not None and b"\t" in field:
            added, deleted, path = field.split(b"\t", 2)
            if not path:  # of a rename: its two paths follow
                next(fields, None)
                next(fields, None)
            counts = [None if text_ == b"-" else int(text_) for text_ in (added, deleted)]
            touched = group.touched[group.counts]
            group.touched[group.counts] = replace(touched, additions=counts[0], deletions=counts[1])
            group.counts += 1
        else:
            if group is not None:
                yield group
            group = _PairGroup(field.decode(), [])
    if group is not None:
        yield group


def _touched(head: bytes, fields: Iterator[bytes]) -> Touched:
    mode_before, mode_after, blob_before, blob_after, letter = head[1:].decode().split(" ")
    first = next(fields, b"")
    moved = letter[0] in "RC"
    return Touched(
        path=next(fields, b"") if moved else first,
        previous=first if moved else None,
        letter=letter[0],
        mode_before=None if mode_before == _NO_FILE else mode_before,
        mode_after=None if mode_after == _NO_FILE else mode_after,
        blob_before=None if mode_before == _NO_FILE else blob_before,
        blob_after=None if mode_after == _NO_FILE else blob_after,
    )


_AS_PATCH = ("--patch", "--full-index", "--indent-heuristic", "--src-prefix=a/", "--dst-prefix=b/")
# No line of a patch looks like this: those of files bear a mark, headers have words.
_COMMIT = re.compile(rb"[0-9a-f]{40}\n")


def patches(clone: Path, pairs: Sequence[CommitPair]) -> Iterator[str | None]:
    """Yield the unified diff of each pair in order, None where git cannot make it.

    The clone has the commits. Bytes that are no UTF-8 are shown as U+FFFD: the blobs hold the exact
    ones. With `before_sha` of a `base` state a patch would also undo what the base branch gained
    since the head left it, so give `merge_base`.
    """
    return results_in_order(pairs, lambda batch: _patches(clone, batch))


def _patches(clone: Path, pairs: Sequence[CommitPair]) -> Iterator[str]:
    lines = (pair.line for pair in pairs)
    with stream("diff-tree", *_OPTIONS, *_AS_PATCH, *RENAMES, clone=clone, stdin=lines) as process:
        patch: list[bytes] | None = None
        yielded = 0
        for line in cast(IO[bytes], process.stdout):
            if _COMMIT.fullmatch(line):
                if patch is not None:
                    yield _text(patch)
                if line.decode().strip() != pairs[yielded].after:
                    return
                patch = []
                yielded += 1
            elif patch is not None and (patch or line.strip()):  # after a blank line
                patch.append(line)
        if patch is not None and process.wait() == 0:
            yield _text(patch)


def _text(patch: list[bytes]) -> str:
    return b"".join(patch).decode("utf-8", "replace")
