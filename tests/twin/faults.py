"""What goes wrong on purpose: which requests fail, by what they ask for, and how."""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionSetNode,
)

from .cost import arguments_of, fragments_of
from .errors import ERRORS, Error
from .resolvers import object_type
from .rest_api import ROUTES
from .store import World
from .world import Entry, Repository

Place = list[str | int]
When = Callable[[str | None, Mapping[str, Any]], bool]
"""Chooses a query by its operation and variables."""


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
    fragments = fragments_of(document)
    made = []
    for root in document.definitions:
        if not isinstance(root, OperationDefinitionNode):
            continue
        if operation is not None and (root.name is None or root.name.value != operation):
            continue
        for root_field, _ in _fields(root.selection_set, fragments):
            name = root_field.name.value
            if name not in ("node", "nodes"):
                continue
            arguments = arguments_of(root_field, variables)
            ids = [arguments["id"]] if name == "node" else arguments["ids"]
            for index, identity in enumerate(ids):
                path: Place = [_key(root_field)] if name == "node" else [_key(root_field), index]
                made.append(_asked(path, identity, root_field, fragments, variables, world))
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
        and {"first", "last"} & set(arguments_of(below, variables))
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


KINDS = (
    *("502", "504", "cut", "truncated", "unexpected EOF", "half", "late"),
    *("SOMETHING_WENT_WRONG", "RESOURCE_LIMITS_EXCEEDED", "secondary 403 without Retry-After"),
)
"""One error of each kind that passes when a request is tried again."""
_STEPS = 1_000_000


@dataclass(frozen=True, slots=True)
class Fault:
    """A named error that befalls requests of one kind, by default for ever.

    `where` is a REST route ("timeline"), a GraphQL operation ("Issues"), or one of "Entries",
    "Continuations", "Sweep" (kinds of query), "REST", "GraphQL"; empty for any request.
    `number` is the entry that a REST path names or whose node (or a node below it) a query asks
    for by id; with `connection` only queries that ask for a page of that list of it. `token` is
    whose requests fail. The first `after` requests that match are answered; the fault then ends
    with `times` failures or `seconds` after the first. `wait` is in seconds: what `Retry-After`
    and the reset of a used-up budget tell, and how late a "late" reply is. `when` further chooses
    queries by their operation and variables, such as `heavier_than`.
    """

    error: str
    where: str = ""
    number: int | None = None
    connection: str | None = None
    token: str | None = None
    times: int | None = None
    seconds: float | None = None
    after: int = 0
    wait: float = 1
    when: When | None = None

    def __post_init__(self) -> None:
        if self.error not in ERRORS:
            raise ValueError(f"unknown error {self.error!r}; known: {sorted(ERRORS)}")
        rest = self.where == "REST" or self.where[:1].islower()
        if rest and self.where not in (*ROUTES, "REST"):
            raise ValueError(f"unknown kind of request {self.where!r}; known: {ROUTES}")
        if rest and (ERRORS[self.error].graphql_only or self.connection):
            raise ValueError(f"{self.error!r} befalls only GraphQL, not {self.where!r}")


def heavier_than(nodes: int) -> When:
    """Choose queries for more than so many nodes by id."""
    return lambda operation, variables: len(variables.get("ids") or ()) > nodes


@dataclass(frozen=True, slots=True)
class About:
    """What faults are chosen by: a request's kinds, its token, and what it asks for.

    `label` is ``METHOD path operation``, and `key` tells a request from all others.
    """

    kinds: Collection[str]
    token: str
    label: str
    key: bytes
    number: int | None = None
    asked: Sequence[Asked] = ()
    operation: str | None = None
    variables: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_graphql(self) -> bool:
        """Whether it is a query."""
        return "GraphQL" in self.kinds


class Strike(NamedTuple):
    """A fault that befalls a request, and the nodes that it is about."""

    fault: Fault
    asked: Sequence[Asked]
    draw: int | None = None
    """A random number that chooses what lacks, where no node is given."""

    @property
    def error(self) -> Error:
        """Return the error that the fault sends."""
        return ERRORS[self.fault.error]


@dataclass(frozen=True, slots=True)
class Faults:
    """A plan of faults, the same for the same requests whatever their order.

    `chosen` faults befall the requests that they name: the first that fits, or every fitting one
    of those that only take parts away. Of all others whose `METHOD path operation` matches
    `only`, the share `rate` fails with one of the errors `kinds`, late by `wait` seconds, but
    never one request more than `max_consecutive` times in a row.
    """

    rate: float = 0.0
    kinds: tuple[str, ...] = KINDS
    seed: int = 0
    only: str = ""
    max_consecutive: int = 3
    wait: float = 0.02
    chosen: Sequence[Fault] = ()


@dataclass(slots=True)
class FaultPlan:
    """Decides about requests, and remembers how often each was tried."""

    faults: Faults
    _attempts: dict[bytes, tuple[int, int]] = field(default_factory=dict)
    _met: dict[int, int] = field(default_factory=dict)
    _since: dict[int, float] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def strikes(self, about: About) -> list[Strike]:
        """Return the faults that befall a request: one, or several that take parts away."""
        parts: list[Strike] = []
        for index, fault in enumerate(self.faults.chosen):
            nodes = _fits(fault, about)
            if nodes is None or not self._begins(index, fault):
                continue
            strike = Strike(fault, nodes)
            if strike.error.kind != "part":
                return [strike]
            parts.append(strike)
        return parts or self._random(about)

    def _random(self, about: About) -> list[Strike]:
        faults = self.faults
        kinds = [name for name in faults.kinds if about.is_graphql or not ERRORS[name].graphql_only]
        if not faults.rate or not kinds or not re.search(faults.only, about.label):
            return []
        with self._lock:
            attempt, failed = self._attempts.get(about.key, (0, 0))
            roll = _roll(faults.seed, attempt, about.key)
            fails = roll < faults.rate * _STEPS and failed < faults.max_consecutive
            self._attempts[about.key] = (attempt + 1, failed + 1 if fails else 0)
        draw = _roll(faults.seed + 1, attempt, about.key)
        fault = Fault(kinds[draw % len(kinds)], wait=faults.wait)
        late = about.asked[len(about.asked) // 2 :]
        asked = late if fault.error == "RESOURCE_LIMITS_EXCEEDED" else ()
        return [Strike(fault, asked, draw)] if fails else []

    def _begins(self, index: int, fault: Fault) -> bool:
        with self._lock:
            met = self._met[index] = self._met.get(index, 0) + 1
            if met <= fault.after:
                return False
            now = time.monotonic()
            lasts = now - self._since.setdefault(index, now)
            over = fault.seconds is not None and lasts > fault.seconds
            return not over and (fault.times is None or met <= fault.after + fault.times)


def _fits(fault: Fault, about: About) -> Sequence[Asked] | None:
    """Return the nodes that a fault is about in a request, None where it does not fit."""
    if (fault.where and fault.where not in about.kinds) or fault.token not in (None, about.token):
        return None
    if ERRORS[fault.error].graphql_only and not about.is_graphql:
        return None
    if fault.when is not None and not fault.when(about.operation, about.variables):
        return None
    if fault.number is None and fault.connection is None:
        return about.asked[:1]
    if "REST" in about.kinds:
        return () if fault.connection is None and fault.number == about.number else None
    return [
        request
        for request in about.asked
        if fault.number in (None, request.number)
        and (fault.connection is None or fault.connection in request.lists)
    ] or None


def _roll(seed: int, attempt: int, key: bytes) -> int:
    digest = hashlib.blake2b(b"%d:%d:" % (seed, attempt) + key, digest_size=8).digest()
    return int.from_bytes(digest, "big") % _STEPS
