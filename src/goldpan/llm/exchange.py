"""One exchange with a model: the request, the endpoint that answers it, the reply, the outcome.

Endpoints are OpenAI-compatible; the openai SDK waits and tries again.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import orjson

from goldpan.core.errors import GoldpanError, UsageError
from goldpan.core.http import shared_context
from goldpan.core.imports import load
from goldpan.core.sanitize import line
from goldpan.core.secrets import mask, register
from goldpan.llm.settings import OPENAI, EndpointSettings

if TYPE_CHECKING:
    import openai


class EndpointError(GoldpanError):
    """The endpoint serves nobody: the failure of one request alone is an outcome instead."""


@dataclass(frozen=True)
class ModelRequest:
    """One chat completion that is asked for."""

    prompt: str
    """The prompt's label."""
    body: dict[str, Any]

    @cached_property
    def data(self) -> bytes:
        """The body as it is archived."""
        return orjson.dumps(self.body, option=orjson.OPT_SORT_KEYS)

    @cached_property
    def key(self) -> str:
        """A digest of prompt, model, parameters and texts, which tells requests apart."""
        return hashlib.sha256(self.prompt.encode() + b"\0" + self.data).hexdigest()

    @property
    def model(self) -> str:
        """The model that is asked."""
        return str(self.body["model"])


@dataclass(frozen=True, slots=True)
class PendingRequest:
    """A request, and the function that reads its answer."""

    request: ModelRequest
    read: Callable[[str], object]
    """Raises `ValueError` where a text is no answer."""


T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")

Failure = Literal[
    "refused",  # the model, or a filter of the endpoint, did not want to
    "truncated",  # the answer was longer than the most tokens
    "malformed",  # the answer does not follow the schema
    "context-overflow",  # the texts do not fit, however short they are cut
    "bad-request",  # the endpoint does not take the request
    "rate-limited",  # again and again
    "server-error",
    "timeout",
    "no-connection",
    "batch-failed",
    "batch-expired",
]
FINAL: frozenset[str] = frozenset(("refused", "truncated", "malformed", "context-overflow"))
"""Failures that asking the same again would repeat, and pay for again."""

_OVERFLOW = re.compile(
    r"context[ _](?:length|size|window)|maximum context|exceed_context|prompt is too long"
    r"|too many (?:input )?tokens|string_above_max_length",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that were counted by the endpoint."""

    input: int = 0
    output: int = 0
    cached: int = 0
    """Input tokens that the endpoint had in its own cache."""


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A reply: the status and body of HTTP, or a failure without a body."""

    status: int
    body: bytes
    failure: Failure | None = None
    """Why there is no body."""
    seconds: float = 0.0
    batch: bool = False


@dataclass(frozen=True, slots=True)
class RequestOutcome(Generic[T_co]):
    """The meaning of a reply: an answer or a failure."""

    answer: T_co | None
    failure: Failure | None
    detail: str
    """One line for people."""
    usage: Usage
    text: str = ""
    """The model's output, verbatim, whether it is an answer or not."""

    @property
    def final(self) -> bool:
        """True where asking again would be a waste."""
        return self.failure is None or self.failure in FINAL


def understand(reply: ModelReply, read: Callable[[str], T]) -> RequestOutcome[T]:
    """Read a reply; whatever a server sends becomes an outcome.

    `read` makes an answer of the model's text, and raises `ValueError` where it is none.
    """
    if reply.failure is not None:
        return RequestOutcome(
            None, reply.failure, line(reply.body.decode("utf-8", "replace")), Usage()
        )
    data = _json(reply.body)
    if reply.status != 200:
        return _refused_by_http(reply.status, data, reply.body)
    usage = _usage(data.get("usage"))
    choice = _first(data.get("choices"))
    message = choice.get("message")
    if not isinstance(message, dict):
        return RequestOutcome(None, "server-error", "the reply holds no message", usage)
    finish, content = choice.get("finish_reason"), str(message.get("content") or "")
    if message.get("refusal") or finish == "content_filter":
        refusal = line(str(message.get("refusal") or "stopped by a content filter"))
        return RequestOutcome(None, "refused", refusal, usage, content)
    if finish == "length":
        return RequestOutcome(None, "truncated", line(content), usage, content)
    try:
        return RequestOutcome(read(content), None, "", usage, content)
    except ValueError as error:
        return RequestOutcome(None, "malformed", line(f"{error}: {content}"), usage, content)


def _refused_by_http(status: int, data: dict[str, Any], body: bytes) -> RequestOutcome[Any]:
    error = data.get("error")
    parts = (
        error
        if isinstance(error, dict)
        else {"message": error or body[:2000].decode(errors="replace")}
    )
    words = " ".join(str(parts.get(name) or "") for name in ("code", "type", "message"))
    detail = line(f"HTTP {status} {words}")
    if status in (400, 413, 422) and (status == 413 or _OVERFLOW.search(words)):
        return RequestOutcome(None, "context-overflow", detail, Usage())
    if "content_filter" in words or "content_policy" in words:
        return RequestOutcome(None, "refused", detail, Usage())
    if status == 429:
        return RequestOutcome(None, "rate-limited", detail, Usage())
    if status >= 500 or status in (408, 409):
        return RequestOutcome(None, "server-error", detail, Usage())
    return RequestOutcome(None, "bad-request", detail, Usage())


def _json(body: bytes) -> dict[str, Any]:
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return data if isinstance(data, dict) else {}


def _first(choices: object) -> dict[str, Any]:
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else {}


def _usage(reported: object) -> Usage:
    usage = reported if isinstance(reported, dict) else {}
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else 0
    counts = (usage.get("prompt_tokens"), usage.get("completion_tokens"), cached)
    return Usage(*(value if type(value) is int and value >= 0 else 0 for value in counts))


_NO_KEY = "none"
_REDIRECTS = (301, 302, 303, 307, 308)
_HOPELESS = (401, 403, 404, *_REDIRECTS)


class Endpoint:
    """An endpoint; `ask` may be called from several threads."""

    def __init__(self, client: openai.OpenAI, settings: EndpointSettings) -> None:
        self.client = client
        self.base_url = settings.base_url.rstrip("/")

    def ask(self, request: ModelRequest) -> ModelReply:
        """Send a request; every failure that concerns it alone becomes a reply.

        Raises `EndpointError` where no request could succeed: a wrong key, model or address.
        """
        import httpx2
        import openai

        started = time.monotonic()
        try:
            response = self.client.post(
                "/chat/completions", body=request.body, cast_to=httpx2.Response
            )
            reply = ModelReply(response.status_code, mask(response.content))
        except openai.APIStatusError as error:
            if error.status_code in _HOPELESS or error.code == "insufficient_quota":
                raise self.failure(error) from None
            reply = ModelReply(error.status_code, mask(error.response.content))
        except openai.APITimeoutError:
            reply = ModelReply(0, b"", "timeout")
        except openai.APIConnectionError as error:
            reason = str(error.__cause__ or error).encode()
            reply = ModelReply(0, mask(reason), "no-connection")
        return replace(reply, seconds=time.monotonic() - started)

    def failure(self, error: openai.APIError) -> EndpointError:
        """Return the error that says why the endpoint serves nobody."""
        message = line(mask(str(error.message)))
        status = getattr(error, "status_code", None)
        remedy = "Check --base-url, and that the server is up"
        if status in _REDIRECTS:
            message = f"it leads elsewhere, {status}"
            remedy = "Give the address of the server itself with --base-url, if you trust that one"
        if status == 401:
            remedy = "Set the environment variable OPENAI_API_KEY to a key that it knows"
        elif status == 403:
            remedy = "Use a key that may do this"
        elif status == 404:
            remedy = "Check --base-url, --model and, with --batch, that it has the Batch API"
        elif getattr(error, "code", None) == "insufficient_quota":
            remedy = (
                "Fill the account up and run the same command again: it resumes where it stopped"
            )
        return EndpointError(f"{self.base_url} refuses ({message.rstrip('.')})", remedy)


@contextmanager
def connect(settings: EndpointSettings) -> Iterator[Endpoint]:
    """Give the endpoint of the settings; raises `UsageError` where it needs a key and has none."""
    if settings.api_key is None and settings.base_url.rstrip("/") == OPENAI:
        raise UsageError(
            "OpenAI needs a key", "Set the environment variable OPENAI_API_KEY, or give --base-url"
        )
    register(settings.api_key)
    load("openai", "Asking a language model")
    import httpx2
    import openai

    with openai.OpenAI(
        base_url=settings.base_url,
        api_key=settings.api_key or _NO_KEY,
        max_retries=settings.retries,
        timeout=settings.timeout,
        http_client=openai.DefaultHttpxClient(
            follow_redirects=False, verify=shared_context(httpx2.create_ssl_context)
        ),
    ) as client:
        yield Endpoint(client, settings)
