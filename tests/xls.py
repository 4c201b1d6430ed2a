"""Writes a small workbook in Excel's old form (BIFF8), as xlrd reads it without its container."""

from __future__ import annotations

import struct
from collections.abc import Sequence


def xls(rows: Sequence[Sequence[str | float]]) -> bytes:
    """Return a workbook whose one sheet holds these cells, texts and numbers."""
    cells = b"".join(
        _cell(row, column, value)
        for row, values in enumerate(rows)
        for column, value in enumerate(values)
    )
    name = b"Sheet1"
    start = _record(0x0809, struct.pack("<HHHHII", 0x0600, 0x0005, 0, 0, 0, 0x06))
    sheet = _record(0x0809, struct.pack("<HHHHII", 0x0600, 0x0010, 0, 0, 0, 0x06))
    end = _record(0x000A, b"")

    def bound(offset: int) -> bytes:
        return _record(0x0085, struct.pack("<IBBBB", offset, 0, 0, len(name), 0) + name)

    offset = len(start) + len(bound(0)) + len(end)
    return start + bound(offset) + end + sheet + cells + end


def _cell(row: int, column: int, value: str | float) -> bytes:
    head = struct.pack("<HHH", row, column, 0)
    if isinstance(value, str):  # LABEL, with a text of two bytes a character
        text = value.encode("utf-16-le")
        return _record(0x0204, head + struct.pack("<HB", len(value), 1) + text)
    return _record(0x0203, head + struct.pack("<d", value))


def _record(kind: int, content: bytes) -> bytes:
    return struct.pack("<HH", kind, len(content)) + content
