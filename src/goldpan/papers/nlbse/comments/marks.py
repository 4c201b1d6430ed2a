"""Takes the marks off comments: ``/** * */``, ``///``, ``#`` and the like."""

from __future__ import annotations

import re
from collections.abc import Iterable

from goldpan.papers.nlbse.comments.text import CommentText, Span, TextWriter

_LINE_END = re.compile(rb"\r\n|\r|\n")
_OPENING = re.compile(rb"/\*+!?")
_STAR = re.compile(rb"[ \t]*+(?:\*++(?=[ \t]|\Z)|\*)?[ \t]?")
_SLASHES = re.compile(rb"[ \t]*+(?://+!?|\#+)[ \t]?")
_DIRECTIVE = re.compile(rb"//[a-z0-9]{1,40}+:[a-z0-9]")
"""What a tool reads and Go's documentation leaves out: ``//go:generate``."""


def unmarked(data: bytes, spans: Iterable[Span]) -> CommentText:
    """Return what comments say that follow each other: a block, or lines."""
    writer = TextWriter()
    first = True
    for span in spans:
        text = data[span.start : span.end]
        if not first:
            writer.line_end()
        first = False
        if text.startswith(b"/*"):
            _block(writer, text, span.start)
        elif text.startswith(b"=begin"):
            _between(writer, text, span.start)
        elif not _DIRECTIVE.match(text):
            _line(writer, text, span.start, _SLASHES)
    return writer.done()


def _block(writer: TextWriter, text: bytes, start: int) -> None:
    opening = _OPENING.match(text)
    begin = opening.end() if opening else 0
    closed = text.endswith(b"*/", 2)
    end = max(begin, len(text[:-1].rstrip(b"*"))) if closed else len(text)
    at = begin
    for match in _LINE_END.finditer(text, begin, end):
        _line(writer, text[at : match.start()], start + at, _STAR if at > begin else None)
        writer.line_end()
        at = match.end()
    _line(writer, text[at:end], start + at, _STAR if at > begin else None)


def _between(writer: TextWriter, text: bytes, start: int) -> None:
    """Take a Ruby block, without its first line and its last."""
    lines = [match.end() for match in _LINE_END.finditer(text)]
    last = text.rfind(b"=end")
    if lines and last > lines[0]:
        writer.plain(text[lines[0] : last].decode(), start + lines[0])


def _line(writer: TextWriter, line: bytes, start: int, mark: re.Pattern[bytes] | None) -> None:
    match = mark.match(line) if mark else None
    begin = match.end() if match else 0
    writer.plain(line[begin:].rstrip().decode(), start + begin)
