"""Whether two trees nest the same code alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from goldpan.code.difference import shared_ends
from goldpan.code.grammar import Mark, Reading, code_bytes

if TYPE_CHECKING:
    from tree_sitter import Node


def same_structure(before: Reading, after: Reading) -> bool:
    """Tell whether two versions are the same tree, but for comments and what strings say.

    Both must have the same grammar. Two nodes of one type that cover the same bytes, before or
    after all that changed, are taken to be the same where they have as many nodes within.
    """
    start, tail = shared_ends(before.text, after.text)
    ends = len(before.text), len(after.text)
    open_nodes = [([before.tree.root_node], [after.tree.root_node], Mark.CODE)]
    while open_nodes:
        left, right, outer = open_nodes.pop()
        if len(left) != len(right):
            return False
        for left_node, other in zip(left, right, strict=True):
            mark = _mark(left_node, before, outer)
            if mark is not _mark(other, after, outer):
                return False
            if mark is not Mark.STRING and left_node.kind_id != other.kind_id:
                return False
            within = left_node.end_byte <= start or left_node.start_byte >= ends[0] - tail
            if within and _position(left_node, start, ends[0]) == _position(other, start, ends[1]):
                continue
            if not (left_node.child_count or other.child_count or mark is Mark.STRING):
                if _words(left_node, before, mark) != _words(other, after, mark):
                    return False
                continue
            open_nodes.append((_within(left_node, before, mark), _within(other, after, mark), mark))
    return True


def _mark(node: Node, reading: Reading, outer: Mark) -> Mark:
    mark = reading.marks.get(node.id)
    return outer if mark is None else mark.within(outer)


def _position(node: Node, start: int, end: int) -> tuple[int, int, int]:
    """Return where a node stands, from the start of its text or else from its end."""
    origin = 0 if node.end_byte <= start else end
    return node.start_byte - origin, node.end_byte - origin, node.descendant_count


def _words(node: Node, reading: Reading, mark: Mark) -> list[bytes]:
    return code_bytes(reading.text[node.start_byte : node.end_byte], mark, reading.grammar).split()


def _within(node: Node, reading: Reading, outer: Mark) -> list[Node]:
    """Return the children that are code; those of a string are its interpolations."""
    nodes: list[Node] = []
    waiting = node.children[::-1]
    while waiting:
        child = waiting.pop()
        mark = _mark(child, reading, outer)
        if mark is Mark.STRING and outer is Mark.STRING:
            waiting.extend(child.children[::-1])
        elif mark is not Mark.COMMENT:
            nodes.append(child)
    return nodes
