"""Brings the pieces of files from a store, and stores those that it does not have."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Set
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from goldpan.core.errors import WorkspaceError
from goldpan.core.remote.manifest import PIECE, Stamp, StoredFile, piece_key, stamp_of
from goldpan.core.remote.store import ObjectStore

_THREADS = 8
_Item = TypeVar("_Item")


class MissingPieceError(Exception):
    """A piece is not in the store."""


def download(store: ObjectStore, files: Mapping[str, StoredFile], drafts: Path) -> None:
    """Write files, and the empty folders among them, below a folder.

    Raises `MissingPieceError`, and `WorkspaceError` for a piece that is not what it should be.
    """
    for path, file in files.items():
        draft = drafts / path
        (draft if path.endswith("/") else draft.parent).mkdir(parents=True, exist_ok=True)
        if not file.pieces and not path.endswith("/"):
            draft.touch()

    def fetch(piece: tuple[str, int, str]) -> None:
        path, index, digest = piece
        stored = store.read(piece_key(digest))
        if stored is None:
            raise MissingPieceError(f"The piece {digest} of {path}")
        size = min(PIECE, files[path].size - index * PIECE)
        if len(stored.body) != size or _digest(stored.body) != digest:
            raise WorkspaceError(
                f"The piece {digest} of {path} in {store.address} is damaged",
                "Restore it in the store, or delete it and push the file again from a machine "
                "that has it",
            )
        descriptor = os.open(drafts / path, os.O_WRONLY | os.O_CREAT, 0o644)
        try:
            os.pwrite(descriptor, stored.body, index * PIECE)
        finally:
            os.close(descriptor)

    pieces = [
        (path, index, digest)
        for path, file in files.items()
        for index, digest in enumerate(file.pieces)
    ]
    _at_once(fetch, pieces)


def upload(
    store: ObjectStore, root: Path, files: Mapping[str, Stamp], stored: Set[str]
) -> dict[str, StoredFile]:
    """Store what is not `stored` of files and return their pieces.

    Of a file that grows meanwhile it is what the stamp says; one that is replaced is left out.
    """
    pieces: dict[str, dict[int, str]] = {path: {} for path in files}

    def send(piece: tuple[str, int]) -> None:
        path, index = piece
        body = _piece_at(root / path, index, files[path].size)
        digest = _digest(body)
        if digest not in stored:
            store.write(piece_key(digest), body)
        pieces[path][index] = digest

    _at_once(send, [(path, index) for path in files for index in _indexes(files[path].size)])
    return {
        path: StoredFile(files[path].size, tuple(pieces[path][at] for at in sorted(pieces[path])))
        for path in files
        if path.endswith("/") or _is_as_it_was(root / path, files[path])
    }


def read_stored(path: Path, size: int) -> StoredFile:
    """Return the pieces of a file; nothing is stored."""
    digests = (_digest(_piece_at(path, index, size)) for index in _indexes(size))
    return StoredFile(size, tuple(digests))


def _indexes(size: int) -> range:
    return range(-(-size // PIECE))


def _piece_at(path: Path, index: int, size: int) -> bytes:
    """Return a piece of a file that had so many bytes; less where it was replaced."""
    try:
        with path.open("rb") as file:
            file.seek(index * PIECE)
            return file.read(min(PIECE, size - index * PIECE))
    except FileNotFoundError:
        return b""


def _is_as_it_was(path: Path, before: Stamp) -> bool:
    try:
        now = stamp_of(path)
    except FileNotFoundError:
        return False
    return now.inode == before.inode and now.size >= before.size


def _digest(piece: bytes) -> str:
    return hashlib.sha256(piece).hexdigest()


def _at_once(do: Callable[[_Item], None], items: Iterable[_Item]) -> None:
    """Do something with each item in a few threads; the first failure ends it."""
    pool = ThreadPoolExecutor(_THREADS)
    try:
        for _ in pool.map(do, items):
            pass
    finally:
        pool.shutdown(cancel_futures=True)
