"""Parsing with tree-sitter: a text's code without comments and strings, and its structure."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from typing import TYPE_CHECKING, Literal

from goldpan.code.lexer import STRING, LexicalRules, Stripped, mark_continued_lines, strip
from goldpan.core.imports import load

if TYPE_CHECKING:
    import tree_sitter
    from tree_sitter import Node


class Mark(IntEnum):
    """The kind of a span of text; of two on the same span, the greater is the inner one."""

    COMMENT = 0
    EXACT = 1
    """Code whose string literals are code too, such as the path of an import."""
    STRING = 2
    RAW = 3
    """Text that the grammar leaves whole: `Grammar.raw` reads it."""
    CODE = 4

    def within(self, outer: Mark) -> Mark:
        """Return what a part marked like this is where it stands within another."""
        if outer is Mark.CODE or self is Mark.CODE:
            return self
        return self if outer is Mark.EXACT and self is Mark.COMMENT else outer


@dataclass(frozen=True, slots=True)
class Grammar:
    """A tree-sitter grammar, and which of its nodes are not code."""

    package: str
    comments: tuple[str, ...]
    """Node types."""
    strings: tuple[str, ...]
    """Node types."""
    code: tuple[str, ...] = ()
    """Node types that are code again inside of a string: interpolations."""
    patterns: str = ""
    """More queries, whose captures have the names of marks, in lower case."""
    entry: str = "language"
    """The function of the package that gives the grammar."""
    prefixes: bytes = b""
    """Letters before a string's first quote that make it another type, and so are code."""
    inside: bytes | None = None
    """Pattern of code within a string that the grammar does not parse; group 1 is the code."""
    raw: LexicalRules | None = None


@dataclass(frozen=True, slots=True)
class ParsedCode:
    """One version of a file as its grammar sees it; `clean` where it parses without error."""

    text: bytes
    stripped: Stripped
    clean: bool
    tree: tree_sitter.Tree
    marks: dict[int, Mark]
    grammar: Grammar


def read(text: bytes, grammar: Grammar) -> ParsedCode:
    """Parse UTF-8 text. Nothing bounds the time that a hostile text takes."""
    import tree_sitter

    language, query = load_grammar(grammar)
    tree = tree_sitter.Parser(language).parse(text)
    captures = tree_sitter.QueryCursor(query).captures(tree.root_node)
    nodes = [
        (node.start_byte, -node.end_byte, mark, node.id)
        for mark in Mark
        for node in captures.get(mark.name.lower(), ())
    ]
    nodes.sort()
    marks: dict[int, Mark] = {}
    for _, _, mark, node in nodes:
        marks[node] = mark.within(marks[node]) if node in marks else mark
    return ParsedCode(
        text=text,
        stripped=_take_apart(text, nodes, grammar),
        clean=not tree.root_node.has_error,
        tree=tree,
        marks=marks,
        grammar=grammar,
    )


@cache
def load_grammar(grammar: Grammar) -> tuple[tree_sitter.Language, tree_sitter.Query]:
    """Return a grammar's language, and its queries as one.

    Raises `UsageError` where its package is not installed.
    """
    import tree_sitter

    entry = getattr(load(grammar.package, "Reading this programming language"), grammar.entry)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # some packages give a bare pointer
        language = tree_sitter.Language(entry())
    kinds = {"comment": grammar.comments, "string": grammar.strings, "code": grammar.code}
    parts = [f"({kind}) @{name}" for name, group in kinds.items() for kind in group]
    return language, tree_sitter.Query(language, "\n".join([*parts, grammar.patterns]))


def _take_apart(text: bytes, nodes: list[tuple[int, int, Mark, int]], grammar: Grammar) -> Stripped:
    parts: list[bytes] = []
    comments: list[bytes] = []
    strings: list[bytes] = []
    at = 0
    around = [(len(text), Mark.CODE)]
    for start, negative_end, mark, _ in (*nodes, (len(text), -len(text), Mark.CODE, 0)):
        while len(around) > 1 and around[-1][0] <= start:
            end, inner = around.pop()
            parts.append(code_bytes(text[at:end], inner, grammar))
            at = end
        outer = around[-1][1]
        parts.append(code_bytes(text[at:start], outer, grammar))
        at = start
        inner = mark.within(outer)
        if inner is Mark.STRING and outer is Mark.CODE:
            parts.append(_prefix(text, start, grammar) + STRING)
            strings.append(text[start:-negative_end])
        elif inner is Mark.COMMENT and outer is not Mark.COMMENT:
            comments.append(text[start:-negative_end])
        around.append((-negative_end, inner))
    return Stripped(mark_continued_lines(b"".join(parts)), comments, strings)


def code_bytes(text: bytes, mark: Mark, grammar: Grammar) -> bytes:
    """Return what the code has of a part of the text."""
    if mark in (Mark.CODE, Mark.EXACT) or not text:
        return text
    if mark is Mark.RAW and grammar.raw:
        return strip(text, grammar.raw).code
    lines = b"\n" * text.count(b"\n") or b" "
    if mark is Mark.STRING and grammar.inside:
        return b" ".join([*filter(None, re.findall(grammar.inside, text)), lines])
    return lines


def _prefix(text: bytes, start: int, grammar: Grammar) -> bytes:
    if not grammar.prefixes:
        return b""
    match = re.compile(rb"[A-Za-z0-9]{0,3}+(?=[\"'])").match(text, start)
    return bytes(sign for sign in match[0] if sign in grammar.prefixes) if match else b""


_FUNCTION = re.compile(
    r"(?:function|method|constructor|generator_function)(?:_definition|_declaration|_item)?"
    r"|singleton_method"
)
_CLASS = re.compile(
    r"(?:class|struct|union|interface|trait|enum|record|object|module)"
    r"(?:_definition|_declaration|_item|_specifier)?|impl_item|type_spec"
)
_FUNCTIONS_OF_NAMES = ("arrow_function", "function_expression", "function")
_DEEPEST = 6  # declarators within each other, such as of a function that returns a pointer


@dataclass(frozen=True, slots=True)
class Symbol:
    """A definition."""

    kind: Literal["class", "function"]
    name: str


def symbols_around(text: bytes, grammar: Grammar, lines: Iterable[int]) -> tuple[Symbol, ...]:
    """Return the definitions that hold any of these lines, from 1, each once, inner ones first.

    Raises `UsageError` where the grammar's package is not installed. Nothing bounds the time that
    a hostile text takes.
    """
    import tree_sitter

    language, _ = load_grammar(grammar)
    tree = tree_sitter.Parser(language).parse(text)
    rows = text.split(b"\n")
    found: dict[Symbol, None] = {}
    for line in lines:
        if not 0 < line <= len(rows):
            continue
        row = rows[line - 1]
        point = (line - 1, len(row) - len(row.lstrip()))
        node = tree.root_node.descendant_for_point_range(point, point)
        found |= dict.fromkeys(_definitions(node))
    return tuple(found)


def _definitions(node: Node | None) -> Iterator[Symbol]:
    while node is not None:
        name = _name(node)
        if name and _is_function(node):
            yield Symbol("function", name)
        elif name and _CLASS.fullmatch(node.type):
            yield Symbol("class", name)
        node = node.parent


def _is_function(node: Node) -> bool:
    if node.type == "variable_declarator":
        value = node.child_by_field_name("value")
        return value is not None and value.type in _FUNCTIONS_OF_NAMES
    return _FUNCTION.fullmatch(node.type) is not None


def _name(node: Node) -> str:
    name = node.child_by_field_name("name")
    if name is None and node.type == "impl_item":
        name = node.child_by_field_name("type")
    declarator = node.child_by_field_name("declarator") if name is None else None
    for _ in range(_DEEPEST):
        if declarator is None:
            break
        name, declarator = declarator, declarator.child_by_field_name("declarator")
    text = name.text if name is not None else None
    return (text or b"").decode("utf-8", "replace")
