"""Reads SEARCH/REPLACE blocks, as `format_edits` writes them and as language models do."""

from __future__ import annotations

from dataclasses import dataclass

from goldpan.code.edits.edit import Edit, FileEdits, MalformedError
from goldpan.code.edits.headings import find_path
from goldpan.code.edits.markers import Marker, read_marker

_MIDDLE = frozenset({"middle"})
_ENDS = frozenset({"replace", "delete"})
_SHOWN = 40


@dataclass(frozen=True, slots=True)
class _Opening:
    """The first line of a block."""

    line: int
    length: int
    drops_cr: bool


def parse_edits(text: str) -> tuple[FileEdits, ...]:
    """Return the edits of each file in the order in which the files first appear.

    Text without any block gives nothing. Raises `MalformedError` naming the line, from 1, where
    a block breaks off or has a marker that does not belong there.
    """
    lines = text.split("\n")
    edits: dict[str | None, list[Edit]] = {}
    removed: set[str | None] = set()
    path: str | None = None
    free = at = 0  # the line after the last block, the line that is looked at
    while at < len(lines):
        marker = read_marker(lines[at])
        if marker and marker.kind in _ENDS:
            raise _malformed(at, f"{lines[at].strip()[:_SHOWN]} ends no block")
        if not marker or marker.kind != "open":
            at += 1
            continue
        opening = _Opening(at, marker.length, lines[at].endswith("\r"))
        named = find_path(lines[free:at])
        path = path if named is None else named
        search, middle = _read_content(lines, at + 1, opening, _MIDDLE)
        replace, end = _read_content(lines, middle + 1, opening, _ENDS)
        deletes = read_marker(lines[end]) == Marker("delete", opening.length)
        if path in removed or (deletes and (replace or path in edits)):
            raise _malformed(end, "DELETE takes one block for a file, and that an empty REPLACE")
        if deletes:
            removed.add(path)
        edits.setdefault(path, []).append(Edit(search, replace))
        free = at = end + 1
    return tuple(FileEdits(path, tuple(edits_), path in removed) for path, edits_ in edits.items())


def _read_content(
    lines: list[str], start: int, opening: _Opening, ends: frozenset[str]
) -> tuple[str, int]:
    """Return the content from line `start` on, and the line of the marker that ends it."""
    for at in range(start, len(lines)):
        marker = read_marker(lines[at])
        if not marker or marker.length != opening.length:
            continue
        if marker.kind in ends:
            return _join(lines[start:at], opening), at
        if marker.kind != "mark":
            raise _malformed(
                at,
                f"{lines[at].strip()[:_SHOWN]} stands inside the block of line {opening.line + 1}",
            )
    missing = "=" if ends == _MIDDLE else ">"
    raise _malformed(
        opening.line, f"the block that begins there lacks its line of {opening.length} {missing!r}"
    )


def _join(lines: list[str], opening: _Opening) -> str:
    if opening.drops_cr:
        lines = [line.removesuffix("\r") for line in lines]
    if lines and read_marker(lines[-1]) == Marker("mark", opening.length):
        return "\n".join(lines[:-1])
    return "".join(f"{line}\n" for line in lines)


def _malformed(line: int, problem: str) -> MalformedError:
    return MalformedError(
        f"Line {line + 1} of the patch is malformed: {problem}",
        "Write a block as <<<<<<< SEARCH, =======, >>>>>>> REPLACE, each alone on its line, all "
        "with more characters where a line between them looks like one of them",
    )
