"""Which values variables get from which others, as CodeBLEU compares it (Ren et al. 2020, 3.3).

The original has a thousand lines of rules for seven languages. Here one table of node kinds serves
all grammars: an assignment, declaration, loop variable or default computes its targets from the
names on its other side, and a name that was defined before comes from that. Names are told apart
by their text, in the order of the file; scopes, branches and what a loop brings back are not.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from goldpan.code.grammar import Reading
from goldpan.evaluation.metrics.syntax import named_children

if TYPE_CHECKING:
    from tree_sitter import Node

_NAMES = frozenset(
    {
        "identifier",
        "simple_identifier",
        "variable_name",
        "instance_variable",
        "class_variable",
        "global_variable",
        "shorthand_property_identifier",
        "shorthand_property_identifier_pattern",
    }
)
_DEFINING = frozenset(
    {
        "assignment",
        "augmented_assignment",
        "named_expression",
        "assignment_expression",
        "augmented_assignment_expression",
        "assignment_statement",
        "short_var_declaration",
        "compound_assignment_expr",
        "compound_assignment_expression",
        "operator_assignment",
        "variable_declarator",
        "var_spec",
        "const_spec",
        "init_declarator",
        "let_declaration",
        "let_condition",
        "val_definition",
        "var_definition",
        "property_declaration",
        "variable_assignment",
        "default_parameter",
        "typed_default_parameter",
        "for_in_clause",
        "range_clause",
    }
)
_LOOPS = frozenset(
    {
        "for_statement",
        "for_in_statement",
        "enhanced_for_statement",
        "for_expression",
        "for_range_loop",
        "foreach_statement",
        "for",
    }
)
_TARGETS = ("left", "name", "pattern", "declarator", "target")
_SOURCES = ("right", "value", "result")
_PARAMETERS = ("parameters", "parameter_list")
_PARAMETER = "parameter"
_NO_VALUES = frozenset({"type", "return_type", "attribute", "property", "field"})
_TYPE = "user_type"
_PLAIN = (b"=", b":=")


class Flow(NamedTuple):
    """One variable gets its value from others."""

    variable: str
    relation: str
    """`computed` by an assignment, or `comes` from an earlier definition of the same name."""
    sources: tuple[str, ...]


def data_flow(reading: Reading) -> Counter[Flow]:
    """Count a text's flows, with variables named by the order in which they appear."""
    names: dict[str, str] = {}
    counts: Counter[Flow] = Counter()
    for flow in _flows(reading):
        for name in (*flow.sources, flow.variable):
            names.setdefault(name, f"var_{len(names)}")
        sources = tuple(names[name] for name in flow.sources)
        counts[Flow(names[flow.variable], flow.relation, sources)] += 1
    return counts


def _flows(reading: Reading) -> list[Flow]:
    flows: list[Flow] = []
    defined: set[str] = set()
    waiting: list[Node | list[Flow] | set[str]] = [reading.tree.root_node]
    while waiting:
        step = waiting.pop()
        if isinstance(step, list):
            flows += step
        elif isinstance(step, set):
            defined |= step
        elif step.type in _NAMES:
            name = _text(step, reading)
            if name in defined:
                flows.append(Flow(name, "comes", (name,)))
        elif step.type.endswith(_PARAMETERS) or step.type == _PARAMETER:
            defined.update(_names(step, reading))
        else:
            waiting += reversed(_steps(step, reading))
    return flows


def _steps(node: Node, reading: Reading) -> list[Node | list[Flow] | set[str]]:
    """Return what to look at, in order; where a node defines, its flows follow its sources."""
    children = _valued(node, reading)
    inner: list[Node | list[Flow] | set[str]] = [child for _, child in children]
    fields = {field for field, _ in children}
    has_both = not fields.isdisjoint(_TARGETS) and not fields.isdisjoint(_SOURCES)
    if not (has_both and node.type in _LOOPS) and node.type not in _DEFINING:
        return inner
    if has_both:
        targets = [child for field, child in children if field in _TARGETS]
        sources = [child for field, child in children if field in _SOURCES]
    else:  # grammars without fields, such as Lua's and Kotlin's, put the target first
        targets, sources = [child for _, child in children[:1]], [c for _, c in children[1:]]
    variables = [name for target in targets for name in _names(target, reading)]
    from_names = [name for source in sources for name in _names(source, reading)]
    if _updates(node):
        from_names = [*variables, *from_names]
    computed = tuple(dict.fromkeys(from_names))
    flows = [Flow(name, "computed", computed) for name in variables] if computed else []
    ids = {child.id for child in (*targets, *sources)}
    rest = [child for _, child in children if child.id not in ids]
    return [*sources, flows, set(variables), *rest]


def _valued(node: Node, reading: Reading) -> list[tuple[str, Node]]:
    """Return the children that may hold values: no types and no names of members."""
    return [
        (field, child)
        for field, child in named_children(node, reading)
        if field not in _NO_VALUES and child.type != _TYPE
    ]


def _updates(node: Node) -> bool:
    """Tell whether an assignment also reads its target, as += does."""
    if node.type.startswith(("augmented", "compound", "operator")):
        return True
    sign = node.child_by_field_name("operator")
    word = sign.text if sign is not None else None
    return word is not None and word.endswith(b"=") and word not in _PLAIN


def _names(node: Node, reading: Reading) -> list[str]:
    """Return the names within a node, in the order of the text."""
    names: list[str] = []
    waiting = [node]
    while waiting:
        inner = waiting.pop()
        if inner.type in _NAMES:
            names.append(_text(inner, reading))
        else:
            waiting += [child for _, child in reversed(_valued(inner, reading))]
    return names


def _text(node: Node, reading: Reading) -> str:
    return reading.text[node.start_byte : node.end_byte].decode(errors="replace")
