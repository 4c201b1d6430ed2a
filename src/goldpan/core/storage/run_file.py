"""The file of one run: how its records are written, found again and told from damage.

A record is a skippable Zstandard frame, its header, and a frame that holds its body. The header
begins with a preamble of 20 bytes (magic, length, size of the body's frame, CRC-32 of these),
goes on with the record's meta as JSON and ends with the first 16 bytes of the SHA-256 of all
before.

A run's `end` seals it: its meta holds how many records stand before it and a digest over their
headers, which hold the digests of the bodies. The first record of a run holds the same of the
runs before it.
"""

from __future__ import annotations

import hashlib
import os
import struct
import threading
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import orjson
import zstandard

from goldpan.core.errors import WorkspaceError

END = "end"
"""The part of the record that seals a run."""
REPAIRED = "repaired"
"""The part of the record of a repair, with the names of its `files`."""
SEAL, EARLIER = "seal", "earlier"
"""Keys of a record's meta: the seal of its own run, and the seals of earlier runs by file."""

MAGIC = 0x184D2A5E
PREAMBLE = struct.Struct("<IIQI")
CHECKED = PREAMBLE.size - 4
FRAME_HEAD = 8
"""The bytes of magic and length, which every skippable frame begins with."""
DIGEST = 16
"""The bytes that end a header."""
_LEVEL = 1  # level 3 saves 4 % of the room and takes a third more time
ZEROS = 4  # a frame ends in a checksum, so a written one does not end in so many
_PACKER = zstandard.ZstdCompressor(
    compression_params=zstandard.ZstdCompressionParameters.from_level(
        _LEVEL,
        min_match=7,  # a tenth of the time less, for no room: JSON repeats long texts
        write_checksum=True,
        write_content_size=True,
    )
)


class _Unpacker(threading.local):
    """Unpacks frames; making one anew takes as long as unpacking a reply."""

    def __init__(self) -> None:
        self.of_thread = zstandard.ZstdDecompressor()


_UNPACKER = _Unpacker()

Seal = list[Any]
"""How many records, and the digest over their headers."""


@dataclass(frozen=True, slots=True)
class Record:
    """Where one archived reply lies, and what is known of it without unpacking."""

    path: Path
    offset: int  # of the body's frame
    packed: int
    size: int
    sequence: int  # over all runs of the repository, from 0
    run: int
    meta: dict[str, Any] = field(repr=False)
    start: int = field(default=0, repr=False)  # of the header
    digest: bytes = field(default=b"", repr=False)  # of the header

    def read(self) -> bytes:
        """Return the body; raises `WorkspaceError` if the file was damaged since."""
        with self.path.open("rb") as file:
            return self.read_from(file)

    def read_from(self, file: BinaryIO) -> bytes:
        """Return the body out of its open file; raises as `read` does."""
        file.seek(self.offset)
        frame = file.read(self.packed)
        try:
            if self.size:
                body = _UNPACKER.of_thread.decompress(frame, max_output_size=self.size + 1)
            else:  # which the call above takes for granted
                body = _UNPACKER.of_thread.decompressobj().decompress(frame)
        except zstandard.ZstdError:
            body = None
        if body is None or len(body) != self.size:
            raise damaged(Flaw(self.path, self.offset, self.end, "a reply cannot be unpacked"))
        return body

    @property
    def end(self) -> int:
        """The byte behind the record."""
        return self.offset + self.packed

    @property
    def name(self) -> str:
        """Name of this record in messages: ``run-0001.zst@4096``."""
        return f"{self.path.name}@{self.offset}"


@dataclass(frozen=True, slots=True)
class Flaw:
    """Bytes of a file that are not what was written."""

    path: Path
    start: int
    end: int
    reason: str


def encode(meta: Mapping[str, Any], body: bytes, digest: str | None = None) -> tuple[bytes, bytes]:
    """Return a record's header and body; `digest` is the body's SHA-256, where that is known."""
    frame = _PACKER.compress(body)
    facts = {
        **meta,
        "size": len(body),
        "packed": len(frame),
        "sha256": digest or hashlib.sha256(body).hexdigest(),
    }
    text = orjson.dumps(facts)
    inside = PREAMBLE.size - FRAME_HEAD + len(text) + DIGEST
    start = PREAMBLE.pack(MAGIC, inside, len(frame), 0)[:CHECKED]
    head = start + struct.pack("<I", zlib.crc32(start)) + text
    return head + hashlib.sha256(head).digest()[:DIGEST], frame


def seal_of(digests: Sequence[bytes]) -> Seal:
    """Return the seal over records by the digests of their headers."""
    return [len(digests), hashlib.sha256(b"".join(digests)).hexdigest()]


def is_torn(record: Record) -> bool:
    """Tell whether a record's body was not written to its end: zeros stand in its place."""
    with record.path.open("rb") as file:
        file.seek(max(record.offset, record.end - ZEROS))
        return not any(file.read(min(ZEROS, record.packed)))


def broken_bodies(records: Sequence[Record]) -> Iterator[Flaw]:
    """Yield those of a file's records whose bodies are not those that were archived."""
    if not records:
        return
    with records[0].path.open("rb") as file:
        for record in records:
            try:
                body = record.read_from(file)
                sound = hashlib.sha256(body).hexdigest() == record.meta["sha256"]
            except WorkspaceError:
                sound = False
            if not sound:
                what = f"a reply ({record.meta.get('part')}) cannot be unpacked"
                yield Flaw(record.path, record.start, record.end, what)


def damaged(flaw: Flaw, others: int = 0) -> WorkspaceError:
    """Return the error that names a flaw and offers what can be done."""
    also = f", and at {others:,} other places" if others else ""
    return WorkspaceError(
        f"{flaw.path} is damaged at byte {flaw.start}: {flaw.reason}{also}",
        "Restore the file from a copy, or run goldpan check --repair, which keeps all that is "
        "sound",
    )


_READ, _SEARCH = 4_096, 1 << 20
_MAGIC = MAGIC.to_bytes(4, "little")
_CUT, _BROKEN = "a record is cut off", "a record's header is broken"


@dataclass(frozen=True, slots=True)
class Scan:
    """Contents of a run's file: its records, and the bytes outside of them."""

    path: Path
    records: tuple[Record, ...]
    flaws: tuple[Flaw, ...]
    rest: Flaw | None
    """Bytes behind the last record that may be a write that a kill cut off."""
    zeros: bool
    """True where `rest` is nothing but zeros, which a file system may leave after a crash."""

    @property
    def sealed(self) -> bool:
        """True where the run ended and nothing came after."""
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
        """Tell whether all bytes from an offset on are zero."""
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
    """Tell whether the rest of a file is the start of a record, as a kill or a crash leaves it."""
    start = data.at(offset, offset + PREAMBLE.size)
    if not _MAGIC.startswith(start[:4].rstrip(b"\0")):
        return False
    if len(start) < PREAMBLE.size or not any(data.at(data.total - ZEROS, data.total)):
        return True
    return _header(data, offset) == _CUT
