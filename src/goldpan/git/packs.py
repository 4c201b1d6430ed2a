"""Packs of a clone are verified by git's own checksums before objects are read out of them.

Git looks at an object's checksum as it unpacks it, and what it cannot unpack looks as if it were
missing: tables would differ, and nothing would say why.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from goldpan.core.errors import GitError

_PACKED = (".pack", ".idx", ".rev")
_SHA1 = 20
_BLOCK = 1 << 20


def pack_files(clone: Path) -> Iterator[Path]:
    """Yield the files of a clone that end in their own checksum."""
    for path in sorted((clone / "objects" / "pack").glob("*")):
        if path.suffix in _PACKED:
            yield path


def is_damaged(path: Path) -> bool:
    """Whether a pack or its index has another checksum than it ends in."""
    status = path.stat()
    return _is_damaged(path, status.st_size, status.st_mtime_ns, status.st_ino)


def verify_packs(clone: Path) -> None:
    """Raise `GitError` where a pack or its index is not as git wrote it; each is read once."""
    for path in pack_files(clone):
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
        while left > 0 and (block := file.read(min(left, _BLOCK))):
            whole.update(block)
            left -= len(block)
        return left != 0 or file.read() != whole.digest()
