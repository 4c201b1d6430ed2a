"""The functions and classes around lines of a file, as its grammar sees them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from goldpan.code.grammar import Grammar, load_grammar

if TYPE_CHECKING:
    from tree_sitter import Node

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
