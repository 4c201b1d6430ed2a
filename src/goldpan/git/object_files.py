"""Objects of a clone are verified by git's own checksums before anything is read out of them.

Git looks at an object's checksum as it unpacks it, and what it cannot unpack looks as if it were
missing: tables would differ, and nothing would say why.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from goldpan.core.errors import GitError

_PACKED = (".pack", ".idx", ".rev")
_LOOSE = "[0-9a-f][0-9a-f]/*"
_SHA1 = 20
_BLOCK = 1 << 20
_SMALL = 1 << 16  # unpacked, a thousand times as much


def object_files(clone: Path) -> Iterator[Path]:
    """Yield the files of a clone that hold objects: packs and their indexes, and single objects."""
    for path in sorted((clone / "objects" / "pack").glob("*")):
        if path.suffix in _PACKED:
            yield path
    yield from sorted((clone / "objects").glob(_LOOSE))


def is_damaged(path: Path) -> bool:
    """Whether a file has another checksum than it ends in, or an object than it is named after."""
    status = path.stat()
    return _is_damaged(path, status.st_size, status.st_mtime_ns, status.st_ino)


def verify_objects(clone: Path) -> None:
    """Raise `GitError` where a file of objects is not as git wrote it; each is read once."""
    for path in object_files(clone):
        if is_damaged(path):
            name = f"{clone.parent.name}/{clone.name.removesuffix('.git')}"
            raise GitError(
                f"{path} is damaged: git's checksum is another",
                f"Delete {clone} and run goldpan clone --repo {name}",
            )


@lru_cache(maxsize=4_096)
def _is_damaged(path: Path, size: int, _changed: int, _inode: int) -> bool:
    whole = hashlib.sha1(usedforsecurity=False)
    left = size - _SHA1
    with path.open("rb") as file:
        if path.suffix not in _PACKED:
            unpacker = zlib.decompressobj()
            try:
                while block := file.read(_SMALL):
                    whole.update(unpacker.decompress(block))
            except zlib.error:
                return True
            named = whole.hexdigest() == path.parent.name + path.name
            return not (named and unpacker.eof and not unpacker.unused_data)
        while left > 0 and (block := file.read(min(left, _BLOCK))):
            whole.update(block)
            left -= len(block)
        return left != 0 or file.read() != whole.digest()
