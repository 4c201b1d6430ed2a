"""Why a document is not run, told as GitHub tells it: path, code, message."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from graphql import (
    ArgumentNode,
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    GraphQLError,
    InlineFragmentNode,
    ListValueNode,
    Node,
    OperationDefinitionNode,
    Visitor,
    print_ast,
    visit,
)

_FIELD = re.compile(r"Cannot query field '(\w+)' on type '(\w+)'")
_ARGUMENT = re.compile(r"Unknown argument '(\w+)' on field '\w+\.(\w+)'")
_VALUE = re.compile(r"Value '\w+' does not exist in '(\w+)' enum")
_TYPE = re.compile(r"Unknown type '(\w+)'")


def refusals(errors: Iterable[GraphQLError], document: DocumentNode) -> list[dict[str, Any]]:
    """Return validation errors in GitHub's words."""
    return [_refusal(error, document) for error in errors]


def _refusal(error: GraphQLError, document: DocumentNode) -> dict[str, Any]:
    above = _above(document, error.nodes[0]) if error.nodes else []
    code, message = _explained(error.message, above)
    path = [label for label in map(_label, above) if label]
    return {
        "path": path,
        "extensions": code,
        "locations": [{"line": at.line, "column": at.column} for at in error.locations or ()],
        "message": message,
    }


def _explained(text: str, above: list[Node]) -> tuple[dict[str, str], str]:
    """Return the code with its names, and the message."""
    if match := _FIELD.match(text):
        name, kind = match.groups()
        code = {"code": "undefinedField", "typeName": kind, "fieldName": name}
        return code, f"Field '{name}' doesn't exist on type '{kind}'"
    if match := _ARGUMENT.match(text):
        name, field = match.groups()
        code = {
            "code": "argumentNotAccepted",
            "name": field,
            "typeName": "Field",
            "argumentName": name,
        }
        return code, f"Field '{field}' doesn't accept argument '{name}'"
    if match := _TYPE.match(text):
        code = {"code": "undefinedType", "typeName": match[1]}
        return code, f"No such type {match[1]}, so it can't be a fragment condition"
    if match := _VALUE.match(text):
        argument = next(node for node in above if isinstance(node, ArgumentNode))
        field_node = [node for node in above if isinstance(node, FieldNode)][-1]
        name, kind = argument.name.value, match[1]
        expected = f"[{kind}!]" if isinstance(argument.value, ListValueNode) else kind
        code = {"code": "argumentLiteralsIncompatible", "typeName": "Field", "argumentName": name}
        return code, (
            f"Argument '{name}' on Field '{field_node.name.value}' has an invalid value "
            f"({print_ast(argument.value)}). Expected type '{expected}'."
        )
    return {"code": "invalid"}, text


def _above(document: DocumentNode, target: Node) -> list[Node]:
    """Return the nodes that hold a node, the outermost first, and the node itself."""
    finder = _Finder(target)
    visit(document, finder)
    return finder.nodes


class _Finder(Visitor):
    def __init__(self, target: Node) -> None:
        super().__init__()
        self._target = target
        self.nodes: list[Node] = []

    def enter(self, node: Node, key: Any, parent: Any, path: Any, ancestors: list[Any]) -> None:
        if node is self._target:
            self.nodes = [node for node in (*ancestors, parent, node) if isinstance(node, Node)]


def _label(node: Node) -> str | None:
    match node:
        case OperationDefinitionNode():
            name = f" {node.name.value}" if node.name else ""
            return f"{node.operation.value}{name}"
        case FragmentDefinitionNode():
            return f"fragment {node.name.value}"
        case InlineFragmentNode():
            return f"... on {node.type_condition.name.value}" if node.type_condition else "..."
        case FieldNode():
            return node.alias.value if node.alias else node.name.value
        case ArgumentNode():
            return node.name.value
        case _:
            return None
