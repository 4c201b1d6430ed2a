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
SEAL, EARLIER = "seal", "earlier"
"""What metas call the seal of their own run, and those of the runs before, by file."""

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
        """What people call this record: ``run-0001.zst@4096``."""
        return f"{self.path.name}@{self.offset}"


@dataclass(frozen=True, slots=True)
class Flaw:
    """Bytes of a file that are not what was written."""

    path: Path
    start: int
    end: int
    reason: str


def encode(
    meta: Mapping[str, Any], body: bytes, length: int = 0, digest: str | None = None
) -> tuple[bytes, bytes]:
    """Return a record's header and body as written; blanks fill it up to `length` bytes.

    `digest` is the body's SHA-256, where that is known.
    """
    frame = _PACKER.compress(body)
    facts = {
        **meta,
        "size": len(body),
        "packed": len(frame),
        "sha256": digest or hashlib.sha256(body).hexdigest(),
    }
    text = orjson.dumps(facts)
    text = text.ljust(length - PREAMBLE.size - DIGEST - len(frame))
    inside = PREAMBLE.size - FRAME_HEAD + len(text) + DIGEST
    start = PREAMBLE.pack(MAGIC, inside, len(frame), 0)[:CHECKED]
    head = start + struct.pack("<I", zlib.crc32(start)) + text
    return head + hashlib.sha256(head).digest()[:DIGEST], frame


def seal_of(digests: Sequence[bytes]) -> Seal:
    """Return the seal over records by the digests of their headers."""
    return [len(digests), hashlib.sha256(b"".join(digests)).hexdigest()]


def is_torn(record: Record) -> bool:
    """Whether a record's body was not written to its end: zeros stand where that belongs."""
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
