"""The connection to Label Studio: tokens, tries and errors told for people."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from typing import Any, TypeVar

import httpx
import msgspec
import orjson

from goldpan.core.errors import GoldpanError
from goldpan.core.http import Backoff, shared_context
from goldpan.core.sanitize import line
from goldpan.core.secrets import mask, register


class StudioError(GoldpanError):
    """Label Studio is not there, refuses, or holds something else than it should."""


class StudioFaultError(StudioError):
    """The server itself fails at a request that it should be able to answer."""


T = TypeVar("T")
_TRIES = 5
_PACE = Backoff(0.4)
_TIMEOUT = httpx.Timeout(300.0, connect=10.0)
_BUSY = (429, 502, 503, 504)
_AGAIN = "See that it runs and try again: what is done stays done"


class StudioTransport:
    """A connection to a server, which alone is ever sent the token.

    Reads are tried again when the connection breaks or the server is busy. What creates
    something is sent once: only the caller can tell whether it arrived.
    """

    def __init__(self, url: str, token: str) -> None:
        register(token)
        self.url = url
        personal = token.count(".") == 2
        self._client = httpx.Client(
            base_url=url,
            auth=_PersonalToken(self, token) if personal else None,
            headers={} if personal else {"Authorization": f"Token {token}"},
            timeout=_TIMEOUT,
            trust_env=False,
            verify=shared_context(),
        )

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
        except (orjson.JSONDecodeError, msgspec.DecodeError) as error:
            if isinstance(error, msgspec.ValidationError):
                raise self._unexpected(answer, error) from None
            raise self.refusal(answer, "answers with something else than JSON") from None
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise self._unexpected(answer, error) from None

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
        for attempt in range(1, 1 + tries):
            try:
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
        raise self.refusal(answer)

    def _unexpected(self, answer: httpx.Response, error: Exception) -> StudioError:
        message = line(f"{type(error).__name__}: {error}", 100)
        return self.refusal(answer, f"answers with something unexpected, {message},")

    def _silence(self, error: httpx.RequestError) -> StudioError:
        return StudioError(
            f"Label Studio at {self.url} does not answer ({type(error).__name__})", _AGAIN
        )

    def refusal(self, answer: httpx.Response, problem: str = "") -> StudioError:
        """Return the error that tells what the server did not do, and the remedy."""
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


class _PersonalToken(httpx.Auth):
    """Exchanges a personal token for one that opens the API for five minutes."""

    requires_response_body = True

    def __init__(self, transport: StudioTransport, token: str) -> None:
        self._transport = transport
        self._token = token
        self._access = ""

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response]:
        if not self._access:
            self._access = self._granted((yield self._refresh()))
        request.headers["Authorization"] = f"Bearer {self._access}"
        answer = yield request
        if answer.status_code == 401:  # the five minutes are over; nothing was changed
            self._access = self._granted((yield self._refresh()))
            request.headers["Authorization"] = f"Bearer {self._access}"
            yield request

    def _refresh(self) -> httpx.Request:
        url = f"{self._transport.url}/api/token/refresh"
        return httpx.Request("POST", url, json={"refresh": self._token})

    def _granted(self, answer: httpx.Response) -> str:
        if not answer.is_success:
            raise self._transport.refusal(answer)
        read = self._transport.understand
        access = read(answer, lambda: str(orjson.loads(answer.content)["access"]))
        register(access)
        if not (access.isascii() and access.isprintable()):
            raise self._transport.refusal(answer, "grants something that is not a token")
        return access
