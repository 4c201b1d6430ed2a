"""Requests to GitHub: servers that misbehave, tokens and waits, batches, and what replies mean."""

from __future__ import annotations

import asyncio
import time
from email.utils import formatdate

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.core.errors import QueryError, ServerError
from goldpan.core.secrets import register
from goldpan.miners.github.batches import BatchSize, Drain
from goldpan.miners.github.client import GitHub
from goldpan.miners.github.limits import Flow, Pace, Token, TokenPool
from goldpan.miners.replies import (
    HttpReply,
    NoAnswerError,
    Resource,
    Verdict,
    next_page,
    parse_json,
    read_reply,
)
from tests.local_server import Answer, Asked, Server

FAST = Pace(backoff=0.01, longest=0.02, secondary=0.05, margin=0.01, per_minute=10**6, patience=0.2)
PACE = Pace(margin=0.05, secondary=0.2, per_minute=10**6)
AT_ONCE = Pace(backoff=0.0, longest=0.0)
TOKEN = "ghp_ThisMustGoNowhereElse"


def ask(url: str, path: str = "/x", *, query: str = "", retries: int = 3) -> HttpReply:
    async def run() -> HttpReply:
        pool = TokenPool((TOKEN,), FAST)
        async with GitHub(url, f"{url}/graphql", pool, retries=retries, pace=FAST) as github:
            return await (github.graphql(query, {}) if query else github.get(path))

    return asyncio.run(run())


def test_a_token_does_not_follow_a_redirect_to_another_host() -> None:
    with Server() as other:
        target = other.url.replace("127.0.0.1", "localhost")
        with (
            Server(lambda _: Answer(301, {}, {"Location": f"{target}/y"})) as server,
            pytest.raises(QueryError, match="leads to another host"),
        ):
            ask(server.url)
        assert other.got == []


def test_an_address_that_is_none_is_not_followed() -> None:
    with (
        Server(lambda _: Answer(301, {}, {"Location": "http://[/y"})) as server,
        pytest.raises(QueryError, match="no address"),
    ):
        ask(server.url)
    with pytest.raises(QueryError, match="no address"):  # as of a next page
        ask("https://api.github.com", "http://[/y")


def test_a_redirect_loop_ends() -> None:
    with (
        Server(lambda asked: Answer(302, {}, {"Location": asked.target + "x"})) as server,
        pytest.raises(ServerError, match="resumes where it stopped"),
    ):
        ask(server.url)
    assert 5 < len(server.got) < 20


def test_a_redirect_on_the_same_host_is_followed_and_told() -> None:
    def answer(asked: Asked) -> Answer:
        return Answer(body=[1]) if asked.target == "/new" else Answer(301, {}, {"Location": "/new"})

    with Server(answer) as server:
        reply = ask(server.url)
    assert (reply.data, reply.moved) == ([1], f"{server.url}/new")


def test_a_refusal_that_is_no_limit_comes_back_at_once() -> None:
    body = b'{"message": "Resource protected by organization SAML enforcement."}'
    with Server(lambda _: Answer(403, body, {"x-ratelimit-remaining": "4000"})) as server:
        reply = ask(server.url)
    assert (reply.status, len(server.got)) == (403, 1)
    assert "SAML" in reply.problem


def test_a_refused_query_names_the_reason_and_a_remedy() -> None:
    body = b'{"errors": [{"type": "FORBIDDEN", "message": "Resource not accessible"}]}'
    with (
        Server(lambda _: Answer(body=body)) as server,
        pytest.raises(QueryError, match=r"FORBIDDEN: Resource not accessible.*--via rest"),
    ):
        ask(server.url, query="query Q { viewer { login } }")
    assert len(server.got) == 1


def test_nobody_there_is_told_after_the_last_try() -> None:
    with Server() as server:
        pass
    with pytest.raises(ServerError, match=r"127\.0\.0\.1:\d+ cannot be reached"):
        ask(server.url)


def test_the_address_in_messages_holds_no_query() -> None:
    with Server(lambda _: Answer(500)) as server, pytest.raises(ServerError) as raised:
        ask(server.url, "/x?secret=1")
    assert "secret" not in str(raised.value)
    assert TOKEN not in str(raised.value)


def headers(remaining: int, reset_in: float, skew: float = 0.0) -> dict[str, str]:
    now = time.time() + skew
    return {
        "x-ratelimit-remaining": str(remaining),
        "x-ratelimit-limit": "5000",
        "x-ratelimit-reset": str(int(now + reset_in)),
        "date": formatdate(now, usegmt=True),
    }


def acquired(pool: TokenPool, resource: Resource = "core", times: int = 1) -> list[Token]:
    """Return the tokens of requests that were sent one after the other."""

    async def run() -> list[Token]:
        return [await pool.acquire(resource) for _ in range(times)]

    return asyncio.run(run())


def waited(pool: TokenPool, resource: Resource = "core", times: int = 1) -> float:
    """Return the seconds that it took until requests might be sent."""
    started = time.monotonic()
    acquired(pool, resource, times)
    return time.monotonic() - started


def spent(reset_in: float, skew: float = 0.0) -> TokenPool:
    """Return a pool whose one token is spent."""
    pool = TokenPool(("one",), PACE)
    pool.observe(pool.tokens[0], "core", headers(0, reset_in, skew))
    return pool


def test_a_spent_token_gives_way_to_another_and_budgets_are_apart() -> None:
    pool = TokenPool(("one", "two"), PACE)
    first, second = pool.tokens
    pool.observe(first, "core", headers(0, 3600))
    assert acquired(pool, times=3) == [second] * 3
    pool.observe(second, "graphql", headers(0, 3600))
    assert acquired(pool, "graphql") == [first]


def test_waits_for_the_reset_and_no_longer() -> None:
    assert 0.5 < waited(spent(2)) < 60


def test_replies_that_overtake_each_other_do_not_raise_the_budget() -> None:
    pool = TokenPool(("one",), PACE)
    token = pool.tokens[0]
    later = headers(10, 3600)
    pool.observe(token, "core", later)
    pool.observe(token, "core", {**later, "x-ratelimit-remaining": "12"})
    assert token.budgets["core"].remaining == 10


def test_free_replies_use_up_nothing() -> None:
    """A 304 leaves the server's count as it was; so must ours be, however many there are."""

    async def run() -> None:
        pool = TokenPool(("one",), PACE)
        token = pool.tokens[0]
        for _ in range(50):
            assert await pool.acquire("core") is token
            pool.observe(token, "core", headers(5, 3600))
            pool.release(token, "core")

    asyncio.run(asyncio.wait_for(run(), 300))


def test_requests_under_way_are_counted_against_the_budget() -> None:
    pool = TokenPool(("one", "two"), PACE)
    for token in pool.tokens:
        pool.observe(token, "core", headers(1, 3600))
    assert set(acquired(pool, times=2)) == set(pool.tokens)


def test_a_cancelled_wait_leaves_no_request_under_way() -> None:
    async def run() -> None:
        pool, flow = TokenPool(("one",), Pace(per_minute=1)), Flow(1)
        pool.observe(pool.tokens[0], "core", headers(2, 3600))
        await pool.acquire("core")
        waiting: list[asyncio.Task[object]] = [asyncio.create_task(pool.acquire("core"))]
        await flow.__aenter__()
        waiting += [asyncio.create_task(flow.__aenter__()) for _ in range(2)]
        await asyncio.sleep(0)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        pool.release(pool.tokens[0], "core")
        assert pool.tokens[0].budgets["core"].under_way == 0

    asyncio.run(run())


@pytest.mark.parametrize("steps", range(1, 8))
def test_requests_cancelled_as_they_end_leave_their_places(steps: int) -> None:
    async def run() -> None:
        flow, end = Flow(3), asyncio.Event()
        flow.width = 3.0

        async def request() -> None:
            async with flow:
                await end.wait()

        requests = [asyncio.create_task(request()) for _ in range(9)]
        await asyncio.sleep(0.01)
        end.set()
        for _ in range(steps):
            await asyncio.sleep(0)
        for task in requests:
            task.cancel()
        await asyncio.gather(*requests, return_exceptions=True)
        for _ in range(3):
            await asyncio.wait_for(flow.__aenter__(), 1)

    asyncio.run(run())


def test_a_pause_holds_for_both_resources() -> None:
    pool = TokenPool(("one",), PACE)
    pool.pause(pool.tokens[0], 0.4)
    assert 0.3 < waited(pool, "graphql") < 60


def test_requests_are_spaced() -> None:
    assert waited(TokenPool(("one",), Pace(per_minute=1200)), times=5) > 0.15


def test_tokens_never_show() -> None:
    pool = TokenPool(("ghp_verysecret1234",), PACE)
    assert "verysecret" not in repr(pool.tokens) + pool.tokens[0].name


def drain(items: list[int], most: int, poison: set[int]) -> tuple[list[int], list[int], list[int]]:
    """Fetch with a server that answers at most `most` items and never the poisonous ones."""
    got: list[int] = []
    given_up: list[int] = []
    batches: list[int] = []

    async def fetch(batch: list[int]) -> list[int]:
        batches.append(len(batch))
        if len(batch) > most or poison & set(batch):
            raise NoAnswerError("The batch", read_reply(502, {}, b"", graphql=True))
        got.extend(batch)
        return []

    work = Drain(
        items, BatchSize(25), fetch, lambda item, _: given_up.append(item), tries=3, pace=AT_ONCE
    )
    asyncio.run(work.run(2))
    return got, given_up, batches


@given(
    count=st.integers(0, 200),
    most=st.integers(1, 30),
    poison=st.sets(st.integers(0, 200), max_size=4),
)
def test_everything_is_fetched_once_or_given_up(count: int, most: int, poison: set[int]) -> None:
    items = list(range(count))
    got, given_up, _ = drain(items, most, poison)
    assert sorted(got + given_up) == items
    assert set(given_up) == poison & set(items)


def test_the_size_that_works_is_kept() -> None:
    _, _, batches = drain(list(range(200)), 6, set())
    assert sum(size > 6 for size in batches) < len(batches) / 4


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
        (403, LEFT, {"message": "Resource not accessible"}, Verdict.REFUSED),
        (404, PLAIN, {"message": "Not Found"}, Verdict.REFUSED),
        (451, PLAIN, {"message": "blocked"}, Verdict.REFUSED),
        (502, PLAIN, None, Verdict.FAILED),
        (500, PLAIN, None, Verdict.FAILED),
    ],
)
def test_rest(status: int, headers: dict[str, str], body: object, verdict: Verdict) -> None:
    raw = b"" if body is None else orjson.dumps(body)
    assert read_reply(status, headers, raw, graphql=False).verdict is verdict


@pytest.mark.parametrize(
    ("asked", "following", "leads_on"),
    [
        ("/x?per_page=100", "/x?per_page=100&page=2", True),
        ("/x?page=2&per_page=5", "/x?per_page=5&page=3", True),
        ("/x?page=2", "/x?after=Y3Vyc29y", True),
        ("/x?after=a", "/x?after=b&page=2", True),
        ("/x?page=3", "/x?page=3", False),
        ("/x?page=3", "/x?page=2", False),
        ("/x?after=a&page=2", "/x?after=a&page=3", False),
        ("/x", "/x?page=two", False),
    ],
)
def test_a_list_that_leads_back_has_no_end(asked: str, following: str, leads_on: bool) -> None:
    link = f'<https://h{following}>; rel="next", <https://h/x?page=1>; rel="first"'
    reply = read_reply(200, {"link": link}, b"[]", graphql=False)
    if leads_on:
        assert next_page(asked, reply) == f"https://h{following}"
    else:
        with pytest.raises(NoAnswerError, match="read already"):
            next_page(asked, reply)


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


def test_lone_surrogates_become_replacement_characters_and_nul_is_kept() -> None:
    body = rb'{"a": "x\ud83dy", "b": ["\udc00", "\ud83e\ude99"], "\ud800": "\u0000"}'
    assert parse_json(body) == {"a": "x\ufffdy", "b": ["\ufffd", "🪙"], "\ufffd": "\x00"}


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
