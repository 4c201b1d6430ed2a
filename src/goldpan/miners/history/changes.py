"""Describes changed files: what they are, how large, in which encoding; rows of `changes`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from goldpan.git.comparison import Touched
from goldpan.git.objects import Object, Objects
from goldpan.git.paths import path_text
from goldpan.git.texts import (
    Encoding,
    LineEnds,
    ends_its_line,
    is_pointer,
    line_ends,
    shared_encoding,
)
from goldpan.git.trees import SUBMODULE, SYMLINK

ChangeKind = Literal["text", "binary", "submodule", "symlink", "lfs", "large", "missing"]

_STATUS = {"A": "added", "C": "copied", "D": "removed", "R": "renamed", "T": "changed"}


@dataclass(frozen=True, slots=True)
class Change:
    """A row of `changes`, without the repository."""

    number: int
    path: str
    previous_path: str | None
    status: str
    kind: ChangeKind
    mode_before: str | None
    mode_after: str | None
    blob_before: str | None
    blob_after: str | None
    size_before: int | None
    size_after: int | None
    additions: int | None
    deletions: int | None
    encoding: Encoding | None
    line_ends: LineEnds | None
    final_newline: bool | None


def describe(touched: Iterable[tuple[int, Touched]], objects: Objects) -> Iterator[Change]:
    """Yield a row for each changed file of the numbered pull requests, reading both versions."""
    listed = list(touched)
    ids = (id for _, one in listed for id in (_file(one, before=True), _file(one, before=False)))
    found = objects.read(id or "" for id in ids)
    for number, one in listed:
        before, after = next(found), next(found)
        yield _describe(number, one, before, after)


def status_of(one: Touched) -> str:
    """Return the word that GitHub has for a change; `changed` is one of the mode alone."""
    if one.letter == "M":
        return "changed" if one.blob_before == one.blob_after else "modified"
    return _STATUS[one.letter]


def _file(one: Touched, *, before: bool) -> str | None:
    """Return the blob of one side, None where the side has none."""
    mode, blob = (one.mode_before, one.blob_before) if before else (one.mode_after, one.blob_after)
    return None if mode == SUBMODULE else blob


def _describe(number: int, one: Touched, before: Object | None, after: Object | None) -> Change:
    kind = _kind(one, before, after)
    texts = [side.data for side in (before, after) if side and side.data is not None]
    encoding = shared_encoding(*texts) if kind == "text" else None
    if kind == "text" and encoding is None:
        kind = "binary"
    return Change(
        number=number,
        path=path_text(one.path),
        previous_path=None if one.previous is None else path_text(one.previous),
        status=status_of(one),
        kind=kind,
        mode_before=one.mode_before,
        mode_after=one.mode_after,
        blob_before=one.blob_before,
        blob_after=one.blob_after,
        size_before=before.size if before else None,
        size_after=after.size if after else None,
        additions=one.additions,
        deletions=one.deletions,
        encoding=encoding,
        line_ends=line_ends(texts[0], encoding) if encoding else None,
        final_newline=ends_its_line(texts[0], encoding) if encoding else None,
    )


def _kind(one: Touched, before: Object | None, after: Object | None) -> ChangeKind:
    modes = (one.mode_before, one.mode_after)
    if SUBMODULE in modes:
        return "submodule"
    sides = [side for mode, side in zip(modes, (before, after), strict=True) if mode is not None]
    found = [side for side in sides if side is not None and side.kind == "blob"]
    if len(found) < len(sides):
        return "missing"
    if SYMLINK in modes:
        return "symlink"
    data = [side.data for side in found if side.data is not None]
    if len(data) < len(found):
        return "large"
    return "lfs" if any(map(is_pointer, data)) else "text"
