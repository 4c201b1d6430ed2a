"""The executable schema: the trimmed SDL wired to resolvers, and what of it may be null."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from graphql import (
    GraphQLInterfaceType,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLUnionType,
    build_schema,
)

from .connections import CONNECTIONS
from .fields import FIELDS
from .resolvers import Resolver, attribute, object_type, timeline_type

Need = tuple[str, str]
"""A field by its type."""


SDL = (Path(__file__).parent / "schema.graphql").read_text(encoding="utf-8")
_FAMILIES = ("Connection", "Event")


@cache
def wired_schema(
    null_fields: frozenset[Need] = frozenset(), lacks: frozenset[Need] = frozenset()
) -> GraphQLSchema:
    """Return the schema without the fields that it `lacks`, ready to execute.

    Every field in `null_fields` answers null.
    """
    schema = build_schema(SDL)
    for owner, name in lacks:
        holder = schema.type_map[owner]
        assert isinstance(holder, GraphQLObjectType)
        del holder.fields[name]
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
