"""Replies of GraphQL that came, but not whole: parts are null, and errors stand beside the data."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from .errors import ERRORS
from .faults import Asked, Place


def spoil(reply: dict[str, Any], name: str, nodes: Sequence[Asked], list_name: str | None) -> None:
    """Take what was asked for (or the last item of one of its lists) away, with a named error."""
    for request in nodes or [_anything(reply)]:
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


def _anything(reply: dict[str, Any]) -> Asked:
    places = [path for path in _nullable(reply.get("data"), []) if path[0] != "rateLimit"]
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


def null_poisoned(reply: dict[str, Any], variables: dict[str, Any], ids: Collection[str]) -> None:
    """Answer null, with an error, for poisoned nodes."""
    data = reply.get("data") or {}
    asked_ids = variables.get("ids")
    if isinstance(asked_ids, list) and isinstance(data.get("nodes"), list):
        for index, identity in enumerate(asked_ids):
            if identity in ids:
                _hide(reply, ["nodes", index], _SOMETHING)
    for key, value in list(data.items()):
        if isinstance(value, dict) and value.get("id") in ids:
            _hide(reply, [key], _SOMETHING)


def damage(reply: dict[str, Any], kind: str, key: bytes) -> None:
    """Make a reply partial in the way that `errors` or `resource_limits` replies are."""
    places = [path for path in _nullable(reply.get("data"), []) if path[0] != "rateLimit"]
    if not places:
        return
    if kind == "errors":
        _hide(reply, places[zlib.crc32(key) % len(places)], _SOMETHING)
        return
    tops = [path for path in places if len(path) <= 2]
    for path in tops[len(tops) // 2 :]:
        _hide(reply, path, _RESOURCES)


_SOMETHING = (
    "SOMETHING_WENT_WRONG",
    "Something went wrong while executing your query. Please include this id when reporting.",
)
_RESOURCES = ("RESOURCE_LIMITS_EXCEEDED", "Resource limits for this query exceeded.")


def _hide(reply: dict[str, Any], path: Place, error: tuple[str, str]) -> None:
    _take_away(reply, path)
    kind, message = error
    reply.setdefault("errors", []).append({"type": kind, "path": path, "message": message})


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
