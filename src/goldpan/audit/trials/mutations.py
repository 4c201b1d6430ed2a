"""Edits of the lines that a fix changes, one at a time, as in mutation testing.

A hunk or a statement is left out, a condition negated; an operator, a constant, a returned value or
an early exit becomes another; a type of exception becomes wider.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from goldpan.code.grammar import Mark, ParsedCode
from goldpan.code.languages import Language

if TYPE_CHECKING:
    from tree_sitter import Node

Kind = Literal[
    "hunk", "statement", "condition", "operator", "constant", "return", "exit", "exception"
]
_BLOCKS = re.compile(
    r"block|module|statement_block|statement_list|compound_statement|body_statement|then|program"
    r"|source_file|constructor_body|switch_block_statement_group|do_block|else"
)
_DEFINITION = re.compile(
    r"(?:async_)?(?:function|method|class|decorated|interface|enum|struct|trait|impl|type|module"
    r"|import|future_import|package|include|use|using|namespace|global|nonlocal|export|comment"
    r"|line_comment|block_comment|pass|empty)(?:_|$)"
)
"""Leaving these out breaks their users, or nothing."""
_RELEASE = re.compile(rb"\s*_*version(?:_info|_tuple)?_*\s*[:=]", re.I)
"""A line that names the project's release, which no issue asks for."""
_EXIT = re.compile(r"(?:return|raise|throw|break|continue|next)(?:_statement|_expression)?")
_RETURN = re.compile(r"return(?:_statement|_expression)?")
_TYPE = re.compile(r"type|type_annotation|type_arguments|type_parameters")
_CONDITIONAL = re.compile(r"(?:if|unless|while|until|for|ternary|conditional|elif|do)(?:_|$)")
_OPERATION = re.compile(
    r"binary|comparison|boolean_operator|augmented|compound_assign|additive|multiplicative"
    r"|equality|conjunction|disjunction"
)
_OPERATORS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "===": "!==",
    "!==": "===", "is": "is not", "is not": "is", "in": "not in", "not in": "in",
    "+": "-", "-": "+", "*": "/", "/": "*", "//": "*", "%": "*", "**": "*",
    "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "&": "|", "|": "&", "<<": ">>", ">>": "<<",
    "and": "or", "or": "and", "&&": "||", "||": "&&",
}  # fmt: skip
_NUMBER = re.compile(
    r"integer|float|number|number_literal|(?:decimal_)?(?:int|integer|float|floating_point)_literal"
)
_BOOLEANS = {"true": "false", "false": "true", "True": "False", "False": "True"}
SIGNS = re.compile(rb"([\"'`])[^\w\s\"'`\\{}%$]+\1")
"""A string without a word, such as a separator; most others are messages."""
_SWAPPED = {"break": "continue", "continue": "break"}
_NOTHING = {
    "Python": "None", "JavaScript": "undefined", "TypeScript": "undefined", "TSX": "undefined",
    "Java": "null", "C#": "null", "PHP": "null", "Ruby": "nil", "Lua": "nil", "Go": "nil",
    "C": "0", "C++": "0",
}  # fmt: skip
"""The empty value that a function returns instead of its own, by language."""
_WIDEST = {"Python": "Exception", "Java": "Exception", "C#": "Exception", "Ruby": "StandardError"}


@dataclass(frozen=True, slots=True)
class Block:
    """Neighboring lines that a fix changes."""

    first: int
    """Where they begin in the file after the fix, from 0."""
    added: int
    """How many lines the fix has there; none where it only removes some."""
    removed: bytes
    """The lines that stood there before the fix."""


@dataclass(frozen=True, slots=True)
class MutationEdit:
    """A change of a file that may be a variant."""

    kind: Kind
    start: int
    end: int
    text: bytes


def edits_of(
    reading: ParsedCode, language: Language, blocks: Sequence[Block]
) -> list[list[MutationEdit]]:
    """Return the edits of each block: leaving it out, and those of the nodes that lie in it."""
    starts = line_starts(reading.text)
    found: list[list[MutationEdit]] = []
    rows: dict[int, int] = {}
    for number, block in enumerate(blocks):
        end = block.first + block.added
        text = reading.text[starts[block.first] : starts[end]]
        if text and all(_RELEASE.match(line) for line in text.split(b"\n") if line.strip()):
            found.append([])
            continue
        found.append([MutationEdit("hunk", starts[block.first], starts[end], block.removed)])
        rows |= dict.fromkeys(range(block.first, end), number)
    waiting = [reading.tree.root_node]
    while waiting:
        node = waiting.pop()
        first, last = node.start_point.row, node.end_point.row
        last -= node.end_point.column == 0 and last > first
        if not any(row in rows for row in range(first, last + 1)):
            continue
        mark, number = reading.marks.get(node.id), rows.get(first, -1)
        # Lines between two blocks are in neither, and blocks never touch.
        if number >= 0 and last < blocks[number].first + blocks[number].added:
            found[number] += _edits_of_node(node, language, mark)
        is_text = mark in (Mark.COMMENT, Mark.STRING, Mark.EXACT)
        if not is_text and not _TYPE.fullmatch(node.type):
            waiting += reversed(node.children)
    return found


def _edits_of_node(node: Node, language: Language, mark: Mark | None) -> Iterator[MutationEdit]:
    if mark is Mark.STRING and (signs := SIGNS.fullmatch(node.text or b"")):
        yield _edit("constant", node, signs[1] * 2)
    if mark in (Mark.COMMENT, Mark.EXACT, Mark.STRING):
        return
    parent, text = node.parent, _text(node)
    yield from _left_out(node, language)
    if condition := _condition(node):
        yield _edit("condition", condition, _negated(condition, language))
    if parent is not None and _OPERATION.search(parent.type) and text in _OPERATORS:
        yield _edit("operator", node, _OPERATORS[text].encode())
    if _NUMBER.fullmatch(node.type) and (number := _other_number(text)):
        yield _edit("constant", node, number.encode())
    if not node.child_count and text in _BOOLEANS:
        yield _edit("constant", node, _BOOLEANS[text].encode())
    values = node.named_children if _RETURN.fullmatch(node.type) else []
    # Callers take a returned false for nothing.
    is_false = bool(values) and _BOOLEANS.get(_text(values[0]), "").lower() == "true"
    if values and not is_false and language.name in _NOTHING:
        nothing = _NOTHING[language.name].encode()
        yield MutationEdit("return", values[0].start_byte, values[-1].end_byte, nothing)
    if (caught := _caught(node, language)) and language.name in _WIDEST:
        yield _edit("exception", caught, _WIDEST[language.name].encode())


def _left_out(node: Node, language: Language) -> Iterator[MutationEdit]:
    """Yield the edits that leave a statement out, or swap `break` and `continue`."""
    parent, exits = node.parent, _EXIT.fullmatch(node.type) is not None
    if not node.is_named or parent is None or _DEFINITION.match(node.type):
        return
    kind: Kind = "exit" if exits else "statement"
    if _BLOCKS.fullmatch(parent.type):
        yield _edit(kind, node, b"pass" if language.name == "Python" else b"")
    elif node.type.endswith("_statement") and language.name != "Python":
        yield _edit(kind, node, b";")
    word = node.children[0] if exits and node.children else None
    if word is not None and (swapped := _SWAPPED.get(_text(word))):
        yield _edit("exit", word, swapped.encode())


def _condition(node: Node) -> Node | None:
    if not _CONDITIONAL.match(node.type) or not node.is_named:
        return None
    condition = node.child_by_field_name("condition")
    if condition is None and node.type == "conditional_expression" and node.child_count == 5:
        condition = node.children[2]  # Python's
    if condition is None and node.type == "if_clause":
        condition = node.named_children[0] if node.named_children else None
    if condition is None or not condition.is_named or condition.type.startswith("let_"):
        return None
    return condition


def _negated(condition: Node, language: Language) -> bytes:
    text = condition.text or b""
    if language.name in ("Python", "Lua"):
        return b"not (" + text + b")"
    if language.name == "Shell":
        return b"! (" + text + b")"
    return b"(!" + text + b")" if text.startswith(b"(") else b"!(" + text + b")"


def _caught(node: Node, language: Language) -> Node | None:
    """Return the type of exception that a clause catches, or that Python raises."""
    match node.type:
        case "except_clause":
            value = node.child_by_field_name("value")
            if value is not None and value.type == "as_pattern":
                value = value.named_children[0]
            return value
        case "catch_declaration":
            return node.child_by_field_name("type")
        case "catch_type" | "exceptions":
            return node
        case "raise_statement" if language.name == "Python" and node.named_children:
            raised = node.named_children[0]
            return raised.child_by_field_name("function") if raised.type == "call" else None
    return None


def _other_number(text: str) -> str:
    digits = text.replace("_", "")
    for convert in (int, float):
        try:
            return str(convert(digits) + 1)
        except (ValueError, OverflowError):
            continue
    return ""


def _edit(kind: Kind, node: Node, text: bytes) -> MutationEdit:
    return MutationEdit(kind, node.start_byte, node.end_byte, text)


def _text(node: Node) -> str:
    """Return a node's text; empty for a long one."""
    is_short = node.end_byte - node.start_byte < 40
    return (node.text or b"").decode("utf-8", "replace") if is_short else ""


def line_starts(content: bytes) -> list[int]:
    """Return where lines begin, and at last the end of the content."""
    return sorted({0, *(end.end() for end in re.finditer(b"\n", content)), len(content)})
