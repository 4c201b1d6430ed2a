"""Connections: opaque cursors and the slice that `first`, `last` and `after` ask for."""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from graphql import GraphQLError

from .world import ORDERS

Key = tuple[Any, ...]


class RefusedError(GraphQLError):
    """An error with GitHub's `type` beside its message."""

    def __init__(self, kind: str, message: str, path: Sequence[str | int] | None = None) -> None:
        super().__init__(message, path=path, extensions={"type": kind})


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a connection; `total` counts what the connection says it holds."""

    nodes: Sequence[Any]
    total: int
    filtered: int
    cursors: Callable[[int], str]
    has_next: bool
    updated_at: str = ""

    @property
    def end(self) -> str | None:
        """Return the cursor of the page's last node."""
        return self.cursors(len(self.nodes) - 1) if self.nodes else None


def encode_cursor(scope: str, position: Key) -> str:
    """Return a cursor that is only valid in its own connection."""
    text = json.dumps([zlib.crc32(scope.encode()), *position], separators=(",", ":"))
    return base64.b64encode(b"cursor:v2:" + text.encode()).decode()


def decode_cursor(scope: str, cursor: str) -> Key:
    """Return the position in a cursor, refusing those of other connections."""
    try:
        head, _, text = base64.b64decode(cursor, validate=True).partition(b":v2:")
        mark, *position = json.loads(text)
    except (binascii.Error, ValueError, TypeError):
        head, mark, position = b"", 0, []
    if head != b"cursor" or mark != zlib.crc32(scope.encode()):
        raise RefusedError(
            "INVALID_CURSOR_ARGUMENTS", f"`{cursor}` does not appear to be a valid cursor."
        )
    return tuple(position)


def paginate(
    items: Sequence[Any],
    scope: str,
    arguments: dict[str, Any],
    *,
    key: Callable[[Any], Key] | None = None,
    descending: bool = False,
    total: int | None = None,
    updated_at: str = "",
) -> Page:
    """Cut one page out of sorted `items`.

    With a `key` cursors name the item's place in the order, so that a page goes on after its
    predecessor even when items moved meanwhile; without one they count items.
    """
    begin = 0
    keys = None if key is None else [key(item) for item in items]
    if arguments.get("after"):
        begin = _behind(decode_cursor(scope, arguments["after"]), keys, descending)
    begin = min(begin, len(items))
    first, last = arguments.get("first"), arguments.get("last")
    end = min(len(items), begin + (first or 0))
    if first is None and last is not None:
        begin, end = max(begin, len(items) - last), len(items)

    def cursor(index: int) -> str:
        position = begin + index
        return encode_cursor(scope, (position,) if keys is None else keys[position])

    return Page(
        nodes=items[begin:end],
        total=len(items) if total is None else total,
        filtered=len(items),
        cursors=cursor,
        has_next=end < len(items),
        updated_at=updated_at,
    )


def in_order(items: list[Any], scope: str, arguments: dict[str, Any]) -> Page:
    """Cut one page out of `items` in the order that is asked for, by default that of creation."""
    order = arguments.get("orderBy") or {"field": "CREATED_AT", "direction": "ASC"}
    key = ORDERS[order["field"].removesuffix("_AT").lower()]
    descending = order["direction"] == "DESC"
    items.sort(key=key, reverse=descending)
    scope = f"{scope}:{order['field']}:{order['direction']}"
    return paginate(items, scope, arguments, key=key, descending=descending)


def _behind(position: Key, keys: list[Key] | None, descending: bool) -> int:
    if keys is None:
        return int(position[0]) + 1
    before = sum(1 for key in keys if (key > position if descending else key < position))
    return before + (position in keys)
