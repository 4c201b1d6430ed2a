"""The twin itself: a local GitHub that answers REST and GraphQL over real HTTP."""

from __future__ import annotations

import threading
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

import orjson

from tests.local_server import Answer, Asked, Delivery, LocalServer, encode

from .damage import spoil
from .errors import REQUEST_ID
from .faults import About, FaultPlan, Faults, Strike, asked_nodes
from .graphql_api import GraphQLApi, Query, Rejected
from .limits import Budget, Limits, Meter
from .rest_api import RestApi, route_of
from .rest_pages import Pager, Paging, failure
from .schema import Need
from .store import World

_DELIVERIES: dict[str, Delivery] = {
    "cut": "reset",
    "truncated": "truncate",
    "unexpected EOF": "truncate_chunked",
}
_SERVER = {
    "Server": "github.com",
    "X-GitHub-Media-Type": "github.v3; format=json",
    "X-GitHub-Request-Id": REQUEST_ID,
}


@dataclass(frozen=True, slots=True)
class Reply(Answer):
    """An answer, and the fault that made it what it is."""

    fault: str | None = None


def in_place(strike: Strike, budget: Budget, now: float, date: str) -> Reply:
    """Return the reply that an error sends in place of the real one."""
    error, wait = strike.error, strike.fault.wait
    headers = {"Content-Type": "application/json; charset=utf-8", "Date": date, **_SERVER}
    if error.kind == "primary":
        used = budget.limit if error.remaining == "zero" else budget.used
        budget = replace(budget, used=used, reset=int(now + wait))
    if error.remaining is not None:
        headers |= budget.headers
    if error.retry_after:
        headers["Retry-After"] = str(wait)
    return Reply(error.status, error.body, {**headers, **error.headers}, fault=strike.fault.error)


def cut(reply: Reply, strike: Strike) -> Reply:
    """Return the real reply, to be delivered as an error of delivery says."""
    name = strike.fault.error
    if name == "half":
        return replace(reply, body=reply.body[: len(reply.body) // 2], fault=name)
    if name == "late":
        return replace(reply, fault=name, seconds=float(strike.fault.wait))
    return replace(reply, fault=name, delivery=_DELIVERIES[name])


_SECONDARY = (
    "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
)
_EXHAUSTED = "API rate limit exceeded"


class _Noted(NamedTuple):
    """What is remembered of a request beside its reply."""

    operation: str | None
    points: int


_UNPRICED = _Noted(None, 0)


@dataclass(frozen=True, slots=True)
class Request:
    """What the twin saw: a request, what it cost and how it ended (`status` 0: cut off)."""

    method: str
    path: str
    operation: str | None
    status: int
    points: int
    token: str
    fault: str | None


class Twin(LocalServer):
    """A GitHub on 127.0.0.1, serving while its `with` block runs.

    Its GraphQL schema may lack fields, as an older server's does. `requests` lists what was asked;
    `points` and `count` sum it up.
    """

    packs = True

    def __init__(
        self,
        world: World,
        faults: Faults | None = None,
        limits: Limits | None = None,
        *,
        paging: Paging | None = None,
        null_fields: Collection[Need] = (),
        lacks: Collection[Need] = (),
        port: int = 0,
    ) -> None:
        self.world = world
        self.limits = limits or Limits()
        self.requests: list[Request] = []
        self.meter = Meter(self.limits)
        self.faults = faults or Faults()
        self._graphql = GraphQLApi(world, null_fields, lacks)
        self._rest = RestApi(world, self.limits, Pager(paging or Paging()))
        self._lock = threading.Lock()
        self._active = 0
        self._tripped = 0
        super().__init__(port)  # the last, as it binds a socket

    @property
    def faults(self) -> Faults:
        """Return the plan of faults; assigning another one starts it afresh."""
        return self._plan.faults

    @faults.setter
    def faults(self, faults: Faults) -> None:
        self._plan = FaultPlan(faults)

    @property
    def points(self) -> int:
        """Return all points used, of GraphQL and REST together."""
        return sum(request.points for request in list(self.requests))

    @property
    def count(self) -> int:
        """Return how many requests came in."""
        return len(self.requests)

    def trip_secondary(self, times: int = 1) -> None:
        """Answer the next requests with a secondary rate limit."""
        with self._lock:
            self._tripped += times

    def answer(self, received: Asked) -> Reply:
        """Return the reply to a request, and remember both."""
        with self._lock:
            self._active += 1
            crowded = self._active > self.limits.concurrency
            tripped = self._tripped > 0
            self._tripped -= 1 if tripped else 0
        try:
            if crowded or tripped:
                reply, noted = self._secondary(), _UNPRICED
            else:
                reply, noted = self._dispatch(received)
        finally:
            with self._lock:
                self._active -= 1
        self.requests.append(
            Request(
                received.method,
                received.target,
                noted.operation,
                0 if reply.delivery == "reset" else reply.status,
                noted.points,
                received.token,
                reply.fault,
            )
        )
        return reply

    def _dispatch(self, received: Asked) -> tuple[Reply, _Noted]:
        token, path = received.token, received.path
        graphql = path in ("/graphql", "/api/graphql")
        if not received.headers.get("User-Agent"):
            return self._plain(failure(403, "Request forbidden: no User-Agent header.")), _UNPRICED
        if token and not self._valid(token):
            return self._plain(failure(401, "Bad credentials")), _UNPRICED
        if graphql and not token:
            message = "This endpoint requires you to be authenticated."
            return self._plain(failure(401, message)), _UNPRICED
        if graphql and received.method == "POST":
            return self._query(received)
        if received.method != "GET" or graphql:
            return self._plain(failure(404, "Not Found")), _UNPRICED
        return self._get(received)

    def _valid(self, token: str) -> bool:
        return self.limits.tokens is None or token in self.limits.tokens

    def _get(self, received: Asked) -> tuple[Reply, _Noted]:
        prefix = "/api/v3" if received.path.startswith("/api/v3/") else ""
        target = received.target.removeprefix(prefix)
        route = route_of(target.partition("?")[0])
        resource = "search" if route is not None and route.name == "search" else "core"
        kinds = {"REST", route.name if route else ""}
        label, key = f"GET {received.target}", f"{received.token} {received.target}".encode()
        number = route.number if route else None
        about = About(kinds, received.token, label, key, number=number)
        strike = next(iter(self._plan.strikes(about)), None)
        if strike is not None and strike.error.kind != "cut":
            return self._struck(strike, received.token, resource, 1)
        if route is not None and route.name == "rate_limit":
            budget = self.meter.state(received.token, "core")
            return self._plain(Answer(body=self._rates(received.token)), budget), _UNPRICED
        answer = self._rest.get(target, self.url + prefix, authenticated=bool(received.token))
        body = answer.body if isinstance(answer.body, bytes) else encode(answer.body)
        granted, budget = self.meter.charge(received.token, resource, 1)
        if not granted:
            refusal = failure(self.limits.rest_status, _EXHAUSTED)
            return self._plain(refusal, budget), _UNPRICED
        reply = self._reply(answer.status, body, answer.headers, budget)
        return cut(reply, strike) if strike else reply, _Noted(None, 1)

    def _query(self, received: Asked) -> tuple[Reply, _Noted]:
        try:
            payload = orjson.loads(received.body)
        except orjson.JSONDecodeError:
            return self._plain(failure(400, "Problems parsing JSON")), _UNPRICED
        query = self._graphql.prepare(payload)
        token = received.token
        if isinstance(query, Rejected):
            granted, budget = self.meter.charge(token, "graphql", 1)
            if not granted:
                return self._graphql_exhausted(budget), _Noted(query.operation, 0)
            reply = self._reply(200, encode(query.reply), {}, budget)
            return reply, _Noted(query.operation, 1)
        points = query.cost.points
        strikes = self._strikes(query, received)
        if strikes and strikes[0].error.kind not in ("cut", "part"):
            return self._struck(strikes[0], token, "graphql", points, query.operation)
        granted, budget = self.meter.charge(token, "graphql", points)
        if not granted:
            return self._graphql_exhausted(budget), _Noted(query.operation, 0)
        return self._run(query, strikes, budget), _Noted(query.operation, points)

    def _run(self, query: Query, strikes: list[Strike], budget: Budget) -> Reply:
        made = self._graphql.run(query, _rate_json(budget, query.cost.points, query.cost.nodes))
        fault = None
        for strike in strikes:
            if strike.error.kind == "part":
                spoil(made, strike)
                fault = strike.fault.error
        reply = self._reply(200, encode(made), {}, budget, fault=fault)
        return cut(reply, strikes[0]) if strikes and strikes[0].error.kind == "cut" else reply

    def _strikes(self, query: Query, received: Asked) -> list[Strike]:
        name = query.operation or ""
        nodes = asked_nodes(query.document, query.operation, query.variables, self.world)
        kinds = {"GraphQL", name}
        if nodes:
            kinds.add("Entries" if len(nodes[0].path) > 1 else "Continuations")
        elif name.startswith("Sweep"):
            kinds.add("Sweep")
        about = About(
            kinds,
            received.token,
            f"POST {received.target} {query.operation}",
            received.body,
            asked=nodes,
            operation=query.operation,
            variables=query.variables,
        )
        return self._plan.strikes(about)

    def _struck(
        self, strike: Strike, token: str, resource: str, points: int, operation: str | None = None
    ) -> tuple[Reply, _Noted]:
        """Answer with an error; those about limits and tokens cost nothing."""
        spent = points if strike.error.kind in ("server", "refused") else 0
        _, budget = self.meter.charge(token, resource, spent)
        now = self.meter.now()
        return in_place(strike, budget, now, _date(now)), _Noted(operation, spent)

    def _secondary(self) -> Reply:
        wait = self.limits.retry_after
        headers = {} if wait is None else {"Retry-After": str(wait)}
        answer = failure(self.limits.secondary_status, _SECONDARY, headers)
        return replace(self._plain(answer), fault="secondary")

    def _graphql_exhausted(self, budget: Budget) -> Reply:
        if self.limits.graphql_status != 200:
            return self._plain(failure(self.limits.graphql_status, _EXHAUSTED), budget)
        body = {"errors": [{"type": "RATE_LIMITED", "message": _EXHAUSTED}]}
        return self._reply(200, encode(body), {}, budget)

    def _plain(self, answer: Answer, budget: Budget | None = None) -> Reply:
        return self._reply(answer.status, encode(answer.body), answer.headers, budget)

    def _reply(
        self,
        status: int,
        body: bytes,
        headers: dict[str, str],
        budget: Budget | None,
        fault: str | None = None,
    ) -> Reply:
        rates = budget.headers if budget else {}
        kind = {"Content-Type": "application/json; charset=utf-8"}
        date = {"Date": _date(self.meter.now())}
        return Reply(status, body, {**kind, **date, **rates, **headers}, fault=fault)

    def _rates(self, token: str) -> dict[str, Any]:
        states = {name: self.meter.state(token, name) for name in ("core", "graphql", "search")}
        resources = {
            name: {
                "limit": state.limit,
                "used": state.used,
                "remaining": state.remaining,
                "reset": state.reset,
            }
            for name, state in states.items()
        }
        return {"resources": resources, "rate": resources["core"]}


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")


def _rate_json(budget: Budget, points: int, nodes: int) -> dict[str, Any]:
    reset = datetime.fromtimestamp(budget.reset, UTC)
    return {
        "cost": points,
        "limit": budget.limit,
        "nodeCount": nodes,
        "remaining": budget.remaining,
        "resetAt": reset.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "used": budget.used,
    }
