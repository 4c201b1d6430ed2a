"""Reads the objects of a long JSON array one by one, whatever the size of the file."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path

from goldpan.papers.crosscodebench.problems import FieldError

_CHUNK = 2**20
_LONGEST = 64 * 2**20
_PENDING = 4
"""What is read of a number may be longer when fewer characters follow: 1 of 1.0, or of 1e+5."""
_SPACE = " \t\r\n"


def read_array(path: Path, name: str) -> Iterator[object]:
    """Yield the elements of the array `name` of the JSON object that a file holds.

    Memory follows the longest element, which may have 64 Mi characters. Other members of the
    object are passed over. Raises `FieldError` where the file is no such object, after what
    could be read; `OSError` where it cannot be read.
    """
    with path.open("rb") as file:
        text = _Text(file)
        text.expect("{", "")
        is_found = False
        while text.peek() != "}":
            key = text.value("")
            text.expect(":", str(key)[:80])
            if key != name:
                text.value(str(key)[:80])
            elif is_found:
                raise FieldError(name, "occurs twice")
            else:
                is_found = True
                yield from _elements(text, name)
            text.member_ends()
        text.skip()
        if not is_found:
            raise FieldError(name, "is missing")
        if text.peek():
            raise FieldError("", "more follows after the end of the JSON object")


def _elements(text: _Text, name: str) -> Iterator[object]:
    text.expect("[", name)
    if text.peek() == "]":
        text.skip()
        return
    index = 0
    while True:
        yield text.value(f"{name}[{index}]")
        index += 1
        mark = text.peek()
        text.skip()
        if mark == "]":
            return
        if mark != ",":
            raise FieldError(f"{name}[{index}]", _unlike(", or ]", mark))


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


class _Text:
    """The text of a file, a piece of it at a time."""

    def __init__(self, file: BufferedReader) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._json = json.JSONDecoder(parse_constant=_refuse_constant)
        self._buffer = ""
        self._at = 0
        self._at_end = False

    def peek(self) -> str:
        """Return the next character that is no white space; empty at the end."""
        while True:
            while self._at < len(self._buffer):
                if self._buffer[self._at] not in _SPACE:
                    return self._buffer[self._at]
                self._at += 1
            if self._at_end:
                return ""
            self._fill()

    def skip(self) -> None:
        """Go past the character that was peeked at."""
        self._at += 1

    def expect(self, mark: str, field: str) -> None:
        """Go past a character; raises `FieldError` where another stands there."""
        text = self.peek()
        if text != mark:
            raise FieldError(field, _unlike(mark, text))
        self.skip()

    def member_ends(self) -> None:
        """Go past the comma after a member of an object, if there is one."""
        mark = self.peek()
        if mark == ",":
            self.skip()
        elif mark != "}":
            raise FieldError("", _unlike(", or }", mark))

    def value(self, field: str) -> object:
        """Return the next JSON value; raises `FieldError` where there is none, or one too long."""
        self.peek()
        while True:
            try:
                value, end = self._json.raw_decode(self._buffer, self._at)
            except json.JSONDecodeError as error:
                if not self._at_end and len(self._buffer) - self._at < _LONGEST:
                    self._fill()
                    continue
                if not self._at_end:
                    raise FieldError(field, "is not JSON, or longer than 64 MiB") from None
                raise FieldError(field, f"is not JSON ({error.msg})") from None
            except RecursionError:
                raise FieldError(field, "is nested too deeply") from None
            except ValueError as error:  # a number of many digits, or NaN
                raise FieldError(field, str(error)) from None
            if len(self._buffer) - end < _PENDING and not self._at_end:
                self._fill()
                continue
            self._at = end
            return value

    def _fill(self) -> None:
        """Read as much again as is waiting, so that long values cost linear time."""
        rest = self._buffer[self._at :]
        read = self._file.read(max(_CHUNK, len(rest)))
        try:
            more = self._decoder.decode(read, final=not read)
        except UnicodeDecodeError as error:
            raise FieldError("", f"is not UTF-8 ({error.reason})") from None
        self._at_end = not read
        self._buffer = rest + more
        self._at = 0


def _unlike(expected: str, text: str) -> str:
    return f"{expected} is missing" + (f", {text!r} stands there" if text else ", the file ends")
