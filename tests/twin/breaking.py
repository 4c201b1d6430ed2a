"""Replies that fail as planned: named errors in place of them, and deliveries that break."""

from __future__ import annotations

from dataclasses import replace

from .errors import REQUEST_ID
from .faults import Strike
from .limits import Budget
from .transport import Reply, encode

_DELIVERIES = {
    "cut": "reset",
    "truncated": "truncate",
    "unexpected EOF": "truncate_chunked",
    "late": "slow",
}
_SERVER = {
    "Server": "github.com",
    "X-GitHub-Media-Type": "github.v3; format=json",
    "X-GitHub-Request-Id": REQUEST_ID,
}


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
    body = error.body if isinstance(error.body, bytes) else encode(error.body)
    return Reply(error.status, body, {**headers, **error.headers}, fault=strike.fault.error)


def cut(reply: Reply, strike: Strike) -> Reply:
    """Return the real reply, to be delivered as an error of delivery says."""
    name = strike.fault.error
    if name == "half":
        return replace(reply, body=reply.body[: len(reply.body) // 2], fault=name)
    seconds = float(strike.fault.wait)
    return replace(reply, delivery=_DELIVERIES[name], fault=name, seconds=seconds)
