"""Folders as git stores them, and lists of all files below them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from goldpan.core.errors import GitError
from goldpan.git.paths import is_unsafe, path_text

FileKind = Literal["file", "symlink", "submodule"]

FOLDER, SYMLINK, SUBMODULE = "040000", "120000", "160000"
_KINDS: dict[str, FileKind] = {SYMLINK: "symlink", SUBMODULE: "submodule"}
MOST_FILES = 1_000_000
"""A commit with more files is no real one: it is made to exhaust whoever unfolds it."""

_DEEPEST = 200
_ENTRY = re.compile(rb"([^ ]{1,6}) ([^\0]*+)\0(.{20})", re.DOTALL)
_BESIDE = 22
"""Bytes of an entry beside its mode and name: a space, a NUL and a digest."""
_MOST_CACHED = 4_000_000


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """A name in a folder; `mode` is git's six octal digits, `id` a blob, a tree or a commit."""

    name: bytes
    mode: str
    id: str


@dataclass(frozen=True, slots=True)
class TreeFile:
    """A file of a commit; its path as `paths.path_text` tells it."""

    path: str
    mode: str
    kind: FileKind
    id: str


def parse_tree(data: bytes) -> tuple[TreeEntry, ...]:
    """Parse a tree object; raises `ValueError` where it is cut off or no tree."""
    parts = _ENTRY.findall(data)
    if sum(len(mode) + len(name) + _BESIDE for mode, name, _ in parts) != len(data):
        raise ValueError("the tree is cut off")
    return tuple(
        TreeEntry(name, mode.decode("ascii").rjust(6, "0"), digest.hex())
        for mode, name, digest in parts
    )


class Listings:
    """Lists the files below trees; what two commits share is listed once.

    `read` gives a tree's entries, or None where it is not there.
    """

    def __init__(self, read: Callable[[str], tuple[TreeEntry, ...] | None]) -> None:
        self._read = read
        self._sizes: dict[str, int] = {}
        self._listings: dict[tuple[bytes, str], tuple[TreeFile, ...]] = {}
        self._cached = 0

    def is_endless(self, tree: str) -> bool:
        """Tell a tree that unfolds to more files than any real one, without unfolding it.

        A few folders that hold each other many times over make billions of paths.
        """
        if len(self._sizes) > _MOST_CACHED:
            self._sizes.clear()
        waiting = [tree]
        while waiting:
            current = waiting[-1]
            entries = () if current in self._sizes else self._read(current) or ()
            folders = [entry.id for entry in entries if entry.mode == FOLDER]
            unknown = [id for id in folders if id not in self._sizes]
            if unknown:
                waiting.extend(unknown)
                continue
            waiting.pop()
            size = len(entries) - len(folders) + sum(self._sizes[id] for id in folders)
            self._sizes.setdefault(current, min(size, MOST_FILES + 1))
        return self._sizes[tree] > MOST_FILES

    def files(self, tree: str) -> list[TreeFile]:
        """Return all files below a tree in git's order, without those no checkout can hold.

        Raises `GitError` where a tree is missing or endless.
        """
        if self.is_endless(tree):
            raise GitError(
                f"Tree {tree} lists more than {MOST_FILES:,} files", "Leave the repository out"
            )
        if self._cached > _MOST_CACHED:
            self._listings.clear()
            self._cached = 0
        tree_files: list[TreeFile] = []
        self._list(b"", tree, tree_files, 0)
        return tree_files

    def _list(self, prefix: bytes, tree: str, files: list[TreeFile], depth: int) -> None:
        listing = self._listings.get((prefix, tree))
        if listing is not None:
            files.extend(listing)
            return
        first = len(files)
        entries = self._read(tree)
        if entries is None:
            raise GitError(f"Tree {tree} is not in the clone", "Clone the repository again")
        for entry in entries:
            if is_unsafe(entry.name):
                continue
            if entry.mode != FOLDER:
                path = path_text(prefix + entry.name)
                kind = _KINDS.get(entry.mode, "file")
                files.append(TreeFile(path, entry.mode, kind, entry.id))
            elif depth < _DEEPEST:
                self._list(prefix + entry.name + b"/", entry.id, files, depth + 1)
        self._listings[prefix, tree] = tuple(files[first:])
        self._cached += len(files) - first + 1
