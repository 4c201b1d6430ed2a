"""Raw replies, kept as they came before anything reads them.

A repository's archive is one append-only file a run, ``run-0001.zst``. A record is two
Zstandard frames: a skippable one that holds the record's `Meta` as JSON, then the body. So
`zstd -dc` prints the bodies, an index is read without unpacking anything, and a record that
was cut off by a kill or a full disk is told apart and dropped when the file is next opened.
No record holds a credential: request headers are never kept.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import orjson
import zstandard

from goldpan.errors import WorkspaceError
from goldpan.workspace import make_directory

_SKIPPABLE = struct.Struct("<II")
_MAGIC = 0x184D2A5D
_LEVEL = 3


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

    def read(self) -> bytes:
        """Return the body; raises `WorkspaceError` if the file was damaged since."""
        with self.path.open("rb") as file:
            file.seek(self.offset)
            return _unpack(self, file.read(self.packed))

    @property
    def name(self) -> str:
        """What people call this record: ``run-0001.zst@4096``."""
        return f"{self.path.name}@{self.offset}"


class Archive:
    """The raw replies of one repository; open it for writing only under the workspace's lock."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.records: list[Record] = []
        self._file: int | None = None
        self._path: Path | None = None
        self._end = 0
        self._run = 0
        self._packer = zstandard.ZstdCompressor(
            level=_LEVEL, write_checksum=True, write_content_size=True
        )
        for path in _run_files(directory):
            self.records.extend(_scan(path, len(self.records)))

    @property
    def runs(self) -> int:
        """The number of the newest run, 0 before the first."""
        paths = _run_files(self.directory)
        return int(paths[-1].stem.removeprefix("run-")) if paths else 0

    def begin(self, *, resume: bool) -> int:
        """Open the newest run (or a new one) for writing and return its number."""
        number = self.runs if resume else self.runs + 1
        make_directory(self.directory)
        self._run = number
        self._path = self.directory / f"run-{number:04}.zst"
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        mine = [record for record in self.records if record.path == self._path]
        while mine and not _sound(mine[-1]):
            self.records.remove(mine.pop())
        self._end = mine[-1].offset + mine[-1].packed if mine else 0
        os.ftruncate(self._file, self._end)
        return number

    def append(self, meta: dict[str, Any], body: bytes = b"", *, sync: bool = True) -> Record:
        """Write one record and return it, with `sync` once it is safe on disk."""
        if self._file is None or self._path is None:
            raise RuntimeError("the archive is not open for writing")
        frame = self._packer.compress(body)
        meta = {
            **meta,
            "size": len(body),
            "packed": len(frame),
            "sha256": hashlib.sha256(body).hexdigest(),
        }
        head = orjson.dumps(meta)
        data = _SKIPPABLE.pack(_MAGIC, len(head)) + head + frame
        try:
            _write(self._file, data, self._end, sync=sync)
        except OSError as error:
            os.ftruncate(self._file, self._end)
            raise WorkspaceError(
                f"{self._path} cannot be written: {error.strerror}",
                "Make room and run the same command again: it goes on where it was",
            ) from None
        record = Record(
            self._path,
            self._end + _SKIPPABLE.size + len(head),
            len(frame),
            len(body),
            len(self.records),
            self._run,
            meta,
        )
        self._end += len(data)
        self.records.append(record)
        return record

    def close(self) -> None:
        """Close the run's file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _run_files(directory: Path) -> list[Path]:
    return sorted(
        path for path in directory.glob("run-*.zst") if path.stem.removeprefix("run-").isdecimal()
    )


def _write(file: int, data: bytes, offset: int, *, sync: bool) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(file, view, offset)
        view, offset = view[written:], offset + written
    if sync:
        os.fsync(file)


def _scan(path: Path, sequence: int) -> Iterator[Record]:
    """Yield a file's records up to the first one that is cut off."""
    run = int(path.stem.removeprefix("run-"))
    total = path.stat().st_size
    with path.open("rb") as file:
        offset = 0
        while offset + _SKIPPABLE.size <= total:
            file.seek(offset)
            magic, length = _SKIPPABLE.unpack(file.read(_SKIPPABLE.size))
            if magic == 0:  # a file system may leave zeros where a write was cut off
                return
            if magic != _MAGIC:
                raise _damaged(path, offset)
            start = offset + _SKIPPABLE.size + length
            head = file.read(length)
            if start > total:
                return
            try:
                meta = orjson.loads(head)
            except orjson.JSONDecodeError:
                raise _damaged(path, offset) from None
            offset = start + int(meta["packed"])
            if offset > total:
                return
            yield Record(path, start, int(meta["packed"]), int(meta["size"]), sequence, run, meta)
            sequence += 1


def _sound(record: Record) -> bool:
    try:
        record.read()
    except WorkspaceError:
        return False
    return True


def _unpack(record: Record, frame: bytes) -> bytes:
    try:
        body = zstandard.ZstdDecompressor().decompress(frame, max_output_size=record.size + 1)
    except zstandard.ZstdError:
        raise _damaged(record.path, record.offset) from None
    return body


def _damaged(path: Path, offset: int) -> WorkspaceError:
    return WorkspaceError(
        f"{path} is damaged at byte {offset}",
        "Restore the file from a copy, or delete it and mine again",
    )
