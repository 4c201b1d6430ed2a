"""Parts a git diff by file, byte for byte: each part still applies by itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from goldpan.code.paths import unquote_path

_FILE = re.compile(r"^diff --git ", re.M)
_NEW = re.compile(r'^(?:\+\+\+ ("?b/[^\n\t]*)|rename to ([^\n]*)|copy to ([^\n]*))', re.M)
_OLD = re.compile(r'^--- ("?a/[^\n\t]*)', re.M)
_MOVED = re.compile(r"^rename from ([^\n]*)", re.M)
_HEAD = re.compile(r"diff --git a/(.*) b/\1\n")
_QUOTED_HEAD = re.compile(r'diff --git "a/(.*)" "b/\1"\n')
_BINARY = re.compile(r"^(?:Binary files .* differ|GIT binary patch)$", re.M)


@dataclass(frozen=True, slots=True)
class FilePatch:
    """What a diff says of one file."""

    path: str
    """Its name after the change; of a deleted file, its last."""
    text: str
    """The part of the diff, with its header."""
    is_binary: bool
    moved_from: str = ""
    """Its name before the change, of a file that was renamed."""


def split_patch(diff: str) -> tuple[FilePatch, ...]:
    """Return the parts of a git diff in order; joined, their texts are the diff again.

    Raises `ValueError` where a part does not tell its file, so it is no diff of git.
    """
    if not diff:
        return ()
    starts = [match.start() for match in _FILE.finditer(diff)]
    if not starts or starts[0] != 0:
        raise ValueError("the text does not begin with 'diff --git'")
    parts = (diff[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True))
    return tuple(
        FilePatch(_path(part), part, bool(_BINARY.search(_header(part))), _moved_from(part))
        for part in parts
    )


def part_patch(diff: str, choose: Callable[[str], bool]) -> tuple[str, str]:
    """Return the parts of the files that are chosen by path, and the others."""
    files = split_patch(diff)
    chosen = "".join(file.text for file in files if choose(file.path))
    return chosen, "".join(file.text for file in files if not choose(file.path))


def _header(part: str) -> str:
    """Return what stands before the first hunk, whose lines may look like anything."""
    return part.partition("\n@@ ")[0]


def _moved_from(part: str) -> str:
    moved = _MOVED.search(_header(part) + "\n")
    return unquote_path(moved[1]) if moved else ""


def _path(part: str) -> str:
    header = _header(part) + "\n"
    if new := _NEW.search(header):
        name = unquote_path(new[1] or new[2] or new[3])
        return name.removeprefix("b/") if new[1] else name
    if old := _OLD.search(header):
        return unquote_path(old[1]).removeprefix("a/")
    if same := _HEAD.match(header):
        return same[1]
    if same := _QUOTED_HEAD.match(header):
        return unquote_path(f'"{same[1]}"')
    raise ValueError(f"{header.splitlines()[0][:200]!r} names no file")
