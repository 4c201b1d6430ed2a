"""Which nodes a GraphQL query asks for by id, and which of their lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionSetNode,
    value_from_ast_untyped,
)

from .resolvers import object_type
from .store import World
from .world import Entry, Repository

Place = list[str | int]


@dataclass(frozen=True, slots=True)
class Asked:
    """A node that a query asks for: where its reply has it, the entry, and lists with a page.

    `lists` maps the names of connections to their keys in the reply; those of a node below an
    entry are told with its type, such as `PullRequestReviewThread.comments`.
    """

    path: Place
    id: str
    number: int | None
    lists: Mapping[str, str]


def asked_nodes(
    document: DocumentNode, operation: str | None, variables: Mapping[str, Any], world: World
) -> list[Asked]:
    """Return the nodes that a valid query asks for with `node` and `nodes`."""
    fragments = {
        node.name.value: node
        for node in document.definitions
        if isinstance(node, FragmentDefinitionNode)
    }
    made = []
    for root in document.definitions:
        if not isinstance(root, OperationDefinitionNode):
            continue
        if operation is not None and (root.name is None or root.name.value != operation):
            continue
        for field, _ in _fields(root.selection_set, fragments):
            name = field.name.value
            if name not in ("node", "nodes"):
                continue
            arguments = _arguments(field, variables)
            ids = [arguments["id"]] if name == "node" else arguments["ids"]
            for index, identity in enumerate(ids):
                path: Place = [_key(field)] if name == "node" else [_key(field), index]
                made.append(_asked(path, identity, field, fragments, variables, world))
    return made


def _asked(
    path: Place,
    identity: str,
    field: FieldNode,
    fragments: Mapping[str, FragmentDefinitionNode],
    variables: Mapping[str, Any],
    world: World,
) -> Asked:
    node = world.node(identity)
    number, prefix, kind = None, "", ""
    if node is not None:
        kind = object_type(node)
        if isinstance(node, Entry):
            number = node.number
        elif not isinstance(node, Repository):
            number, prefix = node.home.number, f"{kind}."
    lists = {
        prefix + below.name.value: _key(below)
        for below, condition in _fields(field.selection_set, fragments)
        if condition in (None, kind, "Comment")
        and {"first", "last"} & set(_arguments(below, variables))
    }
    return Asked(path, identity, number, lists)


def _fields(
    selections: SelectionSetNode | None,
    fragments: Mapping[str, FragmentDefinitionNode],
    condition: str | None = None,
) -> Iterator[tuple[FieldNode, str | None]]:
    for node in selections.selections if selections else ():
        if isinstance(node, FieldNode):
            yield node, condition
        elif isinstance(node, FragmentSpreadNode):
            fragment = fragments[node.name.value]
            yield from _fields(
                fragment.selection_set, fragments, fragment.type_condition.name.value
            )
        elif isinstance(node, InlineFragmentNode):
            inner = node.type_condition.name.value if node.type_condition else condition
            yield from _fields(node.selection_set, fragments, inner)


def _key(field: FieldNode) -> str:
    return field.alias.value if field.alias else field.name.value


def _arguments(field: FieldNode, variables: Mapping[str, Any]) -> dict[str, Any]:
    return {
        argument.name.value: value_from_ast_untyped(argument.value, dict(variables))
        for argument in field.arguments or ()
    }
