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
import re
import struct
import threading
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
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
_LEVEL = 1  # level 3 saves 4% of the room and takes a third more time
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
        body = self.unpacked(file)
        if body is None:
            raise damaged(Flaw(self.path, self.offset, "a reply cannot be unpacked"))
        return body

    def unpacked(self, file: BinaryIO) -> bytes | None:
        """Return the body out of its open file; None where it is not what was written."""
        file.seek(self.offset)
        frame = file.read(self.packed)
        try:
            if self.size:
                body = _UNPACKER.of_thread.decompress(frame, max_output_size=self.size + 1)
            else:  # which the call above takes for granted
                unpacker = _UNPACKER.of_thread.decompressobj()
                body = unpacker.decompress(frame)
                if not unpacker.eof:
                    return None
        except zstandard.ZstdError:
            return None
        return body if len(body) == self.size else None

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
    """Where a file stops being what was written."""

    path: Path
    start: int
    reason: str


def encode(meta: Mapping[str, Any], body: bytes) -> tuple[bytes, bytes]:
    """Return a record's header and body."""
    frame = _PACKER.compress(body)
    facts = {
        **meta,
        "size": len(body),
        "packed": len(frame),
        "sha256": hashlib.sha256(body).hexdigest(),
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


def first_broken(records: Sequence[Record]) -> Flaw | None:
    """Return the first of a file's records whose body is not the one that was archived."""
    for record in records:
        with record.path.open("rb") as file:
            body = record.unpacked(file)
        if body is None or hashlib.sha256(body).hexdigest() != record.meta["sha256"]:
            what = f"a reply ({record.meta.get('part')}) cannot be unpacked"
            return Flaw(record.path, record.start, what)
    return None


def damaged(flaw: Flaw) -> WorkspaceError:
    """Return the error that names a flaw and offers what can be done."""
    return WorkspaceError(
        f"{flaw.path} is damaged at byte {flaw.start}: {flaw.reason}",
        "Restore the file from a copy, or run goldpan check --repair, which keeps what is before",
    )


_MAGIC = MAGIC.to_bytes(4, "little")
_HEADS = re.compile(re.escape(_MAGIC))
_CUT, _BROKEN = "a record is cut off", "a record's header is broken"


@dataclass(frozen=True, slots=True)
class Scan:
    """Contents of a run's file: its records up to its end, or to the first flaw."""

    path: Path
    records: tuple[Record, ...]
    flaw: Flaw | None = None
    is_cut: bool = False
    """True where the flaw may be a write that a kill or a crash cut off."""


def scan(path: Path, sequence: int = 0) -> Scan:
    """Find a file's records; the first bears the given number in the sequence of all runs."""
    records: list[Record] = []
    start = 0
    with path.open("rb") as file:
        total = os.fstat(file.fileno()).st_size
        while start < total:
            record = _record(path, file, start, total)
            if isinstance(record, str):
                sealed = bool(records) and records[-1].meta.get("part") == END
                is_cut = _is_cut(path, file, start, total, record, sealed=sealed)
                return Scan(path, tuple(records), Flaw(path, start, record), is_cut)
            seal = record.meta.get(SEAL)
            if seal is not None and seal != seal_of([each.digest for each in records]):
                reason = f"the run's end tells of {seal[0]} records, and {len(records)} are there"
                return Scan(path, tuple(records), Flaw(path, start, reason))
            records.append(replace(record, sequence=sequence + len(records)))
            start = record.end
    return Scan(path, tuple(records))


def _record(path: Path, file: BinaryIO, start: int, total: int) -> Record | str:
    """Return the record whose header begins at an offset, or why there is none."""
    file.seek(start)
    preamble = file.read(PREAMBLE.size)
    if not preamble.startswith(_MAGIC):
        return _CUT if _MAGIC.startswith(preamble) else "no record begins here"
    if len(preamble) < PREAMBLE.size:
        return _CUT
    _, length, packed, crc = PREAMBLE.unpack(preamble)
    body = start + FRAME_HEAD + length
    if zlib.crc32(preamble[:CHECKED]) != crc:
        return _BROKEN
    if body + packed > total:
        return _CUT
    text = file.read(max(0, body - DIGEST - file.tell()))
    digest = file.read(DIGEST)
    meta = orjson.loads(text) if _is_header(preamble + text, digest) else None
    size = meta.get("size") if isinstance(meta, dict) else None
    if meta is None or not isinstance(size, int) or size < 0:
        return _BROKEN
    run = int(path.stem.removeprefix("run-"))
    return Record(path, body, packed, size, 0, run, meta, start, digest)


def _is_header(head: bytes, digest: bytes) -> bool:
    return hashlib.sha256(head).digest()[:DIGEST] == digest


def _is_cut(
    path: Path, file: BinaryIO, start: int, total: int, reason: str, *, sealed: bool
) -> bool:
    """Tell whether the rest of a file is the start of a record, as a kill or a crash leaves it."""
    file.seek(start)
    rest = file.read()
    places = (start + 1 + match.start() for match in _HEADS.finditer(rest[1:]))
    if any(isinstance(_record(path, file, place, total), Record) for place in places):
        return False
    if not any(rest):  # a file system may leave zeros
        return not sealed
    begins_well = _MAGIC.startswith(rest[:4].rstrip(b"\0"))
    return reason == _CUT or (begins_well and not any(rest[-ZEROS:]))
