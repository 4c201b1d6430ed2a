"""Cuts hours into lines, and lines that are no event into pieces that may be events.

Known damage in GH Archive: objects joined without a line end (2011 and 2012), an event cut off
by the beginning of the next one (2017, 2021), runs of NUL bytes (2018, 2023).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

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
from goldpan.miners.gharchive.unpack import Unpacking, unpack
from goldpan.miners.replies import parse_json

LONGEST_LINE = 16 << 20
_LONG = 1 << 20
_HEAD = 64 << 10
_NULS = re.compile(rb"(?<!\0)\0{4096,}+")

_JOINT = re.compile(rb'(?<=\})(?=\{"[a-z])')
"""Between two objects. Valid JSON holds no such bytes: in a text, the quote would end the text,
and no letter can follow it."""
_RESTART = re.compile(rb'(?<=[\s\S])(?=\{"id":"[0-9]{1,20}","type":")')
"""Before an event that begins in the middle of another one."""


@dataclass(frozen=True, slots=True)
class LongLine:
    """A line that is too long to be an event; only its beginning was kept."""

    head: bytes
    length: int


def lines_of(chunks: Iterable[bytes]) -> Iterator[list[bytes] | LongLine]:
    """Yield the lines of a file in batches; memory follows the chunk, not the line."""
    carry = b""
    long: LongLine | None = None
    look = _LONG
    for chunk in chunks:
        start = 0
        if long is not None:
            end = chunk.find(b"\n")
            if end < 0:
                long = LongLine(long.head, long.length + len(chunk))
                continue
            yield LongLine(long.head, long.length + end)
            long, start = None, end + 1
        lines = chunk[start:].split(b"\n")
        lines[0] = carry + lines[0]
        carry = lines.pop()
        if lines:
            yield lines
        if len(carry) > min(look, LONGEST_LINE):
            *objects, carry = _joined(carry)
            if objects:
                yield objects
            look = 2 * len(carry)  # so a byte is looked at about twice, not once a chunk
        look = max(look if len(carry) > _LONG else 0, _LONG)
        if len(carry) > LONGEST_LINE:
            long, carry, look = LongLine(carry[:_HEAD], len(carry)), b"", _LONG
    if long is not None:
        yield long
    elif carry:
        yield [carry]


def pieces_of(line: bytes) -> list[bytes]:
    """Return the pieces of a line that is no event: whole events and the bytes between them."""
    parts = (part for joined in _joined(line) for part in _RESTART.split(joined))
    return [piece for part in parts if (piece := part.strip(b"\0 \t\r"))]


def _joined(line: bytes) -> list[bytes]:
    """Return the objects that are joined on a line; long runs of NUL become one."""
    if b"\0\0" in line:
        line = _NULS.sub(b"\0", line)
    return _JOINT.split(line) if b'}{"' in line else [line]


_BATCH_ROWS = 16_384
_BATCH_BYTES = 16 << 20
_CORRUPT_LINES = 1_000
_CORRUPT_BYTES = 8 << 20
_CORRUPT_LINE = 16 << 10


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
    archive_store = ArchiveStore.of(workspace)
    try:
        with unit.path.open("rb") as file:
            sha256, size = hashlib.file_digest(file, "sha256").hexdigest(), file.tell()
    except OSError as error:
        return HourReport(unit.hour, name, "unreadable", error.strerror, types=unit.types)
    try:
        with workspace.scratch() as scratch:
            events, aside = scratch / "events.parquet", scratch / "corrupt.jsonl"
            unpacking = Unpacking()
            reader = _HourReader(unit.hour, frozenset(unit.types))
            with parquet.writer(events, ARCHIVE_EVENTS) as target:
                reader.read(unpack(unit.path, unpacking), target)
                report = HourReport(
                    unit.hour,
                    name,
                    unpacking.state,
                    "; ".join(unpacking.problems) or None,
                    size,
                    sha256,
                    reader.lines,
                    reader.events,
                    reader.corrupt,
                    unit.types,
                )
                target.add_key_value_metadata({METADATA_KEY: orjson.dumps(report)})
            aside.write_text("".join(reader.aside), encoding="ascii")
            _publish(archive_store, report, events, aside)
    except OSError as error:
        raise WorkspaceError(
            f"{unit.path} cannot be read into {archive_store.root} ({error.strerror or error})",
            "Free some space there and run the same command again: it resumes where it stopped",
        ) from None
    return report


def _publish(archive_store: ArchiveStore, report: HourReport, events: Path, aside: Path) -> None:
    corrupt = archive_store.corrupt(report.hour)
    if report.corrupt:
        publish({aside: corrupt})
    else:
        corrupt.unlink(missing_ok=True)
    if report.has_rows:
        publish({events: archive_store.events(report.hour)})
    else:
        archive_store.events(report.hour).unlink(missing_ok=True)


@dataclass(slots=True)
class _HourReader:
    """Reads lines into rows and counts; every line is parsed, wanted or not."""

    hour: datetime
    types: frozenset[str]
    lines: int = 0
    events: int = 0
    corrupt: int = 0
    aside: list[str] = field(default_factory=list)
    _aside_bytes: int = 0
    _rows: list[Row] = field(default_factory=list)
    _size: int = 0

    def read(self, chunks: Iterator[bytes], target: pq.ParquetWriter) -> None:
        """Read all chunks of a file."""
        for batch in lines_of(chunks):
            if isinstance(batch, LongLine):
                self.lines += 1
                self._put_aside(batch.head, batch.length, "longer than any event")
                continue
            for line in batch:
                if not self._read_piece(line, last=False):
                    self._read_damaged(line)
            if len(self._rows) >= _BATCH_ROWS or self._size >= _BATCH_BYTES:
                self._flush(target)
        self._flush(target)

    def _read_damaged(self, line: bytes) -> None:
        """Read the pieces of a line that is not exactly one plain event."""
        content = line.strip(b"\0 \t\r")
        if not content:
            if b"\0" in line:
                self.lines += 1
                self._put_aside(line, len(line), "nothing but NUL")
        elif content == line or not self._read_piece(content, last=False):
            for piece in pieces_of(content):
                self._read_piece(piece, last=True)

    def _read_piece(self, piece: bytes, *, last: bool) -> bool:
        """Read a piece that may be an event, and tell whether it is.

        With `last`, nothing else is to be tried, and a piece that is none counts as corrupt.
        """
        problem = "no object with a type"
        try:
            event = parse_json(piece)
        except ValueError as error:
            event, problem = None, str(error)
        good = isinstance(event, dict) and isinstance(event.get("type"), str)
        if good or last:
            self.lines += 1
        if good:
            self._keep(event, len(piece))
        elif last:
            self._put_aside(piece, len(piece), problem)
        return good

    def _keep(self, event: dict[str, Any], size: int) -> None:
        if event["type"] not in self.types:
            return
        self.events += 1
        self._rows.append(read_event(event) | {"hour": self.hour, "line": self.lines})
        self._size += size

    def _flush(self, target: pq.ParquetWriter) -> None:
        if self._rows:
            rows = pa.Table.from_pylist(self._rows, ARCHIVE_EVENTS.schema)
            parquet.write(target, ARCHIVE_EVENTS, "", rows)
        self._rows, self._size = [], 0

    def _put_aside(self, line: bytes, length: int, reason: str) -> None:
        """Count a corrupt line and keep its beginning as harmless JSON, unless there are many."""
        self.corrupt += 1
        if len(self.aside) >= _CORRUPT_LINES or self._aside_bytes >= _CORRUPT_BYTES:
            return
        text = line[:_CORRUPT_LINE].decode("utf-8", "backslashreplace")
        problem = {"line": self.lines, "bytes": length, "reason": reason[:200], "text": text}
        self.aside.append(json.dumps(problem) + "\n")
        self._aside_bytes += len(self.aside[-1])
