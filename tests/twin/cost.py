"""What a GraphQL query costs, and whether GitHub would run it at all.

GitHub counts one request for each connection and each of its parents, and prices a query at
a hundredth of their sum; it counts nodes from the `first` and `last` arguments alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLInterfaceType,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLSchema,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionNode,
    SelectionSetNode,
    get_named_type,
    value_from_ast_untyped,
)

from .paging import RefusedError

PAGE_LIMIT = 100
NODE_LIMIT = 500_000
_BOUNDED = {"nodes", "edges", "pageInfo"}


@dataclass(frozen=True, slots=True)
class Cost:
    """The price of a query: connection requests, the points they make, and nodes."""

    requests: int
    nodes: int

    @property
    def points(self) -> int:
        """Return the points, at least one."""
        return max(1, int(self.requests / 100 + 0.5))


def measure(
    schema: GraphQLSchema,
    operation: OperationDefinitionNode,
    fragments: Mapping[str, FragmentDefinitionNode],
    variables: Mapping[str, Any],
) -> Cost:
    """Return a valid operation's cost; raise `RefusedError` where GitHub does not run it."""
    root = schema.query_type
    if root is None:
        raise LookupError("the schema has no query type")
    walk = _Walk(schema, fragments, variables)
    walk.visit(operation.selection_set, root, 1, ())
    if walk.nodes > NODE_LIMIT:
        raise RefusedError(
            "MAX_NODE_LIMIT_EXCEEDED",
            f"This query requests up to {walk.nodes:,} possible nodes which exceeds the maximum "
            f"limit of {NODE_LIMIT:,}.",
        )
    return Cost(walk.requests, walk.nodes)


def arguments_of(node: FieldNode, variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a field by name."""
    return {
        argument.name.value: value_from_ast_untyped(argument.value, dict(variables))
        for argument in node.arguments or ()
    }


def fragments_of(document: DocumentNode) -> dict[str, FragmentDefinitionNode]:
    """Return the fragments of a document by name."""
    nodes = document.definitions
    return {node.name.value: node for node in nodes if isinstance(node, FragmentDefinitionNode)}


@dataclass(slots=True)
class _Walk:
    schema: GraphQLSchema
    fragments: Mapping[str, FragmentDefinitionNode]
    variables: Mapping[str, Any]
    requests: int = 0
    nodes: int = 0
    seen: set[tuple[tuple[str, ...], str]] = field(default_factory=set)

    def visit(
        self,
        selections: SelectionSetNode,
        parent: GraphQLNamedType,
        parents: int,
        path: tuple[str, ...],
    ) -> None:
        for node in selections.selections:
            if isinstance(node, FieldNode):
                self._field(node, parent, parents, path)
                continue
            target = self._target(node)
            condition = target.type_condition
            kind = parent if condition is None else self.schema.type_map[condition.name.value]
            self.visit(target.selection_set, kind, parents, path)

    def _target(self, node: SelectionNode) -> FragmentDefinitionNode | InlineFragmentNode:
        if isinstance(node, FragmentSpreadNode):
            return self.fragments[node.name.value]
        if isinstance(node, InlineFragmentNode):
            return node
        raise TypeError(f"not a fragment: {node}")

    def _field(
        self, node: FieldNode, parent: GraphQLNamedType, parents: int, path: tuple[str, ...]
    ) -> None:
        name = node.name.value
        if name.startswith("__") or not isinstance(
            parent, GraphQLObjectType | GraphQLInterfaceType
        ):
            return
        kind = get_named_type(parent.fields[name].type)
        inner_path = (*path, node.alias.value if node.alias else name)
        if node.selection_set is None:
            return
        if kind.name.endswith("Connection"):
            parents = self._connection(node, parent, parents, inner_path)
        elif parent is self.schema.query_type and name == "nodes":
            parents *= self._count_ids(node, inner_path)
        self.visit(node.selection_set, kind, parents, inner_path)

    def _connection(
        self, node: FieldNode, parent: GraphQLNamedType, parents: int, path: tuple[str, ...]
    ) -> int:
        name = node.name.value
        arguments = arguments_of(node, self.variables)
        size = arguments.get("first", arguments.get("last"))
        if size is not None and not 1 <= size <= PAGE_LIMIT:
            raise RefusedError(
                "EXCESSIVE_PAGINATION",
                f"Requesting {size} records on the `{name}` connection exceeds the "
                f"limit of {PAGE_LIMIT} records.",
                path,
            )
        if size is None and self._needs_bounds(node):
            raise RefusedError(
                "MISSING_PAGINATION_BOUNDARIES",
                f"You must provide a `first` or `last` value to properly paginate the `{name}` "
                "connection.",
                path,
            )
        below = parents * (size or 1)
        mark = (path, parent.name)
        if mark not in self.seen:
            self.seen.add(mark)
            self.requests += parents
            self.nodes += below if size else 0
        return below

    def _needs_bounds(self, node: FieldNode) -> bool:
        pending = [node.selection_set]
        while pending:
            selections = pending.pop()
            for child in selections.selections if selections else ():
                if isinstance(child, FieldNode):
                    if child.name.value in _BOUNDED:
                        return True
                else:
                    pending.append(self._target(child).selection_set)
        return False

    def _count_ids(self, node: FieldNode, path: tuple[str, ...]) -> int:
        ids = arguments_of(node, self.variables)["ids"]
        count = len(ids) if isinstance(ids, list) else 1
        if count > PAGE_LIMIT:
            raise RefusedError(
                "ARGUMENT_LIMIT",
                f"You may not provide more than {PAGE_LIMIT} node ids; you provided {count}.",
                path,
            )
        return count
