"""The client against servers that misbehave in ways of their own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from goldpan.core.errors import QueryError, ServerError
from goldpan.miners.github.client import GitHub
from goldpan.miners.github.limits import Pace, TokenPool
from goldpan.miners.replies import HttpReply

Answer = tuple[int, dict[str, str], bytes]
FAST = Pace(backoff=0.01, longest=0.02, secondary=0.05, margin=0.01, per_minute=10**6, patience=0.2)
TOKEN = "ghp_ThisMustGoNowhereElse"


@contextmanager
def serving(answer: Callable[[str], Answer]) -> Iterator[tuple[str, list[str | None]]]:
    """Serve `answer(path)`; gives the address and the credentials that came."""
    credentials: list[str | None] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            credentials.append(self.headers.get("Authorization"))
            status, headers, body = answer(self.path)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815 - the name that http.server calls

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", credentials
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def ask(url: str, path: str = "/x", *, query: str = "", retries: int = 3) -> HttpReply:
    async def run() -> HttpReply:
        pool = TokenPool((TOKEN,), FAST)
        async with GitHub(url, f"{url}/graphql", pool, retries=retries, pace=FAST) as github:
            return await (github.graphql(query, {}) if query else github.get(path))

    return asyncio.run(run())


def test_a_token_does_not_follow_a_redirect_to_another_host() -> None:
    with serving(lambda _: (200, {}, b"{}")) as (other, seen_there):
        target = other.replace("127.0.0.1", "localhost")
        with (
            serving(lambda _: (301, {"Location": f"{target}/y"}, b"{}")) as (url, _),
            pytest.raises(QueryError, match="leads to another host"),
        ):
            ask(url)
        assert seen_there == []


def test_a_redirect_loop_ends() -> None:
    with (
        serving(lambda path: (302, {"Location": path + "x"}, b"{}")) as (url, seen),
        pytest.raises(ServerError, match="resumes where it stopped"),
    ):
        ask(url)
    assert 5 < len(seen) < 20


def test_a_redirect_on_the_same_host_is_followed_and_told() -> None:
    def answer(path: str) -> Answer:
        return (200, {}, b"[1]") if path == "/new" else (301, {"Location": "/new"}, b"{}")

    with serving(answer) as (url, _):
        reply = ask(url)
    assert (reply.data, reply.moved) == ([1], f"{url}/new")


def test_a_refusal_that_is_no_limit_comes_back_at_once() -> None:
    body = b'{"message": "Resource protected by organization SAML enforcement."}'
    with serving(lambda _: (403, {"x-ratelimit-remaining": "4000"}, body)) as (url, seen):
        reply = ask(url)
    assert (reply.status, len(seen)) == (403, 1)
    assert "SAML" in reply.problem


def test_a_refused_query_names_the_reason_and_a_remedy() -> None:
    body = b'{"errors": [{"type": "FORBIDDEN", "message": "Resource not accessible"}]}'
    with (
        serving(lambda _: (200, {}, body)) as (url, seen),
        pytest.raises(QueryError, match=r"FORBIDDEN: Resource not accessible.*--via rest"),
    ):
        ask(url, query="query Q { viewer { login } }")
    assert len(seen) == 1


def test_nobody_there_is_told_after_the_last_try() -> None:
    with serving(lambda _: (200, {}, b"{}")) as (url, _):
        pass
    with pytest.raises(ServerError, match=r"127\.0\.0\.1:\d+ cannot be reached"):
        ask(url)


def test_the_address_in_messages_holds_no_query() -> None:
    with serving(lambda _: (500, {}, b"")) as (url, _), pytest.raises(ServerError) as raised:
        ask(url, "/x?secret=1")
    assert "secret" not in str(raised.value)
    assert TOKEN not in str(raised.value)
