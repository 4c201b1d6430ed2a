"""The schema of a server that lacks what is new: fields, arguments, enum values, whole types."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from graphql import (
    REMOVE,
    DocumentNode,
    EnumTypeDefinitionNode,
    FieldDefinitionNode,
    GraphQLSchema,
    InputValueDefinitionNode,
    NamedTypeNode,
    ObjectTypeDefinitionNode,
    TypeNode,
    UnionTypeDefinitionNode,
    Visitor,
    build_ast_schema,
    parse,
    validate_schema,
    visit,
)
from graphql.language.ast import EnumValueDefinitionNode, Node

from .resolvers import enum_name

Need = tuple[str, str]


def schema_without(sdl: str, lacks: Collection[Need]) -> GraphQLSchema:
    """Build a schema without some of its parts.

    A part is (type, field), (enum, value), ("Type.field", argument) or (type, "__typename") for a
    whole type, which takes the fields and events of that type with it.
    """
    cutter = _Cutter(frozenset(lacks))
    document: DocumentNode = visit(parse(sdl), cutter)
    unknown = cutter.lacks - cutter.met
    if unknown:
        raise ValueError(f"not in the schema: {sorted(unknown)}")
    try:
        schema = build_ast_schema(document)
    except TypeError as error:
        raise ValueError(f"without {sorted(lacks)} the schema is none: {error}") from error
    problems = validate_schema(schema)
    if problems:
        raise ValueError(f"without {sorted(lacks)} the schema is none: {problems[0].message}")
    return schema


class _Cutter(Visitor):
    def __init__(self, lacks: frozenset[Need]) -> None:
        super().__init__()
        self.lacks = lacks
        self.met: set[Need] = set()
        self._types = {kind for kind, name in lacks if name == "__typename"}
        self._events = {enum_name(kind) for kind in self._types}

    def _is_out(self, need: Need) -> bool:
        if need in self.lacks:
            self.met.add(need)
        return need in self.lacks

    def enter_object_type_definition(self, node: ObjectTypeDefinitionNode, *_: Any) -> Any:
        return REMOVE if self._is_out((node.name.value, "__typename")) else None

    def enter_enum_type_definition(self, node: EnumTypeDefinitionNode, *_: Any) -> Any:
        return REMOVE if self._is_out((node.name.value, "__typename")) else None

    def enter_union_type_definition(self, node: UnionTypeDefinitionNode, *_: Any) -> Any:
        return REMOVE if self._is_out((node.name.value, "__typename")) else None

    def enter_named_type(
        self, node: NamedTypeNode, key: Any, parent: Any, path: Any, ancestors: Any
    ) -> Any:
        in_union = ancestors and isinstance(ancestors[-1], UnionTypeDefinitionNode)
        return REMOVE if in_union and node.name.value in self._types else None

    def enter_field_definition(
        self, node: FieldDefinitionNode, key: Any, parent: Any, path: Any, ancestors: Any
    ) -> Any:
        out = self._is_out((_owner(ancestors), node.name.value))
        return REMOVE if out or _named(node.type) in self._types else None

    def enter_input_value_definition(
        self,
        node: InputValueDefinitionNode,
        key: Any,
        parent: Any,
        path: Any,
        ancestors: Any,
    ) -> Any:
        field = next((node for node in ancestors if isinstance(node, FieldDefinitionNode)), None)
        holder = f"{_owner(ancestors)}.{field.name.value}" if field else _owner(ancestors)
        out = self._is_out((holder, node.name.value))
        return REMOVE if out or _named(node.type) in self._types else None

    def enter_enum_value_definition(
        self, node: EnumValueDefinitionNode, key: Any, parent: Any, path: Any, ancestors: Any
    ) -> Any:
        name, value = _owner(ancestors), node.name.value
        out = self._is_out((name, value))
        return REMOVE if out or (name.endswith("ItemType") and value in self._events) else None


def _owner(ancestors: list[Any]) -> str:
    holders = [node for node in ancestors if isinstance(node, Node) and hasattr(node, "name")]
    return str(holders[0].name.value) if holders else ""


def _named(kind: TypeNode) -> str:
    inner: Any = kind
    while not isinstance(inner, NamedTypeNode):
        inner = inner.type
    return inner.name.value
