"""The GraphQL endpoint without its transport: parse, price, refuse or execute."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import orjson
from graphql import (
    DocumentNode,
    GraphQLError,
    GraphQLSchema,
    OperationDefinitionNode,
    OperationType,
    execute_sync,
    get_variable_values,
    parse,
    validate,
)

from .cost import Cost, fragments_of, measure
from .paging import RefusedError
from .resolvers import Context
from .schema import Need, wired_schema
from .store import World

_CACHE_LIMIT = 2000

Documents = dict[str, DocumentNode | list[dict[str, Any]]]
Shapes = dict[int, tuple[DocumentNode, bytes]]
"""Documents that ask for a schema alone, by their identity, with the reply."""


@dataclass(frozen=True, slots=True)
class Query:
    """A request that GitHub would run."""

    document: DocumentNode
    operation: str | None
    variables: Mapping[str, Any]
    cost: Cost


@dataclass(frozen=True, slots=True)
class Rejected:
    """A request that GitHub refuses to run, with its reply."""

    operation: str | None
    reply: dict[str, Any]


@dataclass(slots=True)
class GraphQLApi:
    """Answers documents from a world; servers of the same types share what they validated."""

    world: World
    null_fields: Collection[Need] = ()
    lacks: Collection[Need] = ()
    _schema: GraphQLSchema = field(init=False)
    _documents: Documents = field(init=False)
    _shapes: Shapes = field(init=False)

    def __post_init__(self) -> None:
        lacks = frozenset(self.lacks)
        self._schema = wired_schema(frozenset(self.null_fields), lacks)
        self._documents, self._shapes = _shared(lacks)

    def prepare(self, payload: Any) -> Query | Rejected:
        """Check and price a request body."""
        if not isinstance(payload, dict) or not isinstance(payload.get("query"), str):
            return Rejected(None, {"message": "A query attribute must be specified", "errors": []})
        variables = payload.get("variables") or {}
        document = self._document(payload["query"])
        if isinstance(document, list):
            return Rejected(None, {"errors": document})
        operation = _operation(document, payload.get("operationName"))
        if operation is None:
            return Rejected(None, {"errors": [{"message": "No operation to run."}]})
        name = operation.name.value if operation.name else None
        values = get_variable_values(
            self._schema, list(operation.variable_definitions or ()), variables
        )
        if isinstance(values, list):
            return Rejected(name, {"errors": errors_json(values)})
        try:
            cost = measure(self._schema, operation, fragments_of(document), values.coerced)
        except RefusedError as refusal:
            return Rejected(name, {"errors": errors_json([refusal])})
        return Query(document, name, variables, cost)

    def run(self, query: Query, rate: dict[str, Any]) -> dict[str, Any]:
        """Execute a prepared query; `rate` is what its `rateLimit` field tells.

        What a schema says of itself is the same each time.
        """
        if not _asks_for_schema(query.document):
            return self._execute(query, rate)
        cached = self._shapes.get(id(query.document))
        if cached is None or cached[0] is not query.document:
            cached = (query.document, orjson.dumps(self._execute(query, rate)))
            self._shapes[id(query.document)] = cached
        reply: dict[str, Any] = orjson.loads(cached[1])
        if "rateLimit" in reply["data"]:
            reply["data"]["rateLimit"] = {name: rate[name] for name in reply["data"]["rateLimit"]}
        return reply

    def _execute(self, query: Query, rate: dict[str, Any]) -> dict[str, Any]:
        result = execute_sync(
            self._schema,
            query.document,
            context_value=Context(self.world, rate),
            variable_values=dict(query.variables),
            operation_name=query.operation,
            check_sync=False,
        )
        reply: dict[str, Any] = {"data": result.data}
        if result.errors:
            reply["errors"] = errors_json(result.errors)
        return reply

    def _document(self, text: str) -> DocumentNode | list[dict[str, Any]]:
        cached = self._documents.get(text)
        if cached is not None:
            return cached
        made: DocumentNode | list[dict[str, Any]]
        try:
            made = parse(text)
            errors = validate(self._schema, made)
            made = errors_json(errors) if errors else made
        except GraphQLError as error:
            made = errors_json([error])
        if len(self._documents) >= _CACHE_LIMIT:
            self._documents.clear()
        self._documents[text] = made
        return made


@cache
def _shared(lacks: frozenset[Need]) -> tuple[Documents, Shapes]:
    return {}, {}


def _asks_for_schema(document: DocumentNode) -> bool:
    """Tell a query of introspection, beside which nothing but `rateLimit` is asked for."""
    operations = [
        definition
        for definition in document.definitions
        if isinstance(definition, OperationDefinitionNode)
    ]
    names = [
        getattr(selection, "name", None)
        for only in operations
        for selection in only.selection_set.selections
    ]
    return len(operations) == 1 and all(
        name is not None and (name.value.startswith("__") or name.value == "rateLimit")
        for name in names
    )


def errors_json(errors: Iterable[GraphQLError]) -> list[dict[str, Any]]:
    """Return errors as GitHub writes them: the type stands beside the message."""
    made = []
    for error in errors:
        shown: dict[str, Any] = {}
        kind = (error.extensions or {}).get("type")
        if kind:
            shown["type"] = kind
        if error.path:
            shown["path"] = list(error.path)
        if error.locations:
            shown["locations"] = [
                {"line": location.line, "column": location.column} for location in error.locations
            ]
        made.append({**shown, "message": error.message})
    return made


def _operation(document: DocumentNode, name: str | None) -> OperationDefinitionNode | None:
    operations = [
        node
        for node in document.definitions
        if isinstance(node, OperationDefinitionNode) and node.operation is OperationType.QUERY
    ]
    if name is None:
        return operations[0] if len(operations) == 1 else None
    return next((node for node in operations if node.name and node.name.value == name), None)
