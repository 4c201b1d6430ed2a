"""Reads the elements of a long JSON array one by one: memory follows the longest of them.

`ijson` is faster, but a number of 5,000 digits ends the process, endless nesting takes all memory,
and it accepts a file that has the array twice or not at all.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import IO

from goldpan.core.sanitize import without_surrogates

_CHUNK = 2**20
_LONGEST = 64 * 2**20
_PENDING = 4
"""Characters that have to follow a number: 1 may be the start of 1.0, or of 1e+5."""
_SPACE = " \t\r\n"


class FieldError(ValueError):
    """A value is not what its field should hold; the message does not name the file."""

    def __init__(self, field: str, text: str) -> None:
        super().__init__(field, text)
        self.field, self.text = field, text

    def __str__(self) -> str:
        return f"{self.field}: {self.text}" if self.field else self.text


def read_array(file: IO[str], name: str = "") -> Iterator[object]:
    """Yield the elements of the array `name` of the JSON object that a file holds, or of the file.

    An element may have 64 Mi characters. Other members of the object are skipped. Raises
    `FieldError` at the first error, after the elements before it.
    """
    text = _Text(file)
    if name:
        yield from _member(text, name)
    else:
        yield from _elements(text, "")
    if text.peek():
        kind = "object" if name else "array"
        raise FieldError("", f"more follows after the end of the JSON {kind}")


def _member(text: _Text, name: str) -> Iterator[object]:
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
        text.goes_on("}", "")
    text.skip()
    if not is_found:
        raise FieldError(name, "is missing")


def _elements(text: _Text, name: str) -> Iterator[object]:
    text.expect("[", name)
    goes_on, index = text.peek() != "]", 0
    while goes_on:
        yield text.value(f"{name}[{index}]")
        index += 1
        goes_on = text.goes_on("]", f"{name}[{index}]")
    text.skip()


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


class _Text:
    def __init__(self, file: IO[str]) -> None:
        self._file = file
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

    def expect(self, mark: str, field: str, expected: str = "") -> None:
        """Go past a character; raises `FieldError` where another stands there."""
        text = self.peek()
        if text != mark:
            actual = f"{text!r} stands there" if text else "the file ends"
            raise FieldError(field, f"{expected or mark} is missing, {actual}")
        self.skip()

    def goes_on(self, end: str, field: str) -> bool:
        """Go past a comma, or say that the end follows, whose character stays."""
        if self.peek() == end:
            return False
        self.expect(",", field, f", or {end}")
        return True

    def value(self, field: str) -> object:
        """Return the next JSON value; raises `FieldError` where there is none, or one too long."""
        self.peek()
        while True:
            try:
                value, end = self._json.raw_decode(self._buffer, self._at)
                if "\\u" in self._buffer[self._at : end]:  # which may be half of a character
                    value = without_surrogates(value)
            except json.JSONDecodeError as error:
                if self._at_end:
                    raise FieldError(field, f"is not JSON ({error.msg})") from None
                if len(self._buffer) - self._at >= _LONGEST:
                    raise FieldError(field, "is not JSON, or longer than 64 MiB") from None
            except RecursionError:
                raise FieldError(field, "is nested too deeply") from None
            except ValueError as error:  # a number of many digits, or NaN
                raise FieldError(field, str(error)) from None
            else:
                if self._at_end or len(self._buffer) - end >= _PENDING:
                    self._at = end
                    return value
            self._fill()

    def _fill(self) -> None:
        """Read as much again as is waiting, so that long values cost linear time."""
        pending = self._buffer[self._at :]
        try:
            more = self._file.read(max(_CHUNK, len(pending)))
        except UnicodeDecodeError as error:
            raise FieldError("", f"is not UTF-8 ({error.reason})") from None
        self._at_end = not more
        self._buffer = pending + more
        self._at = 0
