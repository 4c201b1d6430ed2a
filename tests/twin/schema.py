"""The executable schema: the trimmed SDL wired to resolvers, and what of it may be null."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from graphql import (
    REMOVE,
    DocumentNode,
    FieldDefinitionNode,
    GraphQLInterfaceType,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLUnionType,
    InputValueDefinitionNode,
    NamedTypeNode,
    TypeDefinitionNode,
    TypeNode,
    UnionTypeDefinitionNode,
    Visitor,
    build_ast_schema,
    build_schema,
    parse,
    validate_schema,
    visit,
)
from graphql.language.ast import EnumValueDefinitionNode, Node

from .connections import CONNECTIONS
from .fields import FIELDS
from .resolvers import Resolver, attribute, enum_name, object_type, timeline_type

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

    def _enter_type(self, node: TypeDefinitionNode, *_: Any) -> Any:
        return REMOVE if self._is_out((node.name.value, "__typename")) else None

    enter_object_type_definition = enter_enum_type_definition = _enter_type
    enter_union_type_definition = _enter_type

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
        self, node: InputValueDefinitionNode, key: Any, parent: Any, path: Any, ancestors: Any
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


SDL = (Path(__file__).parent / "schema.graphql").read_text(encoding="utf-8")
_FAMILIES = ("Connection", "Event")


@cache
def wired_schema(
    null_fields: frozenset[Need] = frozenset(), lacks: frozenset[Need] = frozenset()
) -> GraphQLSchema:
    """Return the schema without what it `lacks`, ready to execute.

    Every field in `null_fields` answers null.
    """
    schema = schema_without(SDL, lacks)
    nullable = set(nullable_fields(schema))
    unknown = null_fields - nullable
    if unknown:
        raise ValueError(f"not nullable fields of the schema: {sorted(unknown)}")
    for name, kind in schema.type_map.items():
        if isinstance(kind, GraphQLUnionType | GraphQLInterfaceType):
            kind.resolve_type = (
                (lambda value, info, abstract: timeline_type(value))
                if name.endswith("TimelineItems")
                else (lambda value, info, abstract: object_type(value))
            )
        elif isinstance(kind, GraphQLObjectType) and not name.startswith("__"):
            for field_name, field in kind.fields.items():
                field.resolve = (
                    _nothing if (name, field_name) in null_fields else _resolver(name, field_name)
                )
    return schema


def nullable_fields(schema: GraphQLSchema | None = None) -> Iterator[tuple[str, str]]:
    """Yield every (type, field) that GitHub may answer with null, but for the query's own."""
    for name, kind in (schema or build_schema(SDL)).type_map.items():
        if isinstance(kind, GraphQLObjectType) and not name.startswith("__") and name != "Query":
            for field_name, field in kind.fields.items():
                if not isinstance(field.type, GraphQLNonNull):
                    yield name, field_name


def _resolver(type_name: str, field_name: str) -> Resolver:
    families = [f"_{family}" for family in _FAMILIES if type_name.endswith(family)]
    resolver = CONNECTIONS.get((type_name, field_name))
    return resolver or _lookup([type_name, *families], field_name) or attribute(_snake(field_name))


def _lookup(tables: Iterable[str], field_name: str) -> Resolver | None:
    for table in tables:
        resolver = FIELDS.get(table, {}).get(field_name)
        if resolver is not None:
            return resolver
    return None


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _nothing(source: object, info: object, **_: object) -> None:
    return None
