"""Class comments of Pharo, out of the two forms in which its sources lie in git.

Tonel: a file `Foo.class.st` begins with the comment in double quotes, doubled within it. FileTree:
a folder `Foo.class` holds it as README.md beside properties.json.
"""

from __future__ import annotations

import re

from goldpan.papers.nlbse.comments.comment import Comment
from goldpan.papers.nlbse.comments.text import CommentText, Span, TextWriter

_TONEL = re.compile(rb'\s*+"((?:[^"]|"")*+)"\s*+(Class|Trait)\s*+\{')
_NAME = re.compile(rb"#name[ \t]*+:[ \t]*+#?'?([\w:]{1,200})")
_FAR = 1_000


def is_tonel(path: str) -> bool:
    """Tell the file of a class or trait in Tonel; extensions of others' classes have no comment."""
    return path.endswith((".class.st", ".trait.st"))


def is_filetree(path: str) -> bool:
    """Tell the file that holds a class comment in FileTree, if properties.json is beside it."""
    return path.endswith((".class/README.md", ".trait/README.md"))


def read_tonel(data: bytes, path: str) -> Comment | None:
    """Return the class comment of a file in Tonel, given as UTF-8."""
    match = _TONEL.match(data)
    if not match:
        return None
    name = _NAME.search(data, match.end(), match.end() + _FAR)
    stem = path.rpartition("/")[2].split(".", 1)[0]
    about = Span(match.start(2), len(data))
    text = _without_doubled_quotes(data, Span(match.start(1), match.end(1)))
    return Comment(
        name[1].decode() if name else stem,
        match[2].decode().lower(),
        "class-comment",
        text,
        Span(match.start(1) - 1, match.end(1) + 1),
        about,
    )


def read_filetree(data: bytes, path: str) -> Comment:
    """Return the class comment that a README.md of FileTree is, given as UTF-8."""
    name, _, kind = path.split("/")[-2].rpartition(".")
    writer = TextWriter()
    writer.plain(data.decode(), 0)
    return Comment(name, kind, "class-comment", writer.done(), Span(0, len(data)), None)


def _without_doubled_quotes(data: bytes, span: Span) -> CommentText:
    writer = TextWriter()
    at = span.start
    while (quote := data.find(b'""', at, span.end)) >= 0:
        writer.plain(data[at:quote].decode(), at)
        writer.decoded('"', Span(quote, quote + 2))
        at = quote + 2
    writer.plain(data[at : span.end].decode(), at)
    return writer.done()
