"""A comment on a class: what it says without its marks, and where each character of that stands."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

Form = Literal["doc-comment", "docstring", "class-comment"]
"""Before the declaration, in its body, or apart from the code as in Smalltalk."""
_LINE_END = re.compile(rb"\r\n|\r|\n")
_OPENING = re.compile(rb"/\*+!?")
_STAR = re.compile(rb"[ \t]*+(?:\*++(?=[ \t]|\Z)|\*)?[ \t]?")
_SLASHES = re.compile(rb"[ \t]*+(?://+!?|\#+)[ \t]?")
_DIRECTIVE = re.compile(rb"//[a-z0-9]{1,40}+:[a-z0-9]")
"""A line for a tool, which Go's documentation leaves out: ``//go:generate``."""
_TONEL = re.compile(rb'\s*+"([^"]*+(?:""[^"]*+)*)"\s*+(Class|Trait)\s*+\{')
_TONEL_NAME = re.compile(rb"#name[ \t]*+:[ \t]*+#?'?([\w:]{1,200})")
_FAR = 1_000


@dataclass(frozen=True, slots=True)
class ByteSpan:
    """Bytes of a file as UTF-8: from `start` up to `end`."""

    start: int
    end: int


class CommentText:
    """The text of a comment, put together from parts of the file; line ends are line feeds."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._starts = array("q")
        self._ends = array("q")

    @property
    def text(self) -> str:
        """The whole."""
        return "".join(self._parts)

    def add(self, data: bytes, start: int, end: int) -> None:
        """Add bytes of the file as they are."""
        at = start
        for match in _LINE_END.finditer(data, start, end):
            self._add_line(data[at : match.start()].decode(), at)
            self.add_for("\n", ByteSpan(*match.span()))
            at = match.end()
        self._add_line(data[at:end].decode(), at)

    def add_for(self, text: str, span: ByteSpan) -> None:
        """Add text for which other bytes stand in the file."""
        self._parts.append(text)
        self._starts.extend([span.start] * len(text))
        self._ends.extend([span.end] * len(text))

    def span(self, start: int, end: int) -> ByteSpan:
        """Return where a part of the text stands."""
        return ByteSpan(self._starts[start], self._ends[end - 1])

    def _add_line(self, line: str, start: int) -> None:
        offsets = [*accumulate((len(char.encode()) for char in line), initial=start)]
        self._parts.append(line)
        self._starts.extend(offsets[:-1])
        self._ends.extend(offsets[1:])


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment and what it is about."""

    name: str
    """The name of the class, after those around it: ``Outer.Inner``."""
    kind: str
    """The kind of declaration: class, interface, struct, module, function and the like."""
    form: Form
    text: CommentText
    span: ByteSpan
    """With its marks."""
    about: ByteSpan | None
    """The declaration, which may hold the comment; None where it is another file."""


def unmarked(data: bytes, spans: Iterable[ByteSpan]) -> CommentText:
    """Return what comments say that follow each other: a block, or lines."""
    text = CommentText()
    for number, span in enumerate(spans):
        if number:
            text.add_for("\n", ByteSpan(span.start, span.start))
        comment = data[span.start : span.end]
        if comment.startswith(b"/*"):
            _add_block(text, data, span)
        elif comment.startswith(b"=begin"):
            _add_ruby_block(text, data, span)
        elif not _DIRECTIVE.match(comment):
            _add_line(text, data, span, _SLASHES)
    return text


def _add_block(text: CommentText, data: bytes, span: ByteSpan) -> None:
    opening = _OPENING.match(data, span.start, span.end)
    at = opening.end() if opening else span.start
    end = span.end
    if data.endswith(b"*/", span.start + 2, span.end):
        end = max(at, span.start + len(data[span.start : span.end - 1].rstrip(b"*")))
    mark = None
    for match in _LINE_END.finditer(data, at, end):
        _add_line(text, data, ByteSpan(at, match.start()), mark)
        text.add_for("\n", ByteSpan(*match.span()))
        at, mark = match.end(), _STAR
    _add_line(text, data, ByteSpan(at, end), mark)


def _add_ruby_block(text: CommentText, data: bytes, span: ByteSpan) -> None:
    """Add a block from =begin to =end without its first line and its last."""
    first = _LINE_END.search(data, span.start, span.end)
    last = data.rfind(b"=end", span.start, span.end)
    if first and last > first.end():
        text.add(data, first.end(), last)


def _add_line(
    text: CommentText, data: bytes, span: ByteSpan, mark: re.Pattern[bytes] | None
) -> None:
    line = data[span.start : span.end]
    match = mark.match(line) if mark else None
    start = span.start + (match.end() if match else 0)
    text.add(data, start, max(start, span.start + len(line.rstrip())))


def is_tonel(path: str) -> bool:
    """Return whether a file is a class or trait in Tonel; extensions of classes have no comment."""
    return path.endswith((".class.st", ".trait.st"))


def is_filetree(path: str) -> bool:
    """Return whether a file is a class comment in FileTree, if properties.json is beside it."""
    return path.endswith((".class/README.md", ".trait/README.md"))


def read_smalltalk(data: bytes, path: str) -> Comment | None:
    """Return the class comment of a file of Pharo, given as UTF-8."""
    return read_tonel(data, path) if is_tonel(path) else _read_filetree(data, path)


def read_tonel(data: bytes, path: str) -> Comment | None:
    """Return a file's class comment: it comes first in double quotes, doubled within it."""
    match = _TONEL.match(data)
    if not match:
        return None
    found = _TONEL_NAME.search(data, match.end(), match.end() + _FAR)
    name = found[1].decode() if found else path.rpartition("/")[2].split(".", 1)[0]
    text = CommentText()
    at, end = match.span(1)
    while (quote := data.find(b'""', at, end)) >= 0:
        text.add(data, at, quote)
        text.add_for('"', ByteSpan(quote, quote + 2))
        at = quote + 2
    text.add(data, at, end)
    span, about = ByteSpan(match.start(1) - 1, end + 1), ByteSpan(match.start(2), len(data))
    return Comment(name, match[2].decode().lower(), "class-comment", text, span, about)


def _read_filetree(data: bytes, path: str) -> Comment:
    """Return the class comment that README.md is in a folder such as Bowl.class."""
    name, _, kind = path.split("/")[-2].rpartition(".")
    text = CommentText()
    text.add(data, 0, len(data))
    return Comment(name, kind, "class-comment", text, ByteSpan(0, len(data)), None)
