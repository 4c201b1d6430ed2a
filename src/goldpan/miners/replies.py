"""What a reply means: the one judgement of GitHub's answers that REST and GraphQL share."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import orjson

_SURROGATE = re.compile("[\ud800-\udfff]")
_KEPT_HEADERS = (
    "date",
    "etag",
    "last-modified",
    "link",
    "location",
    "retry-after",
    "x-github-request-id",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "x-ratelimit-resource",
)
_OVERLOAD = re.compile(
    r"something went wrong|timed? ?out|timeout|couldn't respond|resource limits|too complex", re.I
)


class Verdict(Enum):
    """What to do about a reply."""

    DONE = "use it"
    REDIRECT = "ask at the new place"
    PRIMARY = "wait for the reset, or ask with another token"
    SECONDARY = "slow down"
    OVERLOAD = "ask for less"
    BROKEN = "ask again"
    TOKEN = "the token is not valid"  # noqa: S105 - no password
    REFUSED = "asking again cannot help"


@dataclass(frozen=True, slots=True)
class Reply:
    """One HTTP reply; `data` is its parsed JSON, `problem` what is wrong with it."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    data: Any = field(repr=False)
    verdict: Verdict
    problem: str = ""
    moved: str = ""
    """Where redirects led, if there were any."""

    @property
    def kept_headers(self) -> dict[str, str]:
        """The headers worth archiving, none of which holds a credential."""
        return {name: self.headers[name] for name in _KEPT_HEADERS if name in self.headers}


def parse_json(body: bytes) -> Any:
    """Parse JSON as GitHub may send it; lone surrogates become U+FFFD.

    Raises `ValueError` for anything that is not JSON.
    """
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        try:
            return _without_surrogates(json.loads(body))
        except RecursionError:
            raise ValueError("nested too deeply") from None


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_without_surrogates(k): _without_surrogates(v) for k, v in value.items()}
    return value


def read_reply(status: int, headers: Mapping[str, str], body: bytes, *, graphql: bool) -> Reply:
    """Judge a reply by status, headers and body."""
    data: Any = None
    if body:
        try:
            data = parse_json(body)
        except ValueError:
            if status < 300:
                return Reply(status, headers, body, None, Verdict.BROKEN, "the reply was cut off")
    verdict, problem = _judge(status, headers, data, graphql=graphql)
    return Reply(status, headers, body, data, verdict, problem)


def _judge(
    status: int, headers: Mapping[str, str], data: Any, *, graphql: bool
) -> tuple[Verdict, str]:
    message = str(data.get("message", "")) if isinstance(data, dict) else ""
    problem = f"HTTP {status}" + (f": {message}" if message else "")
    if status in (301, 302, 307, 308):
        return Verdict.REDIRECT, problem
    if status in (403, 429):
        secondary = "secondary" in message or "abuse" in message
        if headers.get("x-ratelimit-remaining") == "0" and not secondary:
            return Verdict.PRIMARY, problem
        if secondary or status == 429 or "retry-after" in headers:
            return Verdict.SECONDARY, problem
        return Verdict.REFUSED, problem
    if status == 401:
        return Verdict.TOKEN, problem
    if status in (502, 504):
        return Verdict.OVERLOAD, problem
    if status >= 500 or status == 408:
        return Verdict.BROKEN, problem
    if status >= 400:
        return Verdict.REFUSED, problem
    if graphql:
        return _judge_graphql(data)
    return Verdict.DONE, ""


def _judge_graphql(data: Any) -> tuple[Verdict, str]:
    if not isinstance(data, dict) or ("data" not in data and "errors" not in data):
        return Verdict.BROKEN, "the reply is not a GraphQL result"
    errors = [error for error in data.get("errors") or () if isinstance(error, dict)]
    if not errors:
        return (Verdict.DONE, "") if data.get("data") else (Verdict.BROKEN, "no data came")
    kinds = {str(error.get("type", "")) for error in errors}
    problem = "; ".join(
        dict.fromkeys(f"{e.get('type', 'error')}: {e.get('message', '')}" for e in errors)
    )[:500]
    if "RATE_LIMITED" in kinds or "RATE_LIMIT" in kinds:
        return Verdict.PRIMARY, problem
    if "RESOURCE_LIMITS_EXCEEDED" in kinds or _OVERLOAD.search(problem):
        return Verdict.OVERLOAD, problem
    if data.get("data") is not None and all(error.get("path") for error in errors):
        # Some fields could not be had; whoever asked must see which, and say so.
        return Verdict.DONE, problem
    return Verdict.REFUSED, problem
