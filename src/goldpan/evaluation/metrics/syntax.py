"""Syntax trees and the data flow of code: what two texts share.

Comments and docstrings are no part of a tree here; string literals are.

The original has a thousand lines of rules for seven languages. Here one table of node kinds serves
all grammars: an assignment, declaration, loop variable or default computes its targets from the
names on its other side, and a name that was defined before comes from that. Names are told apart
by their text, in the order of the file; scopes, branches and what a loop brings back are not.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from goldpan.code.grammar import Mark, ParsedCode, read
from goldpan.code.languages import language_of, second_language_of

if TYPE_CHECKING:
    from tree_sitter import Node


_FOLDER = files("goldpan.evaluation.metrics")
Shape = tuple[str, tuple[tuple[str, int], ...]]
"""A node's kind, then the field and number of each named child."""


def read_code(path: str, text: str) -> ParsedCode | None:
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


def named_children(node: Node, reading: ParsedCode) -> list[tuple[str, Node]]:
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


def subtrees(reading: ParsedCode, numbers: dict[Shape, int]) -> Counter[int]:
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


_KINDS = {
    name: frozenset(words.split())
    for name, words in tomllib.loads((_FOLDER / "data_flow.toml").read_text("utf-8")).items()
}
_PARAMETERS = ("parameters", "parameter_list")
_PARAMETER = "parameter"
_TYPE = "user_type"
_PLAIN = (b"=", b":=")


class ValueFlow(NamedTuple):
    """One variable gets its value from others."""

    variable: str
    relation: str
    """`computed` by an assignment, or `comes` from an earlier definition of the same name."""
    sources: tuple[str, ...]


def data_flow(reading: ParsedCode) -> Counter[ValueFlow]:
    """Count a text's flows, with variables named by the order in which they appear."""
    names: dict[str, str] = {}
    counts: Counter[ValueFlow] = Counter()
    for flow in _flows(reading):
        for name in (*flow.sources, flow.variable):
            names.setdefault(name, f"var_{len(names)}")
        sources = tuple(names[name] for name in flow.sources)
        counts[ValueFlow(names[flow.variable], flow.relation, sources)] += 1
    return counts


def _flows(reading: ParsedCode) -> list[ValueFlow]:
    flows: list[ValueFlow] = []
    defined: set[str] = set()
    waiting: list[Node | list[ValueFlow] | set[str]] = [reading.tree.root_node]
    while waiting:
        step = waiting.pop()
        if isinstance(step, list):
            flows += step
        elif isinstance(step, set):
            defined |= step
        elif step.type in _KINDS["names"]:
            name = _text(step, reading)
            if name in defined:
                flows.append(ValueFlow(name, "comes", (name,)))
        elif step.type.endswith(_PARAMETERS) or step.type == _PARAMETER:
            defined.update(_names(step, reading))
        else:
            waiting += reversed(_steps(step, reading))
    return flows


def _steps(node: Node, reading: ParsedCode) -> list[Node | list[ValueFlow] | set[str]]:
    """Return the steps within a node, in order; where it defines, its flows follow its sources."""
    children = _valued(node, reading)
    inner_nodes = [child for _, child in children]
    fields = {field for field, _ in children}
    has_both = not fields.isdisjoint(_KINDS["targets"]) and not fields.isdisjoint(_KINDS["sources"])
    if not (has_both and node.type in _KINDS["loops"]) and node.type not in _KINDS["defining"]:
        return list(inner_nodes)
    if has_both:
        targets = [child for field, child in children if field in _KINDS["targets"]]
        sources = [child for field, child in children if field in _KINDS["sources"]]
    else:  # grammars without fields, such as Lua's and Kotlin's, put the target first
        targets, sources = inner_nodes[:1], inner_nodes[1:]
    variables = [name for target in targets for name in _names(target, reading)]
    from_names = [name for source in sources for name in _names(source, reading)]
    if _updates(node):
        from_names = [*variables, *from_names]
    computed = tuple(dict.fromkeys(from_names))
    flows = [ValueFlow(name, "computed", computed) for name in variables] if computed else []
    ids = {child.id for child in (*targets, *sources)}
    others = [child for child in inner_nodes if child.id not in ids]
    return [*sources, flows, set(variables), *others]


def _valued(node: Node, reading: ParsedCode) -> list[tuple[str, Node]]:
    """Return the children that may hold values: no types and no names of members."""
    return [
        (field, child)
        for field, child in named_children(node, reading)
        if field not in _KINDS["no_values"] and child.type != _TYPE
    ]


def _updates(node: Node) -> bool:
    """Return whether an assignment also reads its target, as += does."""
    if node.type.startswith(("augmented", "compound", "operator")):
        return True
    sign = node.child_by_field_name("operator")
    word = sign.text if sign is not None else None
    return word is not None and word.endswith(b"=") and word not in _PLAIN


def _names(node: Node, reading: ParsedCode) -> list[str]:
    """Return the names within a node, in the order of the text."""
    names: list[str] = []
    waiting = [node]
    while waiting:
        inner = waiting.pop()
        if inner.type in _KINDS["names"]:
            names.append(_text(inner, reading))
        else:
            waiting += [child for _, child in reversed(_valued(inner, reading))]
    return names


def _text(node: Node, reading: ParsedCode) -> str:
    return reading.text[node.start_byte : node.end_byte].decode(errors="replace")
