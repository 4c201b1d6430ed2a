"""The errors that GitHub was seen to send, by name: status, headers and body of each.

Bodies are those of recorded replies and of public reports; what they quote of requests is made up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Kind = Literal["server", "cut", "secondary", "primary", "token", "refused", "part"]
"""What an error is about; a `part` is missing from a GraphQL reply that came otherwise."""

REQUEST_ID = "D168:1AFB:3CAF4A2:3D97D08:6347F4B6"
_REST_DOCS = "https://docs.github.com/rest"
_LIMIT_DOCS = f"{_REST_DOCS}/overview/rate-limits-for-the-rest-api"
_SECONDARY_DOCS = (
    "https://docs.github.com/free-pro-team@latest/rest/overview/"
    "rate-limits-for-the-rest-api#about-secondary-rate-limits"
)
_SUPPORT = (
    f"If you reach out to GitHub Support for help, please include the request ID {REQUEST_ID}"
)
_SECONDARY = (
    "You have exceeded a secondary rate limit. Please wait a few minutes before you try again. "
    f"{_SUPPORT}."
)
_PRIMARY = (
    f"API rate limit exceeded for user ID 1. {_SUPPORT} and timestamp 2026-08-01 00:00:00 UTC."
)
_ABUSE = (
    "You have triggered an abuse detection mechanism. Please wait a few minutes before you try "
    "again."
)
_WRONG = "Something went wrong while executing your query."
_INCLUDE = f"Please include `{REQUEST_ID}` when reporting this issue."
_WRONG_502 = (
    f"{_WRONG} This may be the result of a timeout, or it could be a GitHub bug. {_INCLUDE}"
)
_LATE = (
    "We couldn't respond to your request in time. Sorry about that. Please try resubmitting your "
    "request and contact us if the problem persists."
)
_DIFF = {
    "message": "Server Error: Sorry, this diff is taking too long to generate.",
    "errors": [{"resource": "PullRequest", "field": "diff", "code": "not_available"}],
    "documentation_url": f"{_REST_DOCS}/pulls/pulls#list-pull-requests-files",
}
_SAML = (
    "Resource protected by organization SAML enforcement. You must grant your Personal Access "
    "token access to this organization."
)
_FINE_GRAINED = "Resource not accessible by personal access token"
_ALLOW_LIST = (
    "Although you appear to have the correct authorization credentials, the `prospector` "
    "organization has an IP allow list enabled, and your IP address is not permitted to access "
    "this resource."
)
_SSO = {"X-GitHub-SSO": "required; url=https://github.com/orgs/prospector/sso"}
BLOCK = {
    "reason": "dmca",
    "created_at": "2024-01-17T17:53:56Z",
    "html_url": "https://github.com/github/dmca",
}

_HTML = {"Content-Type": "text/html; charset=utf-8"}


def _nginx(title: str) -> bytes:
    head, body = f"<head><title>{title}</title></head>", f"<center><h1>{title}</h1></center>"
    page = f"<html>\n{head}\n<body>\n{body}\n<hr><center>nginx</center>\n</body>\n</html>\n"
    return page.replace("\n", "\r\n").encode()


@dataclass(frozen=True, slots=True)
class Error:
    """One error: a reply of its own, a way in which replies break, or a part that lacks.

    `retry_after` sends that header; `remaining` None sends no rate-limit headers, "zero" or
    "kept" those of a used-up or an untouched budget. A `part` is told with `type` and `message`.
    """

    kind: Kind
    status: int = 200
    body: bytes | Mapping[str, Any] = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    graphql_only: bool = False
    retry_after: bool = False
    remaining: Literal["zero", "kept"] | None = "kept"
    type: str | None = None
    message: str = ""
    extensions: Mapping[str, Any] = field(default_factory=dict)


def _json(kind: Kind, status: int, message: str, docs: str = _REST_DOCS, **more: Any) -> Error:
    body = {"message": message, "documentation_url": docs, "status": str(status)}
    return Error(kind, status, body, **more)


def _page(kind: Kind, status: int, body: bytes | str, **more: Any) -> Error:
    """Return the error whose body is a page, or the file of one."""
    if isinstance(body, str):
        body = (Path(__file__).parent / "error_pages" / body).read_bytes()
    return Error(kind, status, body, _HTML, remaining=None, **more)


def _graphql(kind: Kind, status: int, body: Mapping[str, Any], **more: Any) -> Error:
    return Error(kind, status, body, graphql_only=True, **more)


def _part(type: str | None, message: str, **extensions: Any) -> Error:
    return Error("part", graphql_only=True, type=type, message=message, extensions=extensions)


ERRORS: dict[str, Error] = {
    "500": Error("server", 500, {"error": "Server Error"}),
    "500 diff": Error("server", 500, {**_DIFF, "status": "500"}),
    "422 diff": Error("server", 422, {**_DIFF, "status": "422"}),
    "502": Error("server", 502, {"message": "Server Error"}),
    "502 html": _page("server", 502, _nginx("502 Bad Gateway")),
    # The recorded page came under this content type.
    "503 html": Error(
        "server",
        503,
        b"<html><body><h1>503 Service Unavailable</h1>No server is available to handle this "
        b"request.</body></html>",
        {"Content-Type": "application/json; charset=utf-8"},
        remaining=None,
    ),
    "504": Error("server", 504, {"message": _LATE}),
    "504 html": _page("server", 504, _nginx("504 Gateway Time-out")),
    "unicorn": _page("server", 502, "unicorn.html"),
    "200 html": _page("server", 200, "unicorn.html"),
    "graphql 500": _graphql("server", 500, {"data": None, "errors": [{"message": _WRONG_502}]}),
    "graphql 502": _graphql("server", 502, {"data": None, "errors": [{"message": _WRONG_502}]}),
    "graphql 200": _graphql("server", 200, {"errors": [{"message": f"{_WRONG} {_INCLUDE}"}]}),
    **dict.fromkeys(("cut", "truncated", "unexpected EOF", "half", "late"), Error("cut")),
    **{
        f"secondary {status}{words}": _json(
            "secondary", status, _SECONDARY, _SECONDARY_DOCS, retry_after=not words
        )
        for status in (403, 429, 200)
        for words in ("", " without Retry-After")
    },
    "secondary in errors": _graphql(
        "secondary", 200, {"data": None, "errors": [{"message": _SECONDARY}]}
    ),
    "whoa 429": _page("secondary", 429, "whoa.html", retry_after=True),
    "whoa 403": _page("secondary", 403, "whoa.html"),
    "abuse": Error(
        "secondary",
        403,
        {
            "documentation_url": "https://developer.github.com/v3/#abuse-rate-limits",
            "message": _ABUSE,
        },
        retry_after=True,
        remaining=None,
    ),
    "primary 403": _json("primary", 403, _PRIMARY, _LIMIT_DOCS, remaining="zero"),
    "primary 403 with points left": _json("primary", 403, _PRIMARY, _LIMIT_DOCS),
    "primary 429": _json("primary", 429, _PRIMARY, _LIMIT_DOCS, remaining="zero"),
    "RATE_LIMITED": _graphql(
        "primary",
        200,
        {"errors": [{"type": "RATE_LIMITED", "message": _PRIMARY}]},
        remaining="zero",
    ),
    "RATE_LIMIT": _graphql(
        "primary",
        200,
        {"errors": [{"type": "RATE_LIMIT", "code": "graphql_rate_limit", "message": _PRIMARY}]},
        remaining="zero",
    ),
    "401": _json("token", 401, "Bad credentials", remaining=None),
    "suspended": _json("token", 403, "Sorry. Your account was suspended"),
    "IP allow list": _json("token", 403, _ALLOW_LIST),
    "SAML": _json("refused", 403, _SAML, headers=_SSO),
    "fine-grained token": _json("refused", 403, _FINE_GRAINED),
    "404": _json("refused", 404, "Not Found"),
    "405": _page("refused", 405, _nginx("405 Not Allowed")),
    "410": _json("refused", 410, "This issue was deleted"),
    "451": Error("refused", 451, {"message": "Repository access blocked", "block": BLOCK}),
    "NOT_FOUND": _part("NOT_FOUND", "Could not resolve to a node with the global id of '{id}'"),
    "FORBIDDEN": _part("FORBIDDEN", _FINE_GRAINED, saml_failure=False),
    "FORBIDDEN by SAML": _part("FORBIDDEN", _SAML, saml_failure=True),
    "RESOURCE_LIMITS_EXCEEDED": _part(
        "RESOURCE_LIMITS_EXCEEDED", "Resource limits for this query exceeded."
    ),
    "SOMETHING_WENT_WRONG": _part("SOMETHING_WENT_WRONG", f"{_WRONG} {_INCLUDE}"),
    "path to nowhere": _part("SOMETHING_WENT_WRONG", f"{_WRONG} {_INCLUDE}"),
    "no path": _part(None, f"{_WRONG} {_INCLUDE}"),
}
"""Every named error.

`cut` closes the connection before a reply; `truncated` and `unexpected EOF` in the middle of its
body (the latter of a chunked one); `half` sends half of the body as if that were all; `late` lets
wait for it.
"""
