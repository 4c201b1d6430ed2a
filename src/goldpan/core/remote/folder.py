"""The files of a mirror: which there are, and what tells that one changed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from goldpan.core.errors import WorkspaceError

_LOCAL = ("tmp", "label-studio")
"""Folders that stay on this machine: unfinished work, and a running server's database."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """What tells without reading it whether a file changed; zeros for an empty folder."""

    size: int = 0
    changed: int = 0
    """Nanoseconds."""
    inode: int = 0


def stamp_of(path: Path) -> Stamp:
    """Return the stamp of a file; raises `OSError` where there is none."""
    return _stamp(path.stat(follow_symlinks=False))


def _stamp(status: os.stat_result) -> Stamp:
    return Stamp(status.st_size, status.st_mtime_ns, status.st_ino)


def stamps(root: Path) -> dict[str, Stamp]:
    """Return every file below a folder that belongs in the store, and every empty folder.

    The path of a folder ends with a slash. Links are not followed.
    """
    return dict(_walk(os.fspath(root), "", _LOCAL))


def _walk(folder: str, path: str, but: tuple[str, ...] = ()) -> Iterator[tuple[str, Stamp]]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except FileNotFoundError:  # it is being replaced
        return
    if path and not entries:
        yield path, Stamp()
    for entry in entries:
        if not _is_text(entry.name):
            raise WorkspaceError(
                f"{folder} holds {entry.name!r}, whose name is not UTF-8, which a store needs",
                "Rename or remove it",
            )
        if entry.is_dir(follow_symlinks=False):
            if entry.name not in but:
                yield from _walk(entry.path, f"{path}{entry.name}/")
        elif entry.is_file(follow_symlinks=False) and not _is_passing(entry.name):
            try:
                yield f"{path}{entry.name}", _stamp(entry.stat(follow_symlinks=False))
            except FileNotFoundError:
                continue


def _is_text(name: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in name)


def _is_passing(name: str) -> bool:
    """Tell whether a file is a lock, or a draft that will be renamed."""
    return name == "lock" or name.endswith(".lock") or (name[0] == "." and name.endswith(".new"))


def remove(root: Path, path: str) -> None:
    """Remove a file or an empty folder, and the folders above that this leaves empty."""
    target = root / path
    if not path.endswith("/"):
        target.unlink(missing_ok=True)
        target = target.parent
    while target != root:
        try:
            target.rmdir()
        except OSError:  # it holds something, or is gone
            return
        target = target.parent


def move(source: Path, target: Path) -> None:
    """Move a file into place by one rename; a folder is only created there."""
    if source.is_dir():
        target.mkdir(parents=True, exist_ok=True)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    source.replace(target)
