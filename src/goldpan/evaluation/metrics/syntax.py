"""The syntax trees of two texts: which subtrees they share, and whether they are the same.

Comments and docstrings are no part of a tree here; string literals are.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from goldpan.code.grammar import Mark, Reading, read
from goldpan.code.languages import language_of, second_language_of

if TYPE_CHECKING:
    from tree_sitter import Node

Shape = tuple[str, tuple[tuple[str, int], ...]]
"""A node's kind, then the field and number of each named child."""


def read_code(path: str, text: str) -> Reading | None:
    """Parse a text as the language that a path's suffix names; None where that has no grammar.

    Where it does not parse, a second language that shares the suffix is tried.
    """
    language, second = language_of(path), second_language_of(path)
    if language is None or language.grammar is None:
        return None
    code = text.encode(errors="replace")
    reading = read(code, language.grammar)
    if not reading.clean and second and second.grammar:
        other = read(code, second.grammar)
        return other if other.clean else reading
    return reading


def named_children(node: Node, reading: Reading) -> list[tuple[str, Node]]:
    """Return the children that are named and no comments, with their fields ("" for none)."""
    nodes: list[tuple[str, Node]] = []
    cursor = node.walk()  # asking a node for the field of its n-th child takes n steps
    more = cursor.goto_first_child()
    while more:
        child = cursor.node
        if child and child.is_named and reading.marks.get(child.id) is not Mark.COMMENT:
            nodes.append((cursor.field_name or "", child))
        more = cursor.goto_next_sibling()
    return nodes


def subtrees(reading: Reading, numbers: dict[Shape, int]) -> Counter[int]:
    """Count a tree's subtrees by their shape: the kinds of nodes, whatever their text.

    A leaf is no subtree. `numbers` gives equal shapes of several trees the same number.
    """
    order: list[Node] = []
    root = reading.tree.root_node
    waiting = [root]
    while waiting:
        node = waiting.pop()
        order.append(node)
        waiting.extend(child for _, child in named_children(node, reading))
    counts: Counter[int] = Counter()
    shape_of: dict[int, int] = {}
    for node in reversed(order):
        children = named_children(node, reading)
        shape = (node.type, tuple((field, shape_of[child.id]) for field, child in children))
        number = shape_of[node.id] = numbers.setdefault(shape, len(numbers))
        if node.child_count or node is root:
            counts[number] += 1
    return counts


def same_code(path: str, code: str, other: str) -> bool:
    """Tell whether two versions of a file have the same tree, down to the text of its leaves.

    White space and comments do not count, unless one version does not parse or its language has
    no grammar: then only equal texts are the same.
    """
    if code == other:
        return True
    first, last = read_code(path, code), read_code(path, other)
    if first is None or last is None or not (first.clean and last.clean):
        return False
    if first.grammar is not last.grammar:
        return False
    waiting = [(first.tree.root_node, last.tree.root_node)]
    while waiting:
        left, right = waiting.pop()
        if left.kind_id != right.kind_id or _own_text(left, first) != _own_text(right, last):
            return False
        inner, others = _code_within(left, first), _code_within(right, last)
        if len(inner) != len(others):
            return False
        waiting.extend(zip(inner, others, strict=True))
    return True


def _code_within(node: Node, reading: Reading) -> list[Node]:
    """Return the children that are no comments; those of a string are in its own text."""
    if reading.marks.get(node.id) is Mark.STRING:
        return []
    marks = reading.marks
    return [child for child in node.children if marks.get(child.id) is not Mark.COMMENT]


def _own_text(node: Node, reading: Reading) -> bytes | list[bytes]:
    """Return a node's text outside of its children, white space set aside but in strings."""
    text = reading.text[node.start_byte : node.end_byte]
    if reading.marks.get(node.id) is Mark.STRING:
        return text
    if not node.child_count:
        return text if node.is_named else text.split()
    words: list[bytes] = []
    at = node.start_byte
    for child in node.children:
        words += reading.text[at : child.start_byte].split()
        at = child.end_byte
    return words + reading.text[at : node.end_byte].split()
