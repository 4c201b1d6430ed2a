"""One client for REST and GraphQL: tokens, limits, retries and redirects in one place.

A request that fails says nothing yet of GitHub: one entry's timeline may fail for ever while all
else is well. So a request is tried a few times and then raises `NoAnswerError`: its caller asks for
less, or later. Only when one failure follows another does the client send a probe that is known to
work; where that fails too, it waits for GitHub as a whole.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from typing import Self
from urllib.parse import urlsplit

import httpx
import orjson

from goldpan._version import __version__
from goldpan.core.errors import AuthenticationError, QueryError, ServerError, UsageError
from goldpan.core.http import jittered, retry_after, shared_context
from goldpan.core.settings.config import Settings
from goldpan.core.settings.trust import tokens_of_command
from goldpan.core.terminal import Reporter
from goldpan.miners.github.limits import (
    FAILURES_TO_DOUBT,
    Flow,
    Pace,
    ServerHealth,
    Token,
    TokenPool,
)
from goldpan.miners.replies import (
    RUN_AGAIN,
    HttpReply,
    HttpRequest,
    NoAnswerError,
    Tag,
    Verdict,
    host_of,
    on_same_host,
    read_reply,
)

API_VERSION = "2022-11-28"
_LONGEST_BODY = 256 << 20
_CONNECT_TIMEOUT = 10.0


class Transport:
    """The connections to GitHub; a request is sent once, and each failure becomes a reply.

    As long as nothing ever answered, a host that cannot be reached or that serves pages for
    people is a wrong address, and a `ServerError` with the setting that gives it.
    """

    def __init__(self, health: ServerHealth, concurrency: int, timeout: float, place: str) -> None:
        self._health = health
        self._place = place or "a proxy"
        self._http = httpx.AsyncClient(
            verify=shared_context(),
            timeout=httpx.Timeout(timeout, connect=min(timeout, _CONNECT_TIMEOUT)),
            headers={"User-Agent": f"goldpan/{__version__}", "X-GitHub-Api-Version": API_VERSION},
            limits=httpx.Limits(max_connections=concurrency + 1, keepalive_expiry=30),
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def send(self, token: Token, request: HttpRequest) -> HttpReply:
        """Return the reply to a request that is sent with this token."""
        headers = dict(request.headers)
        if token.secret:
            headers["Authorization"] = f"Bearer {token.secret}"
        try:
            async with self._http.stream(
                request.method, request.url, headers=headers, content=request.body
            ) as response:
                body = bytearray()
                async for chunk in response.aiter_bytes():
                    body += chunk
                    if len(body) > _LONGEST_BODY:
                        return _failure(f"the reply is longer than {_LONGEST_BODY:,} bytes")
        except httpx.ConnectError as error:
            return self._unreachable(request.url, str(error) or "no connection")
        except httpx.ConnectTimeout:
            return self._unreachable(request.url, "no connection in time")
        except httpx.ReadTimeout:
            return _failure("no answer in time")
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return _failure(f"{type(error).__name__}: {error}" if str(error) else repr(error))
        reply = read_reply(
            response.status_code,
            {name.lower(): value for name, value in response.headers.items()},
            bytes(body),
            graphql=request.resource == "graphql",
        )
        self._check_address(request.url, reply)
        return reply

    def _check_address(self, url: str, reply: HttpReply) -> None:
        misled = reply.verdict in (Verdict.FAILED, Verdict.REFUSED) and reply.status < 500
        if misled and reply.is_page and not self._health.has_answered:
            raise ServerError(
                f"{host_of(url)} answers with a web page, not like GitHub's API ({reply.problem})",
                f"Check {self._place}: GitHub's own address is "
                "https://api.github.com, an Enterprise server's https://HOST/api/v3",
            )

    def _unreachable(self, url: str, cause: str) -> HttpReply:
        if not self._health.has_answered and self._health.failures + 1 >= FAILURES_TO_DOUBT:
            raise ServerError(
                f"{host_of(url)} cannot be reached ({cause})",
                f"Check {self._place}, its host and port, and the network",
            )
        return _failure(f"no connection: {cause}")


def _failure(problem: str) -> HttpReply:
    return HttpReply(0, {}, b"", None, Verdict.FAILED, problem)


_MOST_REDIRECTS = 5
_SILENT = 5.0  # seconds; longer pauses are announced
_MOST_LIMITS = 1_000  # waits for limits do not count as tries, but must end some day
_MOST_SECONDARY = 20  # GitHub bans who goes on after that
_TOKEN_TRIES = 3
_MOST_REFUSED = 10  # queries in a row, after which it is no single entry's doing
_FIRST_TRIES = 10  # of a repository's first contact, while GitHub answers for others
_JSON = "application/vnd.github+json"
Refresh = Callable[[], tuple[str, ...]]
"""Makes new tokens, where the old ones expire."""


class GitHub:
    """Asks GitHub; a reply that comes back is complete and says what it means."""

    def __init__(
        self,
        api_url: str,
        graphql_url: str,
        pool: TokenPool,
        *,
        concurrency: int = 4,
        retries: int = 3,
        timeout: float = 60.0,
        pace: Pace | None = None,
        note: Callable[[str], None] = lambda _: None,
        refresh: Refresh | None = None,
        url_from: str = "",
    ) -> None:
        self.api_url = api_url.rstrip("/")
        self.graphql_url = graphql_url
        self.pool = pool
        self.flow = Flow(concurrency)
        self.retries = retries
        self.requests = 0
        self.free = 0
        """Replies that cost nothing of the limit: 304."""
        self.points = 0
        self.seconds = 0.0
        """Response times of all requests."""
        self._queries = self._refused = 0  # answered, and refused in a row
        self.probe: HttpRequest | None = None
        """Sent whenever it is doubtful whether GitHub answers at all."""
        self.pace = pace or Pace()
        self.note = note
        self._refresh = refresh
        self._health = ServerHealth()
        self._transport = Transport(self._health, concurrency, timeout, url_from)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._transport.close()

    def with_own_counts(self, note: Callable[[str], None]) -> Self:
        """Return a client for another repository that counts for itself.

        Tokens, limits, the requests that may be under way and connections are shared.
        """
        client = copy(self)
        client.note = note
        client.requests = client.free = client.points = client._queries = client._refused = 0
        client.seconds = 0.0
        client.probe = None
        return client

    async def get(self, url: str, tag: Tag | None = None, *, tries: int | None = None) -> HttpReply:
        """Ask REST for a path below the API's root, or for a whole address that it gave.

        Returns replies of any status that asking again would not change (200, 304, 404, ...).
        A `tag` counts only while its token is in the pool. Raises `NoAnswerError` after the last
        try, `AuthenticationError` for bad tokens, `ServerError` once GitHub as a whole did not
        answer for as long as it is waited for.
        """
        request = self.page(url)
        if tag is not None and self.pool.owns(tag.owner):
            headers = {**request.headers, "If-None-Match": tag.etag}
            request = replace(request, headers=headers, owner=tag.owner)
        reply = await self._ask(request, tries or self.retries)
        self.free += reply.status == 304
        return reply

    async def graphql(
        self,
        document: str,
        variables: Mapping[str, object],
        *,
        tries: int = 1,
        first_contact: bool = False,
    ) -> HttpReply:
        """Ask GraphQL; the reply has data, perhaps beside `problem` when some fields failed.

        Raises `NoAnswerError` after the last try: at once by default, since less may be
        answered; `QueryError` when GitHub refuses one query after the other; else as `get` does.
        At `first_contact` a refusal counts at once, and failures are waited out.
        """
        reply = await self._ask(self.query(document, variables), tries, patient=first_contact)
        if reply.verdict is Verdict.REFUSED:
            self._refused += 1
            if self._queries and not first_contact and self._refused < _MOST_REFUSED:
                # Others were answered: it may be one entry of it that GitHub cannot serve.
                raise NoAnswerError("A GraphQL query", reply)
            hint = (
                f"Check --api-url: {host_of(self.graphql_url)} has no GraphQL API there"
                if reply.status in (404, 405)
                else "Check the token's access; with --via rest the same data comes another way"
            )
            raise QueryError(f"GitHub refused a GraphQL query ({reply.problem})", hint)
        self._queries, self._refused = self._queries + 1, 0
        rate = reply.data["data"].get("rateLimit")
        self.points += int(rate["cost"]) if rate else 1
        return reply

    def page(self, url: str) -> HttpRequest:
        """Return the request for a path of REST, or for a whole address that GitHub gave."""
        address = on_same_host(self.api_url, url) if "://" in url else self.api_url + url
        return HttpRequest("core", "GET", address, {"Accept": _JSON})

    def query(self, document: str, variables: Mapping[str, object]) -> HttpRequest:
        """Return the request for a GraphQL document."""
        body = orjson.dumps({"query": document, "variables": variables})
        headers = {"Content-Type": "application/json"}
        return HttpRequest("graphql", "POST", self.graphql_url, headers, body)

    async def _ask(self, request: HttpRequest, tries: int, *, patient: bool = False) -> HttpReply:
        """Return a reply that asking again would not change; ends with the last try or patience."""
        failures = 0
        while True:
            reply = await self._follow(request)
            if reply.verdict in (Verdict.DONE, Verdict.REFUSED):
                return reply
            failures += 1
            last = failures >= tries or reply.verdict is not Verdict.FAILED
            # An incident at first contact is waited out as well, unless others are answered.
            alone = failures > self._health.failures and failures >= _FIRST_TRIES
            waits = reply.status >= 500 and (
                (patient and not alone) or not self._health.has_answered
            )
            if waits:
                await self._wait(reply, failures)
            elif self._health.is_doubtful and self.probe is not None:
                await self._wait_for_github(reply)
            elif not last:
                await self._sleep(failures)
            if last and not waits:
                raise NoAnswerError(f"{request.method} {urlsplit(request.url).path}", reply)

    async def _follow(self, request: HttpRequest) -> HttpReply:
        """Return the reply where redirects lead; ends with the last that is followed."""
        for redirects in range(_MOST_REDIRECTS + 1):
            reply = await self._send_within_limits(request)
            if reply.verdict is not Verdict.REDIRECT:
                return replace(reply, moved=request.url if redirects else "")
            target = on_same_host(request.url, reply.headers.get("location", ""))
            request = replace(request, url=target)
        return reply

    async def _send_within_limits(self, request: HttpRequest) -> HttpReply:
        """Return a reply that is no matter of tokens or limits; ends with the last wait for one."""
        secondary = 0
        for limits in range(_MOST_LIMITS):
            reply, token = await self._send(request)
            match reply.verdict:
                case Verdict.TOKEN:
                    await self._refuse(token, reply)
                case Verdict.PRIMARY:
                    self.pool.exhausted(token, request.resource, reply.headers, limits)
                case Verdict.SECONDARY if secondary < _MOST_SECONDARY:
                    self.pool.pause(token, self._pause(reply, secondary))
                    secondary += 1
                case Verdict.SECONDARY:
                    raise ServerError(
                        f"GitHub keeps asking to slow down ({reply.problem})", RUN_AGAIN
                    )
                case _:
                    return reply
        return reply

    async def _send(self, request: HttpRequest) -> tuple[HttpReply, Token]:
        """Send a request once, and learn from the reply about GitHub, the token and the pace."""
        async with self.flow:
            token = await self.pool.acquire(request.resource, request.owner)
            started = time.monotonic()
            self.requests += 1
            try:
                reply = await self._transport.send(token, request)
                self.pool.observe(token, request.resource, reply.headers)
            finally:
                seconds = time.monotonic() - started
                self.seconds += seconds
                self.pool.release(token, request.resource, seconds)
        match reply.verdict:
            case Verdict.FAILED:
                self._health.record_failure()
                self.flow.choked()
            case Verdict.SECONDARY:
                self.flow.choked()
            case Verdict.DONE | Verdict.REFUSED | Verdict.REDIRECT:
                self._health.record_answer()
                self.pool.accepted(token)
                self.flow.eased()
        return replace(reply, token=token.identity), token

    async def _wait_for_github(self, reply: HttpReply) -> None:
        """Return once GitHub answers the probe; one task finds out for all."""
        async with self._health.lock:
            while self._health.is_doubtful and self.probe is not None:
                probed = await self._send_within_limits(self.probe)
                if probed.verdict is Verdict.FAILED:
                    await self._wait(reply, self._health.failures)

    async def _wait(self, reply: HttpReply, failures: int) -> None:
        """Pause while GitHub answers nobody; raises `ServerError` after all patience."""
        failing = self._health.failing_for()
        if failing >= self.pace.patience:
            raise ServerError(
                f"{host_of(self.api_url)} has answered nothing for "
                f"{max(1, round(failing / 60)):,} min (last: {reply.problem})",
                "Look at https://www.githubstatus.com, and run the same command again once GitHub "
                "has recovered: it resumes where it stopped. --patience says how long to wait",
            )
        await self._sleep(failures, why=f"answers nothing ({reply.problem})")

    async def _sleep(self, failures: int, why: str = "") -> None:
        pause = self.pace.pause(failures)
        if why and pause > _SILENT:
            self.note(f"GitHub {why}: waiting {pause:.0f} s")
        await asyncio.sleep(jittered(pause))

    async def _refuse(self, token: Token, reply: HttpReply) -> None:
        if token.secret is None:
            raise AuthenticationError(
                f"GitHub asks for a token ({reply.problem})", "Put one in GITHUB_TOKEN"
            )
        tries = _TOKEN_TRIES
        if self._refresh is not None and token.refusals >= tries - 1:
            try:
                secrets = await asyncio.to_thread(self._refresh)
            except UsageError as error:
                raise AuthenticationError(error.problem, error.remedy) from None
            token.valid = False
            if self.pool.replace(secrets):
                self.note("GitHub no longer takes the token: GOLDPAN_TOKEN_COMMAND gave another")
                return
        self.pool.refused(token, reply.problem, tries)

    def _pause(self, reply: HttpReply, times: int) -> float:
        seconds = retry_after(reply.headers)
        longer = self.pace.secondary * 2.0 ** min(times, 10)
        return min(longer if seconds is None else seconds, 900.0)


def connect(settings: Settings, reporter: Reporter, pace: Pace | None = None) -> GitHub:
    """Return a client; it reports what it waits for.

    Raises `UsageError` where the server is the word of a workspace that is not trusted.
    """
    settings.trust.require("api_url")
    pace = pace or replace(Pace(), patience=settings.patience)
    command = settings.token_command
    return GitHub(
        settings.api_url,
        settings.graphql_url,
        TokenPool(settings.tokens, pace, reporter.note),
        concurrency=settings.concurrency,
        retries=settings.retries,
        timeout=settings.timeout,
        pace=pace,
        note=reporter.note,
        refresh=(lambda: tokens_of_command(command)) if command else None,
        url_from=settings.api_url_from,
    )
