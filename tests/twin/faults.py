"""What goes wrong on purpose: which requests fail, how, and damaged replies."""

from __future__ import annotations

import hashlib
import re
import threading
import zlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

KINDS = (
    "502",
    "504",
    "reset",
    "truncate",
    "truncate_chunked",
    "invalid_json",
    "slow",
    "errors",
    "resource_limits",
    "secondary",
)
"""All kinds; `errors` and `resource_limits` only befall GraphQL."""

_GRAPHQL_ONLY = {"errors", "resource_limits"}
_STEPS = 1_000_000


@dataclass(frozen=True, slots=True)
class Faults:
    """A plan of faults, the same for the same requests whatever their order.

    Of the requests whose `METHOD path operation` matches `only`, the share `rate` fails in one
    of `kinds`, but never one request more than `max_consecutive` times in a row. Queries for
    more than `heavy` nodes by id (or for which `heavy(operation, variables)` is true) always
    get a 502, as do those that name a node in `poison`; a node in `poison_null` is answered
    with null beside an error.
    """

    rate: float = 0.0
    kinds: tuple[str, ...] = ("502", "504", "reset", "truncate", "errors", "resource_limits")
    seed: int = 0
    only: str = ""
    heavy: int | Callable[[str | None, dict[str, Any]], bool] | None = None
    poison: Collection[str] = ()
    poison_null: Collection[str] = ()
    max_consecutive: int = 3
    slow_seconds: float = 0.3

    def __post_init__(self) -> None:
        unknown = set(self.kinds) - set(KINDS)
        if unknown:
            raise ValueError(f"unknown kinds of fault: {sorted(unknown)}; known: {KINDS}")


@dataclass(slots=True)
class FaultPlan:
    """Decides about requests, and remembers how often each was tried."""

    faults: Faults
    _attempts: dict[bytes, tuple[int, int]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def choose(self, label: str, key: bytes, *, graphql: bool) -> str | None:
        """Return the kind of fault that befalls a request, or None."""
        faults = self.faults
        kinds = [kind for kind in faults.kinds if graphql or kind not in _GRAPHQL_ONLY]
        if not faults.rate or not kinds or not re.search(faults.only, label):
            return None
        with self._lock:
            attempt, failed = self._attempts.get(key, (0, 0))
            roll = _roll(faults.seed, attempt, key)
            fails = roll < faults.rate * _STEPS and failed < faults.max_consecutive
            self._attempts[key] = (attempt + 1, failed + 1 if fails else 0)
        return kinds[_roll(faults.seed + 1, attempt, key) % len(kinds)] if fails else None

    def breaks(self, operation: str | None, variables: dict[str, Any]) -> bool:
        """Return whether a query is too heavy or names a poisoned node."""
        heavy = self.faults.heavy
        if callable(heavy):
            if heavy(operation, variables):
                return True
        elif heavy is not None and len(list(_strings(variables.get("ids")))) > heavy:
            return True
        return any(text in self.faults.poison for text in _strings(variables))


def _roll(seed: int, attempt: int, key: bytes) -> int:
    digest = hashlib.blake2b(b"%d:%d:" % (seed, attempt) + key, digest_size=8).digest()
    return int.from_bytes(digest, "big") % _STEPS


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _strings(one)
    elif isinstance(value, dict):
        for one in value.values():
            yield from _strings(one)


def null_poisoned(reply: dict[str, Any], variables: dict[str, Any], ids: Collection[str]) -> None:
    """Answer null, with an error, for poisoned nodes."""
    data = reply.get("data") or {}
    wanted = variables.get("ids")
    if isinstance(wanted, list) and isinstance(data.get("nodes"), list):
        for index, identity in enumerate(wanted):
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


def _hide(reply: dict[str, Any], path: list[str | int], error: tuple[str, str]) -> None:
    holder: Any = reply["data"]
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = None
    kind, message = error
    reply.setdefault("errors", []).append({"type": kind, "path": path, "message": message})


def _nullable(value: Any, path: list[str | int]) -> Iterator[list[str | int]]:
    """Yield the paths of the objects that may be null: top fields and elements of `nodes`."""
    if isinstance(value, dict):
        for key, one in value.items():
            here = [*path, key]
            if not path and isinstance(one, dict):
                yield here
            yield from _nullable(one, here)
    elif isinstance(value, list) and path and path[-1] == "nodes":
        for index, one in enumerate(value):
            if isinstance(one, dict):
                yield [*path, index]
            yield from _nullable(one, [*path, index])
