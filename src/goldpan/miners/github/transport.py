"""Sends one request to GitHub once: whatever goes wrong comes back as a reply that failed."""

from __future__ import annotations

import httpx

from goldpan import __version__
from goldpan.core.errors import ServerError
from goldpan.core.tls import shared_context
from goldpan.miners.github.health import FAILURES_TO_DOUBT, Health
from goldpan.miners.github.limits import Token
from goldpan.miners.github.request import Request, host_of
from goldpan.miners.replies import Reply, Verdict, read_reply

API_VERSION = "2022-11-28"
_LONGEST_BODY = 256 << 20
_CONNECT_TIMEOUT = 10.0


class Transport:
    """The connections to GitHub.

    As long as nothing ever answered, a host that cannot be reached or that serves pages for
    people is a wrong address, and a `ServerError`.
    """

    def __init__(self, health: Health, *, concurrency: int, timeout: float) -> None:
        self._health = health
        self._http = httpx.AsyncClient(
            verify=shared_context(),
            timeout=httpx.Timeout(timeout, connect=min(timeout, _CONNECT_TIMEOUT)),
            headers={"User-Agent": f"goldpan/{__version__}", "X-GitHub-Api-Version": API_VERSION},
            limits=httpx.Limits(max_connections=concurrency + 1, keepalive_expiry=30),
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def send(self, token: Token, request: Request) -> Reply:
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
            text=request.text,
        )
        self._check_address(request.url, reply)
        return reply

    def _check_address(self, url: str, reply: Reply) -> None:
        misled = reply.verdict in (Verdict.FAILED, Verdict.REFUSED) and reply.status < 500
        if misled and reply.is_page and not self._health.has_answered:
            raise ServerError(
                f"{host_of(url)} answers with a page for people, not as GitHub's API does "
                f"({reply.problem})",
                "Check --api-url: GitHub's own is https://api.github.com, an Enterprise server's "
                "https://HOST/api/v3",
            )

    def _unreachable(self, url: str, cause: str) -> Reply:
        if not self._health.has_answered and self._health.failures + 1 >= FAILURES_TO_DOUBT:
            raise ServerError(
                f"{host_of(url)} cannot be reached ({cause})",
                "Check the network, a proxy, and --api-url with its port",
            )
        return _failure(f"no connection: {cause}")


def _failure(problem: str) -> Reply:
    return Reply(0, {}, b"", None, Verdict.FAILED, problem)
