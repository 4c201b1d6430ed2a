"""Reads an hour's file of GH Archive: lines, and of a line that is no event the events within.

Known damage in GH Archive: objects joined without a line end (2011 and 2012), an event cut off
by the beginning of the next one (2017, 2021), runs of NUL bytes (2018, 2023).
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, cast

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from isal import igzip_lib, isal_zlib

from goldpan.core.errors import WorkspaceError
from goldpan.core.storage import parquet
from goldpan.core.storage.workspace import WorkspaceLayout, publish
from goldpan.miners.gharchive.events import ARCHIVE_EVENTS, Row, read_event
from goldpan.miners.gharchive.store import (
    METADATA_KEY,
    ArchiveStore,
    HourReport,
    State,
    file_name,
    hour_name,
)
from goldpan.miners.replies import parse_json

_LONGEST_LINE = 16 << 20
_STEP = 1 << 20
_PACKED, _UNPACKED = 64 << 10, 512 << 10  # small enough for a processor's cache
_GZIP, _MAGIC = 31, b"\x1f\x8b\x08"
_NULS = re.compile(rb"(?<!\0)\0{4096,}+")
_BLANK = b"\0 \t\r\n"

_JOINT = re.compile(rb'(?<=\})(?=\{"[a-z])')
"""Between two objects. Valid JSON holds no such bytes: in a text, the quote would end the text,
and no letter can follow it."""
_RESTART = re.compile(rb'(?<=[\s\S])(?=\{"id":"[0-9]{1,20}","type":")')
"""Before an event that begins in the middle of another one."""


class _DamagedError(Exception):
    """A file that is no gzip file, or no more from some byte on."""


class _Unpacked(io.RawIOBase):
    """The content of all members of a gzip file; zeros behind one are no fault.

    Raises `EOFError` where the file is cut off, after all that it holds, and `_DamagedError`. isal
    unpacks about six times as fast as gzip.
    """

    def __init__(self, packed: BinaryIO) -> None:
        self._file = packed
        self._member: isal_zlib.Decompress | None = None
        self._packed = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while True:
            self._packed = self._packed or self._file.read(_PACKED)
            is_end = not self._packed
            if self._member is None:
                self._packed = self._packed.lstrip(b"\0")
                if not self._packed:
                    if is_end:
                        return 0
                    continue
                if not _MAGIC.startswith(self._packed[: len(_MAGIC)]):
                    raise _DamagedError("no gzip data")
                self._member = isal_zlib.decompressobj(_GZIP)
            try:
                out = self._member.decompress(self._packed, len(buffer))
            except igzip_lib.error as error:  # type: ignore[misc]  # its stub takes it for a value
                raise _DamagedError(str(error)) from None
            self._packed = self._member.unconsumed_tail
            if self._member.eof:
                self._packed, self._member = self._member.unused_data, None
            elif is_end and not out:
                raise EOFError
            if out:
                buffer[: len(out)] = out
                return len(out)


def lines_of(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file, and the objects that are joined on a very long one.

    A line that is longer than any event is cut, so that memory is bounded.
    """
    carry = b""
    while part := file.readline(_STEP):
        if part.endswith(b"\n"):
            yield carry + part
            carry = b""
            continue
        *objects, carry = _joined(carry + part)
        yield from objects
        if len(carry) > _LONGEST_LINE:
            while (part := file.readline(_STEP)) and not part.endswith(b"\n"):
                pass
            yield carry
            carry = b""
    if carry:
        yield carry


def pieces_of(line: bytes) -> list[bytes]:
    """Return the pieces of a line that is no event: whole events and the bytes between them."""
    parts = (part for joined in _joined(line) for part in _RESTART.split(joined))
    return [piece for part in parts if (piece := part.strip(_BLANK))]


def _joined(line: bytes) -> list[bytes]:
    """Return the objects that are joined on a line; long runs of NUL become one."""
    if b"\0\0" in line:
        line = _NULS.sub(b"\0", line)
    return _JOINT.split(line) if b'}{"' in line else [line]


_BATCH_ROWS = 16_384
_BATCH_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class HourUnit:
    """One hour to read: from `path`, or not at all for the reason given with `state`."""

    hour: datetime
    workspace: Path
    types: tuple[str, ...]
    path: Path | None = None
    state: State = "missing"
    reason: str | None = None

    def __str__(self) -> str:
        return hour_name(self.hour)


def read_hour(unit: HourUnit) -> HourReport:
    """Write an hour's events and return its report.

    The same file gives the same bytes, wherever it is read. Memory is bounded whatever the file
    holds. Raises `WorkspaceError` where the result cannot be written.
    """
    name = file_name(unit.hour)
    if unit.path is None:
        return HourReport(unit.hour, name, unit.state, unit.reason, types=unit.types)
    workspace = WorkspaceLayout(unit.workspace)
    target = ArchiveStore.of(workspace).events(unit.hour)
    try:
        with unit.path.open("rb") as file:
            sha256, size = hashlib.file_digest(file, "sha256").hexdigest(), file.tell()
    except OSError as error:
        return HourReport(unit.hour, name, "unreadable", error.strerror, types=unit.types)
    try:
        with workspace.scratch() as scratch:
            events = scratch / "events.parquet"
            reader = _HourReader(unit.hour, frozenset(unit.types))
            with parquet.writer(events, ARCHIVE_EVENTS.schema) as rows:
                state, reason = reader.read(unit.path, rows)
                report = HourReport(
                    unit.hour,
                    name,
                    state,
                    reason,
                    size,
                    sha256,
                    reader.lines,
                    reader.events,
                    reader.corrupt,
                    unit.types,
                )
                rows.add_key_value_metadata({METADATA_KEY: orjson.dumps(report)})
            if report.has_rows:
                publish({events: target})
            else:
                target.unlink(missing_ok=True)
    except OSError as error:
        raise WorkspaceError(
            f"{unit.path} cannot be read into {target.parent} ({error.strerror or error})",
            "Free some space there and run the same command again: it resumes where it stopped",
        ) from None
    return report


@dataclass(slots=True)
class _HourReader:
    """Reads lines into rows and counts; every line is parsed, wanted or not."""

    hour: datetime
    types: frozenset[str]
    lines: int = 0
    events: int = 0
    corrupt: int = 0
    _rows: list[Row] = field(default_factory=list)
    _size: int = 0

    def read(self, path: Path, target: pq.ParquetWriter) -> tuple[State, str | None]:
        """Read a file up to its end or to where it is damaged; return its state, and why."""
        state: State = "whole"
        reason = None
        with path.open("rb") as packed:
            try:
                file = io.BufferedReader(_Unpacked(packed), _UNPACKED)
                for line in lines_of(cast("BinaryIO", file)):
                    if not self._read_piece(line):
                        self._read_damaged(line)
                    if len(self._rows) >= _BATCH_ROWS or self._size >= _BATCH_BYTES:
                        self._flush(target)
                if not packed.tell():
                    state, reason = "unreadable", "the file is empty"
            except EOFError:
                state, reason = "truncated", "the file ends too early"
            except _DamagedError as error:
                reason = f"it cannot be unpacked near byte {packed.tell():,} ({error})"
                state = "damaged"
        self._flush(target)
        return (state if state == "whole" or self.lines else "unreadable"), reason

    def _read_damaged(self, line: bytes) -> None:
        """Read the pieces of a line that is not exactly one plain event."""
        content = line.strip(_BLANK)
        if not content:
            if b"\0" in line:
                self.lines, self.corrupt = self.lines + 1, self.corrupt + 1
        elif content == line or not self._read_piece(content):
            for piece in pieces_of(content):
                if not self._read_piece(piece):
                    self.lines, self.corrupt = self.lines + 1, self.corrupt + 1

    def _read_piece(self, piece: bytes) -> bool:
        """Read a piece that may be an event, and tell whether it is."""
        try:
            event = parse_json(piece)
        except ValueError:
            return False
        if not isinstance(event, dict) or not isinstance(event.get("type"), str):
            return False
        self.lines += 1
        self._keep(event, len(piece))
        return True

    def _keep(self, event: dict[str, Any], size: int) -> None:
        if event["type"] not in self.types:
            return
        self.events += 1
        self._rows.append(read_event(event) | {"hour": self.hour, "line": self.lines})
        self._size += size

    def _flush(self, target: pq.ParquetWriter) -> None:
        if self._rows:
            rows = pa.Table.from_pylist(self._rows, ARCHIVE_EVENTS.schema)
            parquet.write(target, rows)
        self._rows, self._size = [], 0
