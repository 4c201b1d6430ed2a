"""Tokens are used as long as they may be, and waited for when they may not."""

from __future__ import annotations

import asyncio
import time
from email.utils import formatdate

import pytest

from goldpan.core.errors import AuthenticationError
from goldpan.miners.github.limits import Pace, TokenPool

FAST = Pace(margin=0.05, secondary=0.2, per_minute=10**6)


def headers(remaining: int, reset_in: float, skew: float = 0.0) -> dict[str, str]:
    now = time.time() + skew
    return {
        "x-ratelimit-remaining": str(remaining),
        "x-ratelimit-limit": "5000",
        "x-ratelimit-reset": str(int(now + reset_in)),
        "date": formatdate(now, usegmt=True),
    }


def test_a_spent_token_gives_way_to_another_and_budgets_are_apart() -> None:
    async def run() -> None:
        pool = TokenPool(("one", "two"), FAST)
        first, second = pool.tokens
        pool.observe(first, "core", headers(0, 3600))
        for _ in range(3):
            assert await pool.acquire("core") is second
        pool.observe(second, "graphql", headers(0, 3600))
        assert await pool.acquire("graphql") is first

    asyncio.run(run())


def test_waits_for_the_reset_and_no_longer() -> None:
    async def run() -> float:
        pool = TokenPool(("one",), FAST)
        pool.observe(pool.tokens[0], "core", headers(0, 2))
        started = time.monotonic()
        await pool.acquire("core")
        return time.monotonic() - started

    assert 0.5 < asyncio.run(run()) < 60


@pytest.mark.parametrize("skew", [-7200.0, pytest.param(7200.0, marks=pytest.mark.nightly)])
def test_a_wrong_local_clock_changes_no_waiting(skew: float) -> None:
    async def run() -> float:
        pool = TokenPool(("one",), FAST)
        pool.observe(pool.tokens[0], "core", headers(0, 2, skew))
        started = time.monotonic()
        await pool.acquire("core")
        return time.monotonic() - started

    assert asyncio.run(run()) < 600


def test_replies_that_overtake_each_other_do_not_raise_the_budget() -> None:
    pool = TokenPool(("one",), FAST)
    token = pool.tokens[0]
    later = headers(10, 3600)
    pool.observe(token, "core", later)
    pool.observe(token, "core", {**later, "x-ratelimit-remaining": "12"})
    assert token.budgets["core"].remaining == 10


def test_free_replies_use_up_nothing() -> None:
    """A 304 leaves the server's count as it was; so must ours be, however many there are."""

    async def run() -> None:
        pool = TokenPool(("one",), FAST)
        token = pool.tokens[0]
        for _ in range(50):
            assert await pool.acquire("core") is token
            pool.observe(token, "core", headers(5, 3600))
            pool.release(token, "core")

    asyncio.run(asyncio.wait_for(run(), 300))


def test_requests_under_way_are_counted_against_the_budget() -> None:
    async def run() -> None:
        pool = TokenPool(("one", "two"), FAST)
        first, second = pool.tokens
        pool.observe(first, "core", headers(1, 3600))
        pool.observe(second, "core", headers(1, 3600))
        assert {await pool.acquire("core"), await pool.acquire("core")} == {first, second}

    asyncio.run(run())


def test_a_pause_holds_for_both_resources() -> None:
    async def run() -> float:
        pool = TokenPool(("one",), FAST)
        pool.pause(pool.tokens[0], 0.4)
        started = time.monotonic()
        await pool.acquire("graphql")
        return time.monotonic() - started

    assert 0.3 < asyncio.run(run()) < 60


def test_requests_are_spaced() -> None:
    async def run() -> float:
        pool = TokenPool(("one",), Pace(per_minute=1200))
        started = time.monotonic()
        for _ in range(5):
            await pool.acquire("core")
        return time.monotonic() - started

    assert asyncio.run(run()) > 0.15


def test_no_valid_token_is_an_error_with_a_remedy() -> None:
    async def run() -> None:
        pool = TokenPool(("one",), FAST)
        pool.tokens[0].valid = False
        await pool.acquire("core")

    with pytest.raises(AuthenticationError, match="GITHUB_TOKEN"):
        asyncio.run(run())


def test_tokens_never_show() -> None:
    pool = TokenPool(("ghp_verysecret1234",), FAST)
    assert "verysecret" not in repr(pool.tokens) + pool.tokens[0].name
