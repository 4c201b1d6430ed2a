"""What each kind of GitHub's replies means."""

from __future__ import annotations

import orjson
import pytest

from goldpan.core.secrets import register
from goldpan.miners.replies import Verdict, parse_json, read_reply

PLAIN: dict[str, str] = {}
SPENT = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1"}
LEFT = {"x-ratelimit-remaining": "17", "x-ratelimit-reset": "1"}


@pytest.mark.parametrize(
    ("status", "headers", "body", "verdict"),
    [
        (200, PLAIN, {"a": 1}, Verdict.DONE),
        (304, PLAIN, None, Verdict.DONE),
        (301, {"location": "/x"}, {}, Verdict.REDIRECT),
        (401, PLAIN, {"message": "Bad credentials"}, Verdict.TOKEN),
        (403, SPENT, {"message": "API rate limit exceeded"}, Verdict.PRIMARY),
        (429, SPENT, {"message": "API rate limit exceeded"}, Verdict.PRIMARY),
        (403, LEFT, {"message": "You have exceeded a secondary rate limit"}, Verdict.SECONDARY),
        (403, SPENT, {"message": "You have exceeded a secondary rate limit"}, Verdict.SECONDARY),
        (403, {"retry-after": "5"}, {"message": "slow"}, Verdict.SECONDARY),
        (429, LEFT, {"message": "slow"}, Verdict.SECONDARY),
        (403, LEFT, {"message": "Resource not accessible"}, Verdict.REFUSED),
        (404, PLAIN, {"message": "Not Found"}, Verdict.REFUSED),
        (410, PLAIN, {"message": "This issue was deleted"}, Verdict.REFUSED),
        (451, PLAIN, {"message": "blocked"}, Verdict.REFUSED),
        (502, PLAIN, None, Verdict.FAILED),
        (504, PLAIN, None, Verdict.FAILED),
        (500, PLAIN, None, Verdict.FAILED),
        (503, PLAIN, None, Verdict.FAILED),
    ],
)
def test_rest(status: int, headers: dict[str, str], body: object, verdict: Verdict) -> None:
    raw = b"" if body is None else orjson.dumps(body)
    assert read_reply(status, headers, raw, graphql=False).verdict is verdict


@pytest.mark.parametrize(
    ("result", "verdict"),
    [
        ({"data": {"x": 1}}, Verdict.DONE),
        ({"data": {"x": 1}, "errors": []}, Verdict.DONE),
        ({"errors": [{"type": "RATE_LIMITED", "message": "spent"}]}, Verdict.PRIMARY),
        ({"data": {"x": None}, "errors": [{"type": "RATE_LIMITED"}]}, Verdict.PRIMARY),
        ({"data": {"x": 1}, "errors": [{"type": "RESOURCE_LIMITS_EXCEEDED"}]}, Verdict.FAILED),
        ({"data": None, "errors": [{"message": "Something went wrong"}]}, Verdict.FAILED),
        ({"data": {"x": 1}, "errors": [{"message": "timeout", "path": ["x"]}]}, Verdict.DONE),
        ({"data": {"x": None}, "errors": [{"type": "NOT_FOUND", "path": ["x"]}]}, Verdict.DONE),
        ({"errors": [{"message": "Field 'y' doesn't exist"}]}, Verdict.REFUSED),
        ({"data": None}, Verdict.FAILED),
        ({"message": "hello"}, Verdict.FAILED),
        ([], Verdict.FAILED),
    ],
)
def test_graphql(result: object, verdict: Verdict) -> None:
    assert read_reply(200, PLAIN, orjson.dumps(result), graphql=True).verdict is verdict


def test_errors_beside_data_are_never_silent() -> None:
    body = {"data": {"x": None}, "errors": [{"type": "NOT_FOUND", "path": ["x"], "message": "m"}]}
    assert read_reply(200, PLAIN, orjson.dumps(body), graphql=True).problem == "NOT_FOUND: m"


def test_a_cut_body_is_broken() -> None:
    assert read_reply(200, PLAIN, b'{"data": {"x"', graphql=True).verdict is Verdict.FAILED


def test_no_credential_is_kept() -> None:
    headers = {"etag": 'W/"1"', "set-cookie": "secret", "authorization": "secret"}
    assert read_reply(200, headers, b"{}", graphql=False).kept_headers == {"etag": 'W/"1"'}


def test_lone_surrogates_become_replacement_characters() -> None:
    body = rb'{"a": "x\ud83dy", "b": ["\udc00", "\ud83e\ude99"], "\ud800": 1}'
    assert parse_json(body) == {"a": "x\ufffdy", "b": ["\ufffd", "🪙"], "\ufffd": 1}


def test_nul_is_kept() -> None:
    assert parse_json(rb'"a\u0000b"') == "a\x00b"


@pytest.mark.parametrize("before", range(0, 520, 7))
@pytest.mark.parametrize("kind", ["page", "errors", "message"])
def test_no_cut_leaves_half_a_secret(kind: str, before: int) -> None:
    token = "ghp_" + "Half0Of1It2" * 3
    register(token)
    text = f"{'x' * before} {token} and more" + " y" * 400
    body = {
        "page": f"<p>{text}</p>".encode(),
        "errors": orjson.dumps({"errors": [{"type": "NO", "message": text}]}),
        "message": orjson.dumps({"message": text}),
    }[kind]
    status = 200 if kind == "errors" else 500
    message = read_reply(status, {}, body, graphql=True).problem
    assert token[:5] not in message
