"""The errors that GitHub was seen to send, by name: status, headers and body of each.

Bodies are those of recorded replies and of public reports; what they quote of requests is made up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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
_BLOCK = {"reason": "dmca", "created_at": "2024-01-17T17:53:56Z", "html_url": "https://github.com"}

_HTML = {"Content-Type": "text/html; charset=utf-8"}
_WHOA = b"""<!DOCTYPE html>
<html>
  <head>
    <meta http-equiv="Content-type" content="text/html; charset=utf-8">
    <title>Whoa there! &middot; GitHub</title>
  </head>
  <body>
    <h1>Whoa there!</h1>
    <p>You have exceeded a secondary rate limit.<br><br>
      Please wait a few minutes before you try again;<br>
      in some cases this may take up to an hour.
    </p>
  </body>
</html>
"""
_UNICORN = b"""<!DOCTYPE html>
<!--

Hello future GitHubber! I bet you're here to remove those nasty inline styles,
DRY up these templates and make 'em nice and re-usable, right?

Please, don't. https://github.com/styleguide/templates/2.0

-->
<html>
  <head>
    <title>Unicorn! &middot; GitHub</title>
  </head>
  <body>
    <p><strong>We had issues producing the response to your request.</strong></p>
    <p>Sorry about that. Please try refreshing and contact us if the problem persists.</p>
  </body>
</html>
"""


def _nginx(title: str) -> bytes:
    lines = (
        "<html>",
        f"<head><title>{title}</title></head>",
        "<body>",
        f"<center><h1>{title}</h1></center>",
        "<hr><center>nginx</center>",
        "</body>",
        "</html>",
        "",
    )
    return "\r\n".join(lines).encode()


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


def _json(
    kind: Kind, status: int, message: str, docs: str = _REST_DOCS, **more: Any
) -> Mapping[str, Any]:
    body = {"message": message, "documentation_url": docs, "status": str(status)}
    return {"kind": kind, "status": status, "body": body, **more}


def _page(kind: Kind, status: int, body: bytes, **more: Any) -> Error:
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
    "unicorn": _page("server", 502, _UNICORN),
    "200 html": _page("server", 200, _UNICORN),
    "graphql 500": _graphql("server", 500, {"data": None, "errors": [{"message": _WRONG_502}]}),
    "graphql 502": _graphql("server", 502, {"data": None, "errors": [{"message": _WRONG_502}]}),
    "graphql 200": _graphql("server", 200, {"errors": [{"message": f"{_WRONG} {_INCLUDE}"}]}),
    "cut": Error("cut"),
    "truncated": Error("cut"),
    "unexpected EOF": Error("cut"),
    "half": Error("cut"),
    "late": Error("cut"),
    "secondary 403": Error(
        **_json("secondary", 403, _SECONDARY, _SECONDARY_DOCS, retry_after=True)
    ),
    "secondary 403 without Retry-After": Error(
        **_json("secondary", 403, _SECONDARY, _SECONDARY_DOCS)
    ),
    "secondary 429": Error(
        **_json("secondary", 429, _SECONDARY, _SECONDARY_DOCS, retry_after=True)
    ),
    "secondary 429 without Retry-After": Error(
        **_json("secondary", 429, _SECONDARY, _SECONDARY_DOCS)
    ),
    "secondary 200": Error(
        **_json("secondary", 200, _SECONDARY, _SECONDARY_DOCS, retry_after=True)
    ),
    "secondary 200 without Retry-After": Error(
        **_json("secondary", 200, _SECONDARY, _SECONDARY_DOCS)
    ),
    "secondary in errors": _graphql(
        "secondary", 200, {"data": None, "errors": [{"message": _SECONDARY}]}
    ),
    "whoa 429": _page("secondary", 429, _WHOA, retry_after=True),
    "whoa 403": _page("secondary", 403, _WHOA),
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
    "primary 403": Error(**_json("primary", 403, _PRIMARY, _LIMIT_DOCS, remaining="zero")),
    "primary 403 with points left": Error(**_json("primary", 403, _PRIMARY, _LIMIT_DOCS)),
    "primary 429": Error(**_json("primary", 429, _PRIMARY, _LIMIT_DOCS, remaining="zero")),
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
    "401": Error(**_json("token", 401, "Bad credentials", remaining=None)),
    "suspended": Error(**_json("token", 403, "Sorry. Your account was suspended")),
    "IP allow list": Error(**_json("token", 403, _ALLOW_LIST)),
    "SAML": Error(**_json("refused", 403, _SAML, headers=_SSO)),
    "fine-grained token": Error(**_json("refused", 403, _FINE_GRAINED)),
    "404": Error(**_json("refused", 404, "Not Found")),
    "405": _page("refused", 405, _nginx("405 Not Allowed")),
    "410": Error(**_json("refused", 410, "This issue was deleted")),
    "451": Error("refused", 451, {"message": "Repository access blocked", "block": _BLOCK}),
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
