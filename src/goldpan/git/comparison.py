"""What changed between commits, many pairs in one git.

Git compares trees faster than anything that would read them for it, and its renames and line
counts are the ones that GitHub announces. A pair that git cannot compare, because an object is
missing or damaged or because the change has no end, costs a new start and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import IO, cast

from goldpan.git.process import results_in_order, stream

MOST_FILES = 50_000
"""A change of more files is not read: GitHub itself lists 3,000."""

_NO_FILE = "000000"
_OPTIONS = (
    "--stdin",
    "--always",
    "-r",
    "-z",
    "--raw",
    "--no-abbrev",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--diff-algorithm=myers",
)
# Git skips inexact renames where more files than the limit came and went.
RENAMES = ("--find-renames=50%", "-l1000")
_BLOCK = 1 << 20


class Depth(Enum):
    """How closely to compare: folders alone, or files too, for renames and line counts."""

    FOLDERS = ("--no-renames",)
    FILES = (*RENAMES, "--numstat")


@dataclass(frozen=True, slots=True)
class CommitPair:
    """Two commits to compare."""

    before: str
    after: str


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


@dataclass(slots=True)
class _PairGroup:
    """What git has told of one pair so far."""

    after: str
    touched: list[Touched]
    counted: int = 0


def compare(
    clone: Path, pairs: Sequence[CommitPair], depth: Depth
) -> Iterator[tuple[Touched, ...] | None]:
    """Yield for each pair, in order, what differs; None where git cannot tell.

    The commits must be in the clone.
    """
    return results_in_order(pairs, lambda some: _compare(clone, some, depth))


def _compare(
    clone: Path, pairs: Sequence[CommitPair], depth: Depth
) -> Iterator[tuple[Touched, ...]]:
    """Yield what differs for those pairs, from the first on, that git has surely told whole."""
    lines = (f"{pair.after} {pair.before}\n".encode() for pair in pairs)
    with stream("diff-tree", *_OPTIONS, *depth.value, clone=clone, stdin=lines) as process:
        last: _PairGroup | None = None
        for pair, group in zip(
            pairs, _groups(_fields(cast(IO[bytes], process.stdout))), strict=False
        ):
            if last is not None:
                yield tuple(last.touched)
            last = None
            if group.after != pair.after or len(group.touched) > MOST_FILES:
                return
            last = group
        if last is not None and process.wait() == 0:
            yield tuple(last.touched)


def _fields(output: IO[bytes]) -> Iterator[bytes]:
    """Split what git writes at the NULs."""
    rest = b""
    while block := output.read(_BLOCK):
        *fields, rest = (rest + block).split(b"\0")
        yield from fields


def _groups(fields: Iterator[bytes]) -> Iterator[_PairGroup]:
    """Gather what git tells of each pair: a commit, the files, then their line counts."""
    group: _PairGroup | None = None
    for field in fields:
        if group is not None and field.startswith(b":"):
            group.touched.append(_touched(field, fields))
            if len(group.touched) > MOST_FILES:
                break
        elif group is not None and b"\t" in field:
            added, deleted, path = field.split(b"\t", 2)
            if not path:  # of a rename: its two paths follow
                next(fields, None)
                next(fields, None)
            counts = [None if text_ == b"-" else int(text_) for text_ in (added, deleted)]
            counted = group.touched[group.counted]
            group.touched[group.counted] = replace(
                counted, additions=counts[0], deletions=counts[1]
            )
            group.counted += 1
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
