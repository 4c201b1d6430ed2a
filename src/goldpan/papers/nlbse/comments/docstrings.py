"""Docstrings of Python: the first statement of a class, a module or a function."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

from goldpan.papers.nlbse.comments.comment import Comment, CommentText, Span
from goldpan.papers.nlbse.comments.declarations import (
    find_declarations,
    parse,
    qualified,
    span_of,
)
from goldpan.plugins.code import Grammar

if TYPE_CHECKING:
    import tree_sitter

_QUERIES = """
(class_definition name: (_) @name body: (block)) @class
(function_definition name: (_) @name body: (block)) @function
(module) @module
"""
_GRAMMAR = Grammar("tree_sitter_python", comments=(), strings=(), patterns=_QUERIES)
_PREFIX = re.compile(rb"[A-Za-z]{0,3}")
_NO_DOCSTRING = frozenset("bft")
"""Letters before a quote that make the string bytes, or an expression."""


def read_docstrings(data: bytes, module: str, kinds: frozenset[str]) -> tuple[list[Comment], bool]:
    """Return the docstrings of UTF-8 text, and whether it parses without error.

    `module` names the file, `kinds` is what is wanted: class, module, function.
    """
    matches, clean = parse(data, _GRAMMAR)
    declared = find_declarations(matches)
    modules = [item for item in declared if item.kind == "module"]
    others = qualified(item for item in declared if item.kind != "module")
    comments = []
    for declaration in (*others, *modules):
        value = _first_string(declaration.node) if declaration.kind in kinds else None
        text = _text(data, value) if value else None
        if value and text:
            about = None if declaration.kind == "module" else declaration.span
            name = declaration.name or module
            span = span_of(value)
            comments.append(Comment(name, declaration.kind, "docstring", text, span, about))
    return comments, clean


def _first_string(node: tree_sitter.Node) -> tree_sitter.Node | None:
    """Return the string that is the first statement of a declaration's body, or of a module."""
    value = _first_statement(node.child_by_field_name("body") or node)
    if value is None or value.type != "expression_statement":
        return None
    while value is not None and value.type in ("expression_statement", "parenthesized_expression"):
        value = value.named_child(0) if value.named_child_count == 1 else None
    return value if value and value.type in ("string", "concatenated_string") else None


def _first_statement(body: tree_sitter.Node) -> tree_sitter.Node | None:
    cursor = body.walk()
    more = cursor.goto_first_child()
    while more:
        node = cursor.node
        if node is not None and node.is_named and node.type != "comment":
            return node
        more = cursor.goto_next_sibling()
    return None


def _text(data: bytes, value: tree_sitter.Node) -> CommentText | None:
    """Return what a string says; None where it is no docstring, but bytes or an expression."""
    text = CommentText()
    parts = [value] if value.type == "string" else value.named_children
    for string in (part for part in parts if part.type == "string"):
        match = _PREFIX.match(data, string.start_byte)
        prefix = match[0].decode().lower() if match else ""
        if _NO_DOCSTRING & set(prefix):
            return None
        for content in string.named_children:
            if content.type == "string_content":
                _add(text, data, content, raw="r" in prefix)
    return text


def _add(text: CommentText, data: bytes, content: tree_sitter.Node, *, raw: bool) -> None:
    """Add a string's content, escapes as what they stand for."""
    for piece in _pieces(content, raw=raw):
        written = data[piece.start : piece.end].decode()
        value = _decoded(written) if written.startswith("\\") and not raw else None
        if value is None:
            text.add(data, piece.start, piece.end)
        else:
            text.add_for(value, piece)


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
