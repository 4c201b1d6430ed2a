"""Describes changed files: what they are, how large, in which encoding; rows of `changes`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from goldpan.git.comparison import Touched
from goldpan.git.objects import (
    Encoding,
    LineEnds,
    Object,
    Objects,
    ends_its_line,
    is_pointer,
    line_ends,
    shared_encoding,
)
from goldpan.git.trees import SUBMODULE, SYMLINK, path_text

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
    ids = (id for _, file in listed for id in (_file(file, before=True), _file(file, before=False)))
    contents = objects.read(id or "" for id in ids)
    for number, file in listed:
        before, after = next(contents), next(contents)
        yield _describe(number, file, before, after)


def status_of(touched: Touched) -> str:
    """Return the word that GitHub has for a change; `changed` is one of the mode alone."""
    if touched.letter == "M":
        return "changed" if touched.blob_before == touched.blob_after else "modified"
    return _STATUS[touched.letter]


def _file(touched: Touched, *, before: bool) -> str | None:
    """Return the blob of one side, None where the side has none."""
    mode, blob = (
        (touched.mode_before, touched.blob_before)
        if before
        else (touched.mode_after, touched.blob_after)
    )
    return None if mode == SUBMODULE else blob


def _describe(number: int, touched: Touched, before: Object | None, after: Object | None) -> Change:
    kind = _kind(touched, before, after)
    texts = [side.data for side in (before, after) if side and side.data is not None]
    encoding = shared_encoding(*texts) if kind == "text" else None
    if kind == "text" and encoding is None:
        kind = "binary"
    return Change(
        number=number,
        path=path_text(touched.path),
        previous_path=None if touched.previous is None else path_text(touched.previous),
        status=status_of(touched),
        kind=kind,
        mode_before=touched.mode_before,
        mode_after=touched.mode_after,
        blob_before=touched.blob_before,
        blob_after=touched.blob_after,
        size_before=before.size if before else None,
        size_after=after.size if after else None,
        additions=touched.additions,
        deletions=touched.deletions,
        encoding=encoding,
        line_ends=line_ends(texts[0], encoding) if encoding else None,
        final_newline=ends_its_line(texts[0], encoding) if encoding else None,
    )


def _kind(touched: Touched, before: Object | None, after: Object | None) -> ChangeKind:
    modes = (touched.mode_before, touched.mode_after)
    if SUBMODULE in modes:
        return "submodule"
    sides = [side for mode, side in zip(modes, (before, after), strict=True) if mode is not None]
    objects = [side for side in sides if side is not None and side.kind == "blob"]
    if len(objects) < len(sides):
        return "missing"
    if SYMLINK in modes:
        return "symlink"
    data = [side.data for side in objects if side.data is not None]
    if len(data) < len(objects):
        return "large"
    return "lfs" if any(map(is_pointer, data)) else "text"
