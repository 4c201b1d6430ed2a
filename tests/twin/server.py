"""The twin itself: a local GitHub that answers REST and GraphQL over real HTTP."""

from __future__ import annotations

import threading
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, NamedTuple, Self

import orjson

from .faults import FaultPlan, Faults, damage, null_poisoned
from .graphql_api import GraphQLApi, Rejected
from .limits import Budget, Limits, Meter
from .rest_api import Answer, RestApi, Walls, failure
from .store import World
from .transport import Listener, Received, Reply, encode

_SECONDARY = (
    "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
)
_EXHAUSTED = "API rate limit exceeded"
_UPSTREAM = b"<html><head><title>502 Bad Gateway</title></head><body>Server Error</body></html>"
_TIMEOUT = {"message": "We couldn't respond to your request in time. Sorry about that."}
_ALWAYS_FREE = "/rate_limit"


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


class Twin:
    """A GitHub on 127.0.0.1, serving while its `with` block runs.

    `requests` lists what was asked; `points` and `count` sum it up. An error inside the twin is
    answered with a 500 and raised when the block ends.
    """

    def __init__(
        self,
        world: World,
        faults: Faults | None = None,
        limits: Limits | None = None,
        *,
        null_fields: Collection[tuple[str, str]] = (),
        port: int = 0,
    ) -> None:
        self.world = world
        self.limits = limits or Limits()
        self.requests: list[Request] = []
        self.meter = Meter(self.limits)
        self.faults = faults or Faults()
        self._graphql = GraphQLApi(world, null_fields)
        walls = Walls(self.limits.issues_wall, self.limits.comments_wall)
        self._rest = RestApi(world, walls)
        self._lock = threading.Lock()
        self._active = 0
        self._tripped = 0
        self._listener = Listener(self._serve, port)
        self.url = self._listener.url

    def __enter__(self) -> Self:
        self._listener.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        crashes = self._listener.close()
        if crashes and error is None:
            raise RuntimeError("the twin failed inside") from crashes[0]

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

    def wait(self) -> None:
        """Serve until the process is interrupted."""
        self._listener.join()

    def _serve(self, received: Received) -> Reply:
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

    def _dispatch(self, received: Received) -> tuple[Reply, _Noted]:
        token, path = received.token, received.path
        graphql = path in ("/graphql", "/api/graphql")
        if not received.headers.get("User-Agent"):
            return self._plain(failure(403, "Request forbidden: no User-Agent header.")), _UNPRICED
        if token and self.limits.tokens is not None and token not in self.limits.tokens:
            return self._plain(failure(401, "Bad credentials")), _UNPRICED
        if graphql and not token:
            message = "This endpoint requires you to be authenticated."
            return self._plain(failure(401, message)), _UNPRICED
        if graphql and received.method == "POST":
            return self._query(received)
        if received.method != "GET" or graphql:
            return self._plain(failure(404, "Not Found")), _UNPRICED
        return self._get(received)

    def _get(self, received: Received) -> tuple[Reply, _Noted]:
        prefix = "/api/v3" if received.path.startswith("/api/v3/") else ""
        target = received.target.removeprefix(prefix)
        if received.path.removeprefix(prefix) == _ALWAYS_FREE:
            budget = self.meter.state(received.token, "core")
            return self._plain(Answer(self._rates(received.token)), budget), _UNPRICED
        answer = self._rest.get(
            target,
            self.url + prefix,
            authenticated=bool(received.token),
            accept=received.headers.get("Accept", ""),
        )
        body = answer.body if isinstance(answer.body, bytes) else encode(answer.body)
        headers = dict(answer.headers)
        if answer.status == 200:
            headers["ETag"] = received.etag(body)
            if received.headers.get("If-None-Match") == headers["ETag"]:
                budget = self.meter.state(received.token, "core")
                return self._reply(304, b"", headers, budget), _UNPRICED
        granted, budget = self.meter.charge(received.token, "core", 1)
        if not granted:
            refusal = failure(self.limits.rest_status, _EXHAUSTED)
            return self._plain(refusal, budget), _UNPRICED
        reply = self._reply(answer.status, body, headers, budget)
        key = f"{received.token} {received.target}".encode()
        fault = self._plan.choose(f"GET {received.target}", key, graphql=False)
        return (self._break(reply, fault, budget) if fault else reply), _Noted(None, 1)

    def _query(self, received: Received) -> tuple[Reply, _Noted]:
        try:
            payload = orjson.loads(received.body)
        except orjson.JSONDecodeError:
            return self._plain(failure(400, "Problems parsing JSON")), _UNPRICED
        query = self._graphql.prepare(payload)
        points = 1 if isinstance(query, Rejected) else query.cost.points
        granted, budget = self.meter.charge(received.token, "graphql", points)
        if not granted:
            return self._graphql_exhausted(budget), _Noted(query.operation, 0)
        if isinstance(query, Rejected):
            return self._reply(200, encode(query.reply), {}, budget), _Noted(
                query.operation, points
            )
        noted = _Noted(query.operation, points)
        variables = dict(query.variables)
        if self._plan.breaks(query.operation, variables):
            return self._reply(502, _UPSTREAM, _HTML, budget, fault="heavy"), noted
        fault = self._plan.choose(
            f"POST {received.target} {query.operation}", received.body, graphql=True
        )
        if fault in ("502", "504", "reset", "secondary"):
            return self._break(self._reply(200, b"", {}, budget), fault, budget), noted
        rate = _rate_json(budget, points, query.cost.nodes)
        made = self._graphql.run(query, rate)
        if self.faults.poison_null:
            null_poisoned(made, variables, self.faults.poison_null)
        if fault in ("errors", "resource_limits"):
            damage(made, fault, received.body)
        reply = self._reply(200, encode(made), {}, budget, fault=fault)
        return (self._break(reply, fault, budget) if fault else reply), noted

    def _break(self, reply: Reply, fault: str, budget: Budget) -> Reply:
        match fault:
            case "502":
                return self._reply(502, _UPSTREAM, _HTML, budget, fault=fault)
            case "504":
                return self._reply(504, encode(_TIMEOUT), {}, budget, fault=fault)
            case "secondary":
                return self._secondary(budget)
            case "invalid_json":
                body = reply.body[: len(reply.body) // 2]
                return Reply(reply.status, body, reply.headers, fault=fault)
            case "slow":
                return Reply(
                    reply.status, reply.body, reply.headers, "slow", fault, self.faults.slow_seconds
                )
            case "reset" | "truncate" | "truncate_chunked":
                return Reply(reply.status, reply.body, reply.headers, fault, fault)
            case _:
                return reply

    def _secondary(self, budget: Budget | None = None) -> Reply:
        wait = self.limits.retry_after
        headers = {} if wait is None else {"Retry-After": str(wait)}
        answer = failure(self.limits.secondary_status, _SECONDARY, headers)
        reply = self._plain(answer, budget)
        return Reply(reply.status, reply.body, reply.headers, fault="secondary")

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
        now = datetime.fromtimestamp(self.meter.now(), UTC)
        kind = {"Content-Type": "application/json; charset=utf-8"}
        date = {"Date": now.strftime("%a, %d %b %Y %H:%M:%S GMT")}
        return Reply(status, body, {**kind, **date, **rates, **headers}, fault=fault)

    def _rates(self, token: str) -> dict[str, Any]:
        states = {name: self.meter.state(token, name) for name in ("core", "graphql")}
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


_HTML = {"Content-Type": "text/html"}


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
