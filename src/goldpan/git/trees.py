"""Folders as git stores them, and lists of all files below them.

A path is told as it is where it is UTF-8 and does not begin with a quotation mark. Any other is
told as git quotes it: between quotation marks, with a backslash and three octal digits for each
byte that is no printable ASCII. So no two paths are told alike, and each can be had back.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from goldpan.core.errors import GitError

_QUOTE = '"'
_ESCAPES = {
    ord(mark): f"\\{letter}" for mark, letter in zip('\a\b\t\n\v\f\r"\\', 'abtnvfr"\\', strict=True)
}
_BYTES = {text[1]: bytes([value]) for value, text in _ESCAPES.items()}
_ESCAPED = re.compile(rb"\\([abtnvfr\"\\]|[0-3][0-7]{2})")


def path_text(path: bytes) -> str:
    """Return a path as tables tell it."""
    try:
        text = path.decode()
    except UnicodeDecodeError:
        return quoted(path)
    return quoted(path) if text.startswith(_QUOTE) else text


def path_bytes(text: str) -> bytes:
    """Return the path that a table tells: the inverse of `path_text`."""
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
    return _ESCAPED.sub(lambda match: _unescaped(match[1].decode()), text[1:-1])


def is_unsafe(path: bytes) -> bool:
    """Tell a path that no checkout may hold: it climbs, is absolute or goes into `.git`."""
    return any(
        part in (b"", b".", b"..") or part.lower() == b".git" or b"\0" in part
        for part in path.split(b"/")
    )


def _unescaped(code: str) -> bytes:
    return _BYTES.get(code) or bytes([int(code, 8)])


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
