"""The text of a comment without its marks, which still knows where each character stands."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Span:
    """Bytes of a file: from `start` up to `end`."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Run:
    """A part of the text that stands in one piece in the file."""

    start: int
    """In characters of the text."""
    end: int
    span: Span
    """In bytes of the file as UTF-8."""
    plain: bool
    """Whether the bytes are the characters, not an escape that stands for them."""


@dataclass(frozen=True, slots=True)
class CommentText:
    """What a comment says; the runs leave out its marks and the line ends between them."""

    text: str
    runs: tuple[Run, ...]

    def span(self, start: int, end: int) -> Span:
        """Return where a part of the text stands; its ends must not be line ends of the text."""
        first = self._run(start)
        last = self._run(end - 1)
        return Span(
            self._character_span(first, start).start, self._character_span(last, end - 1).end
        )

    def _run(self, position: int) -> Run:
        return self.runs[bisect_right(self.runs, position, key=lambda run: run.start) - 1]

    def _character_span(self, run: Run, position: int) -> Span:
        """Return the bytes of one character."""
        if not run.plain:
            return run.span
        start = run.span.start + len(self.text[run.start : position].encode())
        return Span(start, start + len(self.text[position].encode()))


class TextWriter:
    """Puts a comment's text together."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._runs: list[Run] = []
        self._length = 0

    def plain(self, text: str, start: int) -> None:
        """Add text that stands in the file from a byte on; its line ends become line feeds."""
        at = 0
        for match in _LINE_END.finditer(text):
            start = self._run(text[at : match.start()], start) + len(match[0])
            self.line_end()
            at = match.end()
        self._run(text[at:], start)

    def decoded(self, text: str, span: Span) -> None:
        """Add text for which other bytes stand in the file."""
        if text:
            self._runs.append(Run(self._length, self._length + len(text), span, False))
            self._add(text)

    def line_end(self) -> None:
        """End a line."""
        self._add("\n")

    def done(self) -> CommentText:
        """Return the whole."""
        return CommentText("".join(self._parts), tuple(self._runs))

    def _run(self, text: str, start: int) -> int:
        end = start + len(text.encode())
        if text:
            span = Span(start, end)
            self._runs.append(Run(self._length, self._length + len(text), span, True))
            self._add(text)
        return end

    def _add(self, text: str) -> None:
        self._parts.append(text)
        self._length += len(text)
