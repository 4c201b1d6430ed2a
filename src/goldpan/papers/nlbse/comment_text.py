"""A comment on a class: what it says without its marks, and where it stands."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Form = Literal["doc-comment", "docstring", "class-comment"]
"""Before the declaration, in its body, or apart from the code as in Smalltalk."""
LINE_END = re.compile(r"\r\n|\r|\n")
_OPENING = re.compile(r"/\*+!?")
_STAR = re.compile(r"[ \t]*+(?:\*++(?=[ \t]|\Z)|\*)?[ \t]?")
_SLASHES = re.compile(r"[ \t]*+(?://+!?|\#+)[ \t]?")
_DIRECTIVE = re.compile(r"//[a-z0-9]{1,40}+:[a-z0-9]")
"""A line for a tool, which Go's documentation leaves out: ``//go:generate``."""
_TONEL = re.compile(rb'\s*+"([^"]*+(?:""[^"]*+)*)"\s*+(Class|Trait)\s*+\{')
_TONEL_NAME = re.compile(rb"#name[ \t]*+:[ \t]*+#?'?([\w:]{1,200})")
_FAR = 1_000


@dataclass(frozen=True, slots=True)
class ByteSpan:
    """Bytes of a file as UTF-8: from `start` up to `end`."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment and what it is about."""

    name: str
    """The name of the class, after those around it: ``Outer.Inner``."""
    kind: str
    """The kind of declaration: class, interface, struct, module, function and the like."""
    form: Form
    text: str
    """Without its marks; line ends are line feeds."""
    span: ByteSpan
    """With its marks."""
    about: ByteSpan | None
    """The declaration, which may hold the comment; None where it is another file."""


def unmarked(data: bytes, spans: Iterable[ByteSpan]) -> str:
    """Return what comments say that follow each other: a block, or lines."""
    return "\n".join(_unmarked(data[span.start : span.end].decode()) for span in spans)


def _unmarked(comment: str) -> str:
    first, *others = LINE_END.split(comment)
    if opening := _OPENING.match(first):
        body = comment.removesuffix("*/").rstrip("*")[opening.end() :]
        first, *others = LINE_END.split(body)
        lines = [first, *(_STAR.sub("", line, count=1) for line in others)]
        return "\n".join(line.rstrip() for line in lines)
    if first.startswith("=begin"):  # Ruby's, whose first line and last are marks
        return "\n".join(others).rpartition("=end")[0]
    return "" if _DIRECTIVE.match(first) else _SLASHES.sub("", first, count=1).rstrip()


def is_tonel(path: str) -> bool:
    """Return whether a file is a class or trait in Tonel; extensions of classes have no comment."""
    return path.endswith((".class.st", ".trait.st"))


def is_filetree(path: str) -> bool:
    """Return whether a file is a class comment in FileTree, if properties.json is beside it."""
    return path.endswith((".class/README.md", ".trait/README.md"))


def read_smalltalk(data: bytes, path: str) -> Comment | None:
    """Return the class comment of a file of Pharo, given as UTF-8.

    In Tonel it comes first, in double quotes, doubled within it; in FileTree it is a README.md in a
    folder such as Bowl.class.
    """
    if is_filetree(path):
        name, _, kind = path.split("/")[-2].rpartition(".")
        span = ByteSpan(0, len(data))
        return Comment(name, kind, "class-comment", _text(data), span, None)
    match = _TONEL.match(data)
    if not match:
        return None
    found = _TONEL_NAME.search(data, match.end(), match.end() + _FAR)
    name = found[1].decode() if found else path.rpartition("/")[2].split(".", 1)[0]
    span = ByteSpan(match.start(1) - 1, match.end(1) + 1)
    about = ByteSpan(match.start(2), len(data))
    text, kind = _text(match[1]).replace('""', '"'), match[2].decode().lower()
    return Comment(name, kind, "class-comment", text, span, about)


def _text(data: bytes) -> str:
    return LINE_END.sub("\n", data.decode())
