"""Docstrings of Python: the first statement of a class, a module or a function."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from goldpan.papers.nlbse.comments.comment import Comment
from goldpan.papers.nlbse.comments.declared import (
    Declaration,
    DocumentedClasses,
    qualified,
    span_of,
)
from goldpan.papers.nlbse.comments.parsing import name_of, parse
from goldpan.papers.nlbse.comments.text import CommentText, Span, TextWriter

if TYPE_CHECKING:
    import tree_sitter

_QUERY = """
(class_definition name: (_) @name body: (block) @body) @class
(function_definition name: (_) @name body: (block) @body) @function
(module) @module
"""
_PREFIX = re.compile(rb"[A-Za-z]{0,3}")
_KINDS = ("class", "function", "module")
_NO_DOCSTRING = frozenset("bft")
"""Letters before a quote that make the string bytes, or an expression."""


@dataclass(frozen=True, slots=True)
class _Docstring:
    span: Span
    text: CommentText


def read_docstrings(data: bytes, module: str, kinds: frozenset[str]) -> DocumentedClasses:
    """Find the docstrings of UTF-8 text; `module` names the file, `kinds` is what is wanted."""
    parsed = parse(data, "tree_sitter_python", "language", _QUERY)
    declared, bodies = [], {}
    for match in parsed.matches:
        kind = _KINDS[match.pattern]
        node, name = match.node(kind), match.node("name")
        if node is not None and (name is not None or kind == "module"):
            span = span_of(node)
            declared.append(Declaration(name_of(name) if name else "", kind, span, span.start))
            bodies[span] = match.node("body") or node
    docstrings = []
    around = [declaration for declaration in declared if declaration.kind != "module"]
    for declaration in (
        *qualified(around),
        *(declaration for declaration in declared if declaration.kind == "module"),
    ):
        docstring = (
            _docstring(data, bodies[declaration.span]) if declaration.kind in kinds else None
        )
        if docstring:
            about = None if declaration.kind == "module" else declaration.span
            where = declaration.name or module
            docstrings.append(
                Comment(where, declaration.kind, "docstring", docstring.text, docstring.span, about)
            )
    return DocumentedClasses(tuple(docstrings), parsed.clean)


def _docstring(data: bytes, body: tree_sitter.Node) -> _Docstring | None:
    statement = _first(body)
    if statement is None or statement.type != "expression_statement":
        return None
    value = statement.named_child(0) if statement.named_child_count == 1 else None
    while value is not None and value.type == "parenthesized_expression":
        value = value.named_child(0) if value.named_child_count == 1 else None
    if value is None or value.type not in ("string", "concatenated_string"):
        return None
    parts = [value] if value.type == "string" else value.named_children
    writer = TextWriter()
    for part in parts:
        if part.type == "string" and not _write(writer, data, part):
            return None
    return _Docstring(span_of(value), writer.done())


def _first(body: tree_sitter.Node) -> tree_sitter.Node | None:
    """Return the first statement of a body."""
    cursor = body.walk()
    more = cursor.goto_first_child()
    while more:
        node = cursor.node
        if node is not None and node.is_named and node.type != "comment":
            return node
        more = cursor.goto_next_sibling()
    return None


def _write(writer: TextWriter, data: bytes, string: tree_sitter.Node) -> bool:
    """Write what a string says; tell whether it may be a docstring at all."""
    match = _PREFIX.match(data, string.start_byte)
    prefix = match[0].decode().lower() if match else ""
    if _NO_DOCSTRING & set(prefix):
        return False
    for content in string.named_children:
        if content.type == "string_content":
            for piece in _pieces(content, raw="r" in prefix):
                text = data[piece.start : piece.end].decode()
                value = _decoded(text) if text.startswith("\\") and "r" not in prefix else None
                if value is None:
                    writer.plain(text, piece.start)
                else:
                    writer.decoded(value, piece)
    return True


def _pieces(content: tree_sitter.Node, *, raw: bool) -> Iterator[Span]:
    """Yield the parts of a string, escapes apart."""
    at = content.start_byte
    for escape in () if raw else content.named_children:
        if escape.type == "escape_sequence":
            if escape.start_byte > at:
                yield Span(at, escape.start_byte)
            yield span_of(escape)
            at = escape.end_byte
    if content.end_byte > at:
        yield Span(at, content.end_byte)


def _decoded(escape: str) -> str | None:
    """Return what an escape stands for; None where it stands for itself, or for no text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = ast.literal_eval(f'"""{escape}"""')
    except (SyntaxError, ValueError):
        return None
    fitting = isinstance(value, str) and (value.isprintable() or value in "\n\t")
    return value if fitting and value != escape else None
