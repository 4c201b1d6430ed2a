"""Unpacks gzip, bzip2, xz and zstd as a file is read, by what it begins with."""

from __future__ import annotations

import io
import lzma
from typing import BinaryIO

import pyarrow as pa

PACKED = (".gz", ".xz", ".bz2", ".zst")
"""How names of such files end."""
STEP = 1 << 20
"""Bytes that are read at once."""
_MEMORY = 128 << 20  # what `xz -9` needs, twice
_SIGNS = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}


def unpacked(file: io.BufferedReader) -> io.BufferedReader:
    """Return what is in a packed file, read once from its beginning; another comes as it is.

    Reading raises `OSError`, `EOFError` or `lzma.LZMAError` where the data are damaged or cut off.
    """
    start = file.peek(6)[:6]
    if start == b"\xfd7zXZ\0":
        return io.BufferedReader(_Xz(file), STEP)
    for sign, name in _SIGNS.items():
        if start.startswith(sign):
            stream = pa.CompressedInputStream(pa.PythonFile(_Open(file), "r"), name)
            return io.BufferedReader(stream, STEP)
    return file


class _Open(io.RawIOBase):
    """A file that stays open when what unpacks it is closed."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        return self._file.read(size)


class _Xz(io.RawIOBase):
    """Unpacks xz as `lzma.open` does, but never into more memory than a good file needs."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._unpacker: lzma.LZMADecompressor | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while True:
            if self._unpacker is not None and not self._unpacker.eof:
                packed = b"" if not self._unpacker.needs_input else self._file.read(STEP)
                if self._unpacker.needs_input and not packed:
                    raise EOFError("it ends before the end of its data")
            else:
                packed = self._next_stream()
                if not packed:
                    return 0
                self._unpacker = lzma.LZMADecompressor(memlimit=_MEMORY)
            out = self._unpacker.decompress(packed, max_length=len(buffer))
            if out:
                buffer[: len(out)] = out
                return len(out)

    def _next_stream(self) -> bytes:
        """Return the first bytes of the next stream, behind zeros that fill up."""
        packed = self._unpacker.unused_data if self._unpacker else b""
        while not (packed := packed.lstrip(b"\0")) and (block := self._file.read(STEP)):
            packed = block
        return packed
