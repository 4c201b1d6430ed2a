"""The files of a workspace in one generation, each as the pieces that a store keeps of it."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from goldpan.core.errors import WorkspaceError
from goldpan.core.remote.store import ObjectStore

# What lies in the folder of a mirror.

STATE = "mirror.json"
FILES = "workspace"
"""The folder of the mirrored files, beside the state."""


# The files of a mirror: which there are, and what tells that one changed.

_LOCAL = ("tmp", "label-studio")
"""Folders that stay on this machine: unfinished work, and a running server's database."""


@dataclass(frozen=True, slots=True)
class Stamp:
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


def move(source: Path, target: Path) -> None:
    """Move a file into place by one rename; a folder is only created there."""
    if source.is_dir():
        target.mkdir(parents=True, exist_ok=True)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    source.replace(target)


KEY = "manifest.json.zst"
PIECE = 16 << 20
"""Bytes of a piece: what was appended to a file since is one or a few of them."""
_DIGEST = re.compile(r"[0-9a-f]{64}")
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file of so many bytes, as the SHA-256 of each piece; of an empty folder 0 and none."""

    size: int
    pieces: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Manifest:
    """All files of a workspace, by path; that of an empty folder ends with a slash."""

    workspace: str = ""
    """A number drawn when the workspace was made: another one is another workspace."""
    generation: int = 0
    files: Mapping[str, StoredFile] = field(default_factory=dict)

    @property
    def pieces(self) -> set[str]:
        """The digests of all pieces."""
        return {piece for file in self.files.values() for piece in file.pieces}


def piece_key(digest: str) -> str:
    """Return the key under which a piece lies."""
    return f"content/{digest[:2]}/{digest}"


def as_json(manifest: Manifest) -> dict[str, Any]:
    """Return a manifest as JSON has it."""
    return {
        "format": _FORMAT,
        "workspace": manifest.workspace,
        "generation": manifest.generation,
        "files": {path: [file.size, list(file.pieces)] for path, file in manifest.files.items()},
    }


def from_json(value: Any) -> Manifest:
    """Return a manifest from its JSON; raises `ValueError` or the like for another's."""
    files = {path: _file(path, *entry) for path, entry in value["files"].items()}
    return Manifest(str(value["workspace"]), int(value["generation"]), files)


def encode(manifest: Manifest) -> bytes:
    """Return a manifest's bytes."""
    import orjson
    import zstandard

    return zstandard.compress(orjson.dumps(as_json(manifest), option=orjson.OPT_SORT_KEYS))


def decode(body: bytes, address: str) -> Manifest:
    """Return a manifest; raises `WorkspaceError` for bytes that are none, or name other places."""
    import orjson
    import zstandard

    try:
        with zstandard.ZstdDecompressor().stream_reader(body) as stream:
            value: Any = orjson.loads(stream.read())
        if value["format"] == _FORMAT:
            return from_json(value)
    except (zstandard.ZstdError, AttributeError, KeyError, TypeError, ValueError):
        raise WorkspaceError(
            f"{KEY} in {address} is damaged or is not Goldpan's",
            "Restore an earlier version of it, or use another address",
        ) from None
    raise WorkspaceError(
        f"{address} was written by a later Goldpan", "Install the newest goldpan-mining"
    )


def _file(path: str, size: int, pieces: list[str]) -> StoredFile:
    """Check an entry: its path becomes one on this machine."""
    parts = path.removesuffix("/").split("/")
    if "\0" in path or any(part in ("", ".", "..") for part in parts):
        raise ValueError(path)
    if not all(_DIGEST.fullmatch(piece) for piece in pieces):
        raise ValueError(path)
    if type(size) is not int or len(pieces) != -(-size // PIECE) or (pieces and path[-1] == "/"):
        raise ValueError(path)
    return StoredFile(size, tuple(pieces))


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
