"""Requests to GitHub and the meaning of replies: the one judgment that REST and GraphQL share.

GitHub says the same thing in several ways. A secondary limit comes with status 200, 403 or 429,
as JSON, among GraphQL's errors or as an HTML page; a primary one with or without a zero in
``x-ratelimit-remaining``; a query that is too much as 500, 502, 504, a cut connection or an error
beside partial data. The sources of each form are listed in docs/mining.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Literal
from urllib.parse import parse_qsl, urljoin, urlsplit

import orjson

from goldpan.core.errors import QueryError, ServerError
from goldpan.core.sanitize import without_surrogates
from goldpan.core.secrets import mask

Resource = Literal["core", "graphql"]
"""The two APIs, as GitHub's limits call them."""
MALFORMED = (KeyError, TypeError, ValueError, AttributeError, IndexError)
"""Exceptions raised in parsing a reply whose shape is not as GitHub documents it."""
RUN_AGAIN = "Run the same command again later: it resumes where it stopped"


class NoAnswerError(ServerError):
    """One request was not answered, however often it was asked: ask for less, or later."""

    def __init__(self, request: str, reply: HttpReply) -> None:
        super().__init__(f"{request} failed ({reply.problem})", RUN_AGAIN)
        self.reason = reply.problem
        self.status = reply.status or None


class StaleCursorError(Exception):
    """GitHub no longer accepts a cursor that it gave."""


@dataclass(frozen=True, slots=True)
class Tag:
    """An ETag and the identity of the token that it belongs to: others get another one."""

    etag: str
    owner: str


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request as it is sent, but for the token."""

    resource: Resource
    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None = None
    owner: str = ""
    """The identity of the token that has to ask; any may where it is empty."""


def on_same_host(url: str, target: str) -> str:
    """Return the address that GitHub named, as of a next page, if it is on the same host.

    Raises `QueryError` for another host, as a token goes nowhere else, and for no address at all.
    """
    origin = urlsplit(url)
    try:
        address = urljoin(url, target)
        leads_to = urlsplit(address)
    except ValueError:
        raise QueryError(
            f"{origin.path} leads to {target!r}, which is no address", RUN_AGAIN
        ) from None
    if (origin.scheme, origin.netloc) != (leads_to.scheme, leads_to.netloc):
        raise QueryError(
            f"{origin.path} leads to another host, {leads_to.netloc}",
            "Give that host's API with --api-url if you trust it",
        )
    return address


def host_of(url: str) -> str:
    """Return the host of an address, with its port."""
    return urlsplit(url).netloc


_KEPT_HEADERS = (
    *("date", "etag", "last-modified", "link", "location", "retry-after", "x-github-request-id"),
    *("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "x-ratelimit-resource"),
)
_SECONDARY = re.compile(r"secondary rate|abuse detection|whoa there", re.I)
_PRIMARY = re.compile(r"API rate limit (already )?exceeded", re.I)
_TOKEN = re.compile(r"bad credentials|suspended|IP allow ?list|login attempts? exceeded", re.I)
_FAILED = re.compile(
    r"something went wrong|timed? ?out|timeout|couldn't respond|resource limits|too complex", re.I
)
_TOO_LONG = re.compile(r"taking too long", re.I)  # of a diff: comes as 500, lately as 422
_RATE_TYPES = {"RATE_LIMITED", "RATE_LIMIT"}
_TAG = re.compile(r"<(script|style)\b.*?</\1\s*>|<[^>]{0,1000}>", re.I | re.S)
_SHOWN = 200  # characters of a page that are quoted


class Verdict(Enum):
    """The action that a reply calls for."""

    DONE = "use it"
    REDIRECT = "ask at the new place"
    PRIMARY = "wait for the reset, or ask with another token"
    SECONDARY = "slow down"
    FAILED = "ask for less, or later"
    TOKEN = "ask with another token, or later"  # noqa: S105 - no password
    REFUSED = "asking again cannot help"


@dataclass(frozen=True, slots=True)
class HttpReply:
    """One HTTP reply; `data` is its parsed JSON, `problem` what is wrong with it."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    data: Any = field(repr=False)
    verdict: Verdict
    problem: str = ""
    moved: str = ""
    """Where redirects led, if there were any."""
    token: str = ""
    """Which token asked, by its identity: ETags hold for it alone."""

    @property
    def kept_headers(self) -> dict[str, str]:
        """The headers worth archiving, none of which holds a credential."""
        return {name: self.headers[name] for name in _KEPT_HEADERS if name in self.headers}

    @property
    def is_page(self) -> bool:
        """True where a page of HTML came in place of JSON."""
        return self.data is None and self.body.lstrip()[:1] == b"<"


def parse_json(body: bytes) -> Any:
    """Parse JSON as GitHub may send it; lone surrogates become U+FFFD.

    Raises `ValueError` for anything that is not JSON.
    """
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        try:
            return without_surrogates(json.loads(body, parse_constant=_refuse_constant))
        except RecursionError:
            raise ValueError("nested too deeply") from None


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def names_pull(issue: Mapping[str, Any]) -> bool:
    """Tell a pull request among issues; some servers give issues that key with nothing in it."""
    pull = issue.get("pull_request")
    if isinstance(pull, dict) and pull:
        return any(value is not None for value in pull.values())
    return pull is not None


def read_reply(status: int, headers: Mapping[str, str], body: bytes, *, graphql: bool) -> HttpReply:
    """Judge a reply by status, headers and body."""
    data: Any = None
    if body:
        try:
            data = parse_json(body)
        except ValueError:
            data = None
    verdict, problem = _judge(status, headers, body, data, graphql=graphql)
    return HttpReply(status, headers, body, data, verdict, problem)


def _judge(
    status: int, headers: Mapping[str, str], body: bytes, data: Any, *, graphql: bool
) -> tuple[Verdict, str]:
    message = _message(body, data)
    if status >= 400 and not message:
        message = "; ".join(str(error.get("message", "")) for error in errors_of(data))[:_SHOWN]
    problem = f"HTTP {status}" + (f": {message}" if message else "")
    if 300 <= status < 400 and status != 304 and "location" in headers:
        return Verdict.REDIRECT, problem
    if status in (200, 403, 429):
        if _SECONDARY.search(message):
            return Verdict.SECONDARY, problem
        if status != 200 and (
            _PRIMARY.search(message) or headers.get("x-ratelimit-remaining") == "0"
        ):
            return Verdict.PRIMARY, problem
    if status == 429 or (status == 403 and "retry-after" in headers):
        return Verdict.SECONDARY, problem
    if status == 401 or (status == 403 and _TOKEN.search(message)):
        return Verdict.TOKEN, problem
    if status >= 500 or status == 408 or _TOO_LONG.search(message):
        return Verdict.FAILED, problem
    if status >= 300 and status != 304:
        return Verdict.REFUSED, problem
    if data is None and body:
        is_page = body.lstrip()[:1] == b"<"
        cause = f"a page came instead of JSON: {message}" if is_page else "the reply was cut off"
        return Verdict.FAILED, f"HTTP {status}: {cause}"
    if graphql:
        return _judge_graphql(data)
    return Verdict.DONE, ""


def _message(body: bytes, data: Any) -> str:
    """Return the message of a reply: of its JSON, or the words of its page."""
    if isinstance(data, dict):
        return mask(str(data.get("message") or ""))
    if data is None and body:
        # Masked before it is cut: half a secret would not be known as one.
        text = _TAG.sub(" ", mask(body.decode("utf-8", "replace"))[:20_000])
        return " ".join(text.split())[:_SHOWN]
    return ""


def errors_of(data: Any) -> list[dict[str, Any]]:
    """Return the errors of a GraphQL result; anything else under that name is passed over."""
    errors = data.get("errors") if isinstance(data, dict) else None
    if not isinstance(errors, list):
        return []
    return [error for error in errors if isinstance(error, dict)]


def reason_of(error: Mapping[str, Any]) -> str:
    """Return a GraphQL error in one line."""
    return f"{error.get('type') or 'error'}: {error.get('message', '')}"


def is_forbidden(error: Mapping[str, Any]) -> bool:
    """Tell a part that the token may not see: asking again cannot help."""
    return error.get("type") == "FORBIDDEN"


def _judge_graphql(data: Any) -> tuple[Verdict, str]:
    errors = errors_of(data)
    if not isinstance(data, dict) or ("data" not in data and not errors):
        return Verdict.FAILED, "the reply is not a GraphQL result"
    if not errors:
        return (Verdict.DONE, "") if data.get("data") else (Verdict.FAILED, "no data came")
    kinds = {str(error.get("type", "")) for error in errors}
    problem = mask("; ".join(dict.fromkeys(map(reason_of, errors))))[:500]
    if _SECONDARY.search(problem):
        return Verdict.SECONDARY, problem
    if kinds & _RATE_TYPES or _PRIMARY.search(problem):
        return Verdict.PRIMARY, problem
    if "RESOURCE_LIMITS_EXCEEDED" in kinds or any(_stalled(data, error) for error in errors):
        return Verdict.FAILED, problem
    if data.get("data") is not None:
        # Some fields are missing; the caller must see which, and record it.
        return Verdict.DONE, problem
    return Verdict.REFUSED, problem


def _stalled(data: Mapping[str, Any], error: Mapping[str, Any]) -> bool:
    """Tell an error that says that the query as a whole took too much."""
    return bool(_FAILED.search(str(error.get("message", "")))) and not (
        data.get("data") is not None and error.get("path")
    )


def next_page(url: str, reply: HttpReply) -> str | None:
    """Return the address of the page after one; raises `NoAnswerError` where it leads back."""
    following = links_of(reply).get("next")
    if following is None:
        return None
    here, there = (dict(parse_qsl(urlsplit(address).query)) for address in (url, following))
    is_moving = _page(there) > _page(here)
    if "after" in there:
        is_moving = there["after"] != here.get("after")
    if not is_moving:
        problem = "its next page is one that was read already"
        raise NoAnswerError(f"GET {urlsplit(url).path}", replace(reply, problem=problem))
    return following


def _page(query: Mapping[str, str]) -> int:
    number = query.get("page", "1")
    return int(number) if number.isdecimal() else 0


def links_of(reply: HttpReply) -> dict[str, str]:
    """Return a reply's `Link` header: relation to address."""
    import httpx  # which processes that parse replies do without

    links = httpx.Response(200, headers={"Link": reply.headers.get("link", "")}).links
    return {str(relation): link["url"] for relation, link in links.items()}
