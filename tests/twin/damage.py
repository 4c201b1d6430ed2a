"""Replies of GraphQL that came, but not whole: parts are null, and errors stand beside the data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .errors import ERRORS
from .faults import Asked, Place, Strike


def spoil(reply: dict[str, Any], strike: Strike) -> None:
    """Take what was asked for (or the last item of one of its lists) away, with a named error."""
    name, list_name = strike.fault.error, strike.fault.connection
    for request in strike.asked or [_anything(reply, strike.draw)]:
        path = _path_in(reply, request, list_name)
        if name == "path to nowhere":
            _tell(reply, name, request, [*request.path[:1], 1_000, "timelineItems"])
        elif name == "no path":
            _tell(reply, name, request, None)
        elif path is not None:
            _take_away(reply, path)
            # What costs too much is told where it was met, below what is null then.
            deeper = [*path, *list(request.lists.values())[:1]]
            _tell(reply, name, request, deeper if name == "RESOURCE_LIMITS_EXCEEDED" else path)


def _anything(reply: dict[str, Any], draw: int | None) -> Asked:
    """Return anything that may be null, by a random number; without one the last outermost item."""
    places = [path for path in _nullable(reply.get("data"), []) if path[0] != "rateLimit"]
    if draw is not None and places:
        return Asked(places[draw % len(places)], "", None, {})
    items = [path for path in places if isinstance(path[-1], int)] or places
    shallow = min(map(len, items), default=0)
    deepest = next((path for path in reversed(items) if len(path) == shallow), [])
    return Asked(deepest, "", None, {})


def _path_in(reply: dict[str, Any], request: Asked, list_name: str | None) -> Place | None:
    node = _at(reply, request.path)
    if not request.path or node is None:
        return None
    if list_name is None:
        return request.path
    key = request.lists[list_name]
    nodes = node[key]["nodes"]
    return [*request.path, key, "nodes", len(nodes) - 1] if nodes else None


def _at(reply: dict[str, Any], path: Place) -> Any:
    value = reply.get("data")
    for step in path:
        value = None if value is None else value[step]
    return value


def _tell(reply: dict[str, Any], name: str, request: Asked, path: Place | None) -> None:
    error = ERRORS[name]
    detail: dict[str, Any] = {"type": error.type} if error.type else {}
    if path is not None:
        detail["path"] = path
    if error.extensions:
        detail["extensions"] = dict(error.extensions)
    detail["locations"] = [{"line": 3, "column": 3}]
    detail["message"] = (
        error.message.format(id=request.id) if "{id}" in error.message else error.message
    )
    reply.setdefault("errors", []).append(detail)


def _take_away(reply: dict[str, Any], path: Place) -> None:
    holder = _at(reply, path[:-1])
    holder[path[-1]] = None


def _nullable(value: Any, path: Place) -> Iterator[Place]:
    """Yield the paths of the objects that may be null: top fields and elements of `nodes`."""
    if isinstance(value, dict):
        for key, child in value.items():
            inner = [*path, key]
            if not path and isinstance(child, dict):
                yield inner
            yield from _nullable(child, inner)
    elif isinstance(value, list) and path and path[-1] == "nodes":
        for index, child in enumerate(value):
            if isinstance(child, dict):
                yield [*path, index]
            yield from _nullable(child, [*path, index])
