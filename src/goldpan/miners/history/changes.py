"""Changes to the files of pull requests: rows of `changes`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from goldpan.git.objects import (
    Object,
    Objects,
    ends_its_line,
    is_pointer,
    line_ends,
    shared_encoding,
)
from goldpan.git.trees import SUBMODULE, SYMLINK, Touched, path_text

ChangeKind = Literal["text", "binary", "submodule", "symlink", "lfs", "large", "missing"]

_STATUS = {"A": "added", "C": "copied", "D": "removed", "R": "renamed", "T": "changed"}


def describe(touched: Iterable[tuple[int, Touched]], objects: Objects) -> Iterator[dict[str, Any]]:
    """Yield rows of `changes`: one for each changed file of the numbered pull requests."""
    numbered = list(touched)
    contents = objects.read(blob or "" for _, file in numbered for blob in file.blobs)
    for number, file in numbered:
        before, after = next(contents), next(contents)
        yield _describe(number, file, before, after)


def status_of(touched: Touched) -> str:
    """Return the word that GitHub has for a change; `changed` is one of the mode alone."""
    if touched.letter == "M":
        return "changed" if touched.blob_before == touched.blob_after else "modified"
    return _STATUS[touched.letter]


def _describe(
    number: int, touched: Touched, before: Object | None, after: Object | None
) -> dict[str, Any]:
    kind = _kind(touched, before, after)
    texts = [side.data for side in (before, after) if side and side.data is not None]
    encoding = shared_encoding(*texts) if kind == "text" else None
    if kind == "text" and encoding is None:
        kind = "binary"
    return {
        "number": number,
        "path": path_text(touched.path),
        "previous_path": None if touched.previous is None else path_text(touched.previous),
        "status": status_of(touched),
        "kind": kind,
        "mode_before": touched.mode_before,
        "mode_after": touched.mode_after,
        "blob_before": touched.blob_before,
        "blob_after": touched.blob_after,
        "size_before": before.size if before else None,
        "size_after": after.size if after else None,
        "additions": touched.additions,
        "deletions": touched.deletions,
        "encoding": encoding,
        "line_ends": line_ends(texts[0], encoding) if encoding else None,
        "final_newline": ends_its_line(texts[0], encoding) if encoding else None,
    }


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
