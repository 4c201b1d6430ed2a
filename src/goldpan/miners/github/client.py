"""One client for REST and GraphQL: tokens, limits, retries and redirects in one place."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Self
from urllib.parse import urljoin, urlsplit

import httpx
import orjson

from goldpan import __version__
from goldpan.errors import AuthenticationError, QueryError, ServerError
from goldpan.miners.github.limits import Pace, Resource, Token, TokenPool
from goldpan.miners.replies import Reply, Verdict, read_reply

_LONGEST_BODY = 256 << 20
_MOST_REDIRECTS = 5
_SILENT = 5.0  # seconds; longer pauses are announced
_PATIENT = 1_000  # waits for limits do not count as tries, but must end some day


class OverloadError(ServerError):
    """GitHub could not answer a query in time: ask for less of it."""


class GitHub:
    """Asks GitHub; a reply that comes back is complete and says what it means."""

    def __init__(
        self,
        api_url: str,
        graphql_url: str,
        pool: TokenPool,
        *,
        concurrency: int = 2,
        retries: int = 8,
        timeout: float = 60.0,
        pace: Pace | None = None,
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.api_url = api_url.rstrip("/")
        self.graphql_url = graphql_url
        self.requests = 0
        self.points = 0
        self.retries = retries
        self._pool = pool
        self._pace = pace or Pace()
        self._note = note
        self._gate = asyncio.Semaphore(concurrency)
        self._jitter = random.Random()  # noqa: S311 - spreads retries, protects nothing
        self._http = httpx.AsyncClient(
            timeout=timeout,
            headers={"User-Agent": f"goldpan/{__version__}", "X-GitHub-Api-Version": "2022-11-28"},
            limits=httpx.Limits(max_connections=concurrency, keepalive_expiry=30),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def get(self, url: str, etag: str | None = None) -> Reply:
        """Ask REST for a path below the API's root, or for a whole address that it gave.

        Returns replies of any status that asking again would not change (200, 304, 404, ...).
        Raises `ServerError` after the last try, `AuthenticationError` for bad tokens.
        """
        address = url if "://" in url else self.api_url + url
        headers = {"Accept": "application/vnd.github+json"}
        if etag:
            headers["If-None-Match"] = etag
        return await self._ask("core", "GET", address, headers, None)

    async def graphql(
        self, document: str, variables: Mapping[str, object], *, patient: bool = False
    ) -> Reply:
        """Ask GraphQL; the reply has data, perhaps beside `problem` when some fields failed.

        Raises `OverloadError` as soon as GitHub says that the query is too much (a `patient`
        call asks again first), `QueryError` when it refuses the query, `ServerError` after the
        last try.
        """
        body = orjson.dumps({"query": document, "variables": variables})
        headers = {"Content-Type": "application/json"}
        reply = await self._ask("graphql", "POST", self.graphql_url, headers, body, patient)
        if reply.verdict is Verdict.REFUSED:
            raise QueryError(
                f"GitHub refused a GraphQL query ({reply.problem})",
                "Check the token's access; with --via rest the same data comes another way",
            )
        rate = reply.data["data"].get("rateLimit")
        self.points += int(rate["cost"]) if rate else 1
        return reply

    async def _ask(
        self,
        resource: Resource,
        method: str,
        url: str,
        headers: dict[str, str],
        body: bytes | None,
        patient: bool = True,
    ) -> Reply:
        failures = limits = redirects = 0
        while True:
            async with self._gate:
                token = await self._pool.acquire(resource)
                try:
                    reply = await self._once(token, resource, method, url, headers, body)
                finally:
                    self._pool.release(token, resource)
            match reply.verdict:
                case Verdict.DONE | Verdict.REFUSED:
                    return replace(reply, moved=url) if redirects else reply
                case Verdict.REDIRECT if redirects < _MOST_REDIRECTS:
                    redirects += 1
                    url = self._moved(url, reply)
                    continue
                case Verdict.TOKEN:
                    self._reject(token, reply)
                    continue
                case Verdict.PRIMARY if limits < _PATIENT:
                    limits += 1
                    self._pool.exhausted(token, resource)
                    continue
                case Verdict.SECONDARY if limits < _PATIENT:
                    self._pool.pause(token, self._patience(reply, limits))
                    limits += 1
                    continue
                case Verdict.OVERLOAD if not patient:
                    raise OverloadError(f"GitHub could not answer ({reply.problem})", _AGAIN)
            failures += 1
            if failures >= self.retries:
                raise ServerError(
                    f"{method} {_shown(url)} failed {failures} times ({reply.problem})", _AGAIN
                )
            pause = min(self._pace.backoff * 2 ** (failures - 1), self._pace.longest)
            if pause > _SILENT:
                self._note(f"GitHub does not answer well ({reply.problem}): waiting {pause:.0f} s")
            await asyncio.sleep(pause * self._jitter.uniform(0.5, 1.0))

    async def _once(
        self,
        token: Token,
        resource: Resource,
        method: str,
        url: str,
        headers: dict[str, str],
        body: bytes | None,
    ) -> Reply:
        sent = dict(headers)
        if token.secret:
            sent["Authorization"] = f"Bearer {token.secret}"
        self.requests += 1
        try:
            async with self._http.stream(method, url, headers=sent, content=body) as response:
                answer = bytearray()
                async for chunk in response.aiter_bytes():
                    answer += chunk
                    if len(answer) > _LONGEST_BODY:
                        return _broken(f"the reply is longer than {_LONGEST_BODY:,} bytes")
        except httpx.ReadTimeout:
            return Reply(0, {}, b"", None, Verdict.OVERLOAD, "no answer in time")
        except httpx.HTTPError as error:
            return _broken(f"{type(error).__name__}: {error}" if str(error) else repr(error))
        found = {name.lower(): value for name, value in response.headers.items()}
        reply = read_reply(
            response.status_code, found, bytes(answer), graphql=resource == "graphql"
        )
        self._pool.observe(token, resource, found)
        return reply

    def _moved(self, url: str, reply: Reply) -> str:
        """Return where a redirect leads, if that is on the same host: a token goes nowhere else."""
        target = urljoin(url, reply.headers.get("location", ""))
        here, there = urlsplit(url), urlsplit(target)
        if (here.scheme, here.netloc) != (there.scheme, there.netloc):
            raise QueryError(
                f"{_shown(url)} redirects to another host, {there.netloc}",
                "Give that host's API with --api-url if you trust it",
            )
        return target

    def _reject(self, token: Token, reply: Reply) -> None:
        if token.secret is None:
            raise AuthenticationError(
                f"GitHub asks for a token ({reply.problem})", "Put one in GITHUB_TOKEN"
            )
        if token.valid:
            token.valid = False
            self._note(f"GitHub does not accept {token.name} ({reply.problem}); going on without")

    def _patience(self, reply: Reply, limits: int) -> float:
        try:
            seconds = float(reply.headers["retry-after"])
        except (KeyError, ValueError):
            seconds = self._pace.secondary * 2.0 ** min(limits, 10)
        return min(seconds, 900.0)


_AGAIN = "Run the same command again later: it goes on where it was"


def _broken(problem: str) -> Reply:
    return Reply(0, {}, b"", None, Verdict.BROKEN, problem)


def _shown(url: str) -> str:
    return urlsplit(url).path


def graphql_errors(reply: Reply) -> list[dict[str, Any]]:
    """Return the errors that came beside a GraphQL reply's data."""
    return list(reply.data.get("errors") or ())
