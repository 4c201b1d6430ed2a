"""The files of a workspace in one generation, each as the pieces that a store keeps of it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec
import zstandard

from goldpan.core.errors import WorkspaceError
from goldpan.core.remote.store import ObjectStore

_LOCAL = ("tmp", "label-studio")
"""Folders that stay on this machine: unfinished work, and a running server's database."""


class Stamp(msgspec.Struct, frozen=True, array_like=True):
    """Size, time and inode of a file, which reveal that it changed; zeros for an empty folder."""

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


KEY = "manifest.json.zst"
PIECE = 16 << 20
"""Bytes of a piece: what was appended to a file since is one or a few of them."""
_FORMAT = 1
_Digest = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]


class StoredFile(msgspec.Struct, frozen=True, array_like=True):
    """A file of so many bytes, as the SHA-256 of each piece; of an empty folder 0 and none."""

    size: int
    pieces: tuple[_Digest, ...]


class _Versioned(msgspec.Struct, frozen=True, kw_only=True):
    format: int = _FORMAT


class Manifest(_Versioned, frozen=True, kw_only=True):
    """All files of a workspace, by path; that of an empty folder ends with a slash.

    Raises `ValueError` for a path that leads elsewhere, and for pieces that make no such file.
    """

    workspace: str = ""
    """A number drawn when the workspace was made: another one is another workspace."""
    generation: int = 0
    files: dict[str, StoredFile] = {}

    def __post_init__(self) -> None:
        for path, file in self.files.items():
            parts = path.removesuffix("/").split("/")
            if "\0" in path or any(part in ("", ".", "..") for part in parts):
                raise ValueError(path)
            if len(file.pieces) != -(-file.size // PIECE) or (file.pieces and path[-1] == "/"):
                raise ValueError(path)

    @property
    def pieces(self) -> set[str]:
        """The digests of all pieces."""
        return {piece for file in self.files.values() for piece in file.pieces}


def piece_key(digest: str) -> str:
    """Return the key under which a piece lies."""
    return f"content/{digest[:2]}/{digest}"


def encode(manifest: Manifest) -> bytes:
    """Return a manifest's bytes."""
    return zstandard.compress(msgspec.json.encode(manifest, order="sorted"))


def decode(body: bytes, address: str) -> Manifest:
    """Return a manifest; raises `WorkspaceError` for bytes that are none, or name other places."""
    try:
        with zstandard.ZstdDecompressor().stream_reader(body) as stream:
            content = stream.read()
        if msgspec.json.decode(content, type=_Versioned).format == _FORMAT:
            return msgspec.json.decode(content, type=Manifest)
    except (zstandard.ZstdError, msgspec.DecodeError):
        raise WorkspaceError(
            f"{KEY} in {address} is damaged or is not Goldpan's",
            "Restore an earlier version of it, or use another address",
        ) from None
    raise WorkspaceError(
        f"{address} was written by a later Goldpan", "Install the newest goldpan-mining"
    )


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
