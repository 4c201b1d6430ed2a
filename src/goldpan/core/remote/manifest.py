"""What a workspace holds in one generation: every file, as the pieces of which it is made."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from goldpan.core.errors import WorkspaceError

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
    import zstandard

    return zstandard.compress(orjson.dumps(as_json(manifest), option=orjson.OPT_SORT_KEYS))


def decode(body: bytes, address: str) -> Manifest:
    """Return a manifest; raises `WorkspaceError` for bytes that are none, or name other places."""
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
