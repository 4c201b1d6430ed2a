"""Sends requests to a Label Studio server; whatever goes wrong becomes a `StudioError`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import httpx
import orjson

from goldpan.annotation.studio.errors import StudioError, StudioFaultError
from goldpan.core.retry import Backoff
from goldpan.core.sanitize import line
from goldpan.core.secrets import mask, register
from goldpan.core.tls import shared_context

T = TypeVar("T")

_TRIES = 5
_PACE = Backoff(0.4)
_TIMEOUT = httpx.Timeout(300.0, connect=10.0)
_BUSY = (429, 502, 503, 504)
_AGAIN = "See that it runs and try again: what is done stays done"


class Transport:
    """A connection to a server, which alone is ever sent the token.

    Reads are tried again when the connection breaks or the server is busy. What creates
    something is sent once: only the caller can tell whether it arrived.
    """

    def __init__(self, url: str, token: str) -> None:
        register(token)
        self.url = url
        self._token = token
        self._personal = token.count(".") == 2
        self._client = httpx.Client(
            base_url=url, timeout=_TIMEOUT, trust_env=False, verify=shared_context()
        )
        if not self._personal:
            self._client.headers["Authorization"] = f"Token {token}"

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def ask(self, method: str, path: str, read: Callable[[Any], T], **options: Any) -> T:
        """Return what `read` makes of a reply's JSON; it may fail as lookups do."""
        answer = self.send(method, path, **options)
        return self.understand(answer, lambda: read(orjson.loads(answer.content)))

    def understand(self, answer: httpx.Response, read: Callable[[], T]) -> T:
        """Return what a reply is read as; a reply that lacks something is the server's fault."""
        try:
            return read()
        except orjson.JSONDecodeError:
            raise self._refusal(answer, "answers with something else than JSON") from None
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
            message = line(f"{type(error).__name__}: {error}", 100)
            raise self._refusal(answer, f"answers with something unexpected, {message},") from None

    def send(
        self,
        method: str,
        path: str,
        *,
        params: Any = None,
        body: object = None,
        missing: bool = False,
    ) -> httpx.Response:
        """Return a reply that tells of success, or with `missing` that nothing is there."""
        content = None if body is None else orjson.dumps(body)
        headers = {"Content-Type": "application/json"} if content else {}
        tries = 1 if method == "POST" else _TRIES
        renewed = False
        for attempt in range(1, 1 + tries):
            if self._personal and "Authorization" not in self._client.headers:
                self._renew()
            try:
                answer = self._client.request(
                    method, path, params=params, content=content, headers=headers
                )
                if answer.status_code == 401 and self._personal and not renewed:
                    # What it granted lasts five minutes; a refused request changed nothing.
                    self._renew()
                    renewed = True
                    answer = self._client.request(
                        method, path, params=params, content=content, headers=headers
                    )
            except httpx.RequestError as error:
                if attempt < tries:
                    time.sleep(_PACE.pause(attempt))
                    continue
                raise self._silence(error) from None
            if answer.is_success or (missing and answer.status_code == 404):
                return answer
            if answer.status_code not in _BUSY or attempt == tries:
                break
            time.sleep(_PACE.pause(attempt))
        raise self._refusal(answer)

    def _renew(self) -> None:
        """Exchange the personal token for one that opens the API for five minutes."""
        self._client.headers.pop("Authorization", None)
        try:
            answer = self._client.post("/api/token/refresh", json={"refresh": self._token})
        except httpx.RequestError as error:
            raise self._silence(error) from None
        if not answer.is_success:
            raise self._refusal(answer)
        access = self.understand(answer, lambda: str(orjson.loads(answer.content)["access"]))
        register(access)
        if not (access.isascii() and access.isprintable()):
            raise self._refusal(answer, "grants something that is not a token")
        self._client.headers["Authorization"] = f"Bearer {access}"

    def _silence(self, error: httpx.RequestError) -> StudioError:
        return StudioError(
            f"Label Studio at {self.url} does not answer ({type(error).__name__})", _AGAIN
        )

    def _refusal(self, answer: httpx.Response, problem: str = "") -> StudioError:
        server = f"Label Studio at {self.url}"
        path = answer.request.url.path
        if answer.has_redirect_location:
            target = line(mask(answer.headers["Location"]))
            return StudioError(
                f"{server} redirects to {target}",
                "Give the address of the server itself, if you trust that one",
            )
        if answer.status_code == 403 and "reserved network" in answer.text:
            return StudioError(
                f"{server} calls no address of its own machine or of a private network",
                "Start it with SSRF_PROTECTION_ENABLED=false, or pull now and then instead",
            )
        if answer.status_code in (401, 403):
            return StudioError(
                f"{server} does not accept the access token",
                "Copy a valid one into LABEL_STUDIO_API_KEY; a legacy token works only where "
                "the organization allows legacy tokens",
            )
        if answer.status_code == 404:
            return StudioError(
                f"{server} has no {path}",
                "Check that the address is right and that nobody deleted the project there",
            )
        message = line(mask(answer.text), 300)
        kind = StudioFaultError if answer.status_code >= 500 else StudioError
        return kind(
            f"{server} {problem or 'refuses'} ({answer.status_code} to {path}): {message}",
            "See that this is the address of Label Studio itself and that it is well; "
            "then this is a defect worth reporting",
        )
