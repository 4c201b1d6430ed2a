"""Finds the records of a run's file, and the bytes that are none."""

from __future__ import annotations

import hashlib
import os
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from goldpan.core.run_file import (
    CHECKED,
    DIGEST,
    END,
    FRAME_HEAD,
    MAGIC,
    PREAMBLE,
    SEAL,
    ZEROS,
    Flaw,
    Record,
    seal_of,
)

_READ, _SEARCH = 4_096, 1 << 20
_MAGIC = MAGIC.to_bytes(4, "little")
_CUT, _BROKEN = "a record is cut off", "a record's header is broken"


@dataclass(frozen=True, slots=True)
class Scan:
    """What stands in a run's file."""

    path: Path
    records: tuple[Record, ...]
    flaws: tuple[Flaw, ...]
    rest: Flaw | None
    """What stands behind the last record, where it may be a write that a kill cut off."""
    zeros: bool
    """Whether that is nothing but zeros, which a file system may leave after a crash."""

    @property
    def sealed(self) -> bool:
        """Whether the run ended and nothing came after."""
        return bool(self.records) and self.records[-1].meta.get("part") == END


@dataclass(frozen=True, slots=True)
class _Header:
    body: int
    packed: int
    meta: dict[str, Any]
    digest: bytes


def scan(path: Path, sequence: int = 0) -> Scan:
    """Find a file's records and all bytes that are none."""
    total = path.stat().st_size
    if not total:
        return Scan(path, (), (), None, False)
    with path.open("rb") as file:
        return _scan(path, _Bytes(file.fileno(), total), sequence)


def _scan(path: Path, data: _Bytes, sequence: int) -> Scan:
    total = data.total
    run = int(path.stem.removeprefix("run-"))
    records: list[Record] = []
    flaws: list[Flaw] = []
    rest, zeros, offset = None, False, 0
    while offset < total:
        header = _header(data, offset)
        if isinstance(header, str):
            behind = _next(data, offset + 1)
            zeros = behind is None and data.is_zero(offset)
            if behind is None and (zeros or _is_cut(data, offset)):
                rest = Flaw(path, offset, total, header)
                break
            flaws.append(Flaw(path, offset, behind or total, header))
            offset = behind or total
            continue
        records.append(
            Record(
                path,
                header.body,
                header.packed,
                int(header.meta["size"]),
                sequence + len(records),
                run,
                header.meta,
                offset,
                header.digest,
            )
        )
        offset = header.body + header.packed
        seal = header.meta.get(SEAL)
        if (
            seal is not None
            and not flaws
            and seal != seal_of([record.digest for record in records[:-1]])
        ):
            reason = f"the run's end tells of {seal[0]} records, and {len(records) - 1} are there"
            flaws.append(Flaw(path, records[-1].start, offset, reason))
    return Scan(path, tuple(records), tuple(flaws), rest, zeros)


class _Bytes:
    """A file's bytes; not mapped into memory, as another process may shorten the file."""

    def __init__(self, descriptor: int, total: int) -> None:
        self.total = total
        self._descriptor = descriptor
        self._offset = 0
        self._buffer = b""

    def at(self, start: int, stop: int) -> bytes:
        """Return some bytes, fewer where the file ends."""
        offset = start - self._offset
        if offset < 0 or stop - self._offset > len(self._buffer):
            self._offset, offset = start, 0
            self._buffer = os.pread(self._descriptor, max(stop - start, _READ), start)
        return self._buffer[offset : offset + stop - start]

    def find(self, pattern: bytes, start: int) -> int:
        """Return where bytes stand next, -1 where they do not."""
        while start < self.total:
            position = self.at(start, start + _SEARCH).find(pattern)
            if position != -1:
                return start + position
            start += _SEARCH - len(pattern) + 1
        return -1

    def is_zero(self, start: int) -> bool:
        """Whether all bytes from here on are zero."""
        offsets = range(start, self.total, _SEARCH)
        return not any(any(self.at(position, position + _SEARCH)) for position in offsets)


def _header(data: _Bytes, offset: int) -> _Header | str:
    """Return the header at an offset, or why there is none."""
    start = data.at(offset, offset + PREAMBLE.size)
    if not start.startswith(_MAGIC):
        return _CUT if _MAGIC.startswith(start) else "no record begins here"
    if len(start) < PREAMBLE.size:
        return _CUT
    _, length, packed, crc = PREAMBLE.unpack(start)
    body = offset + FRAME_HEAD + length
    if zlib.crc32(start[:CHECKED]) != crc:
        return _BROKEN
    if body + packed > data.total:
        return _CUT
    head, digest = data.at(offset, body - DIGEST), data.at(body - DIGEST, body)
    sound = hashlib.sha256(head).digest()[:DIGEST] == digest
    meta = _meta(head[PREAMBLE.size :]) if sound else None
    if meta is None:
        return _BROKEN
    if body + meta["packed"] > data.total:
        return _CUT
    return _Header(body, meta["packed"], meta, digest)


def _meta(text: bytes) -> dict[str, Any] | None:
    try:
        meta = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    sizes = [meta.get(name) for name in ("packed", "size")] if isinstance(meta, dict) else [None]
    return meta if all(isinstance(size, int) and size >= 0 for size in sizes) else None


def _next(data: _Bytes, offset: int) -> int | None:
    """Return where the next sound record begins."""
    position = data.find(_MAGIC, offset)
    while position != -1:
        if isinstance(_header(data, position), _Header):
            return position
        position = data.find(_MAGIC, position + 1)
    return None


def _is_cut(data: _Bytes, offset: int) -> bool:
    """Whether the rest of a file is the beginning of a record, as a kill or a crash leaves it."""
    start = data.at(offset, offset + PREAMBLE.size)
    if not _MAGIC.startswith(start[:4]):
        return False
    if len(start) < PREAMBLE.size or not any(data.at(data.total - ZEROS, data.total)):
        return True
    return _header(data, offset) == _CUT
