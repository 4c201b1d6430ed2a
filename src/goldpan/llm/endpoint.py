"""An OpenAI-compatible endpoint; the openai SDK waits and tries again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from goldpan.core.errors import UsageError
from goldpan.core.http import shared_context
from goldpan.core.imports import load
from goldpan.core.sanitize import line
from goldpan.core.secrets import mask, register
from goldpan.llm.dialect import Dialect
from goldpan.llm.exchange import EndpointError, ModelReply, ModelRequest, understand, unsupported
from goldpan.llm.settings import OPENAI, EndpointSettings

if TYPE_CHECKING:
    import openai

_NO_KEY = "none"
_REDIRECTS = (301, 302, 303, 307, 308)
_HOPELESS = (401, 402, 403, 404, *_REDIRECTS)


def _no_money(error: openai.APIError) -> bool:
    return not {error.code, error.type}.isdisjoint(
        ("insufficient_quota", "exceeded_current_quota_error")
    )


class Endpoint:
    """An endpoint; `ask` may be called from several threads."""

    def __init__(self, client: openai.OpenAI, settings: EndpointSettings, dialect: Dialect) -> None:
        self.client = client
        self.base_url = settings.base_url.rstrip("/")
        self.timeout = settings.timeout
        self.dialect = dialect

    def ask(self, request: ModelRequest) -> ModelReply:
        """Send a request, again without what the endpoint says it does not take.

        Every failure that concerns it alone becomes a reply. Raises `EndpointError` where no
        request could succeed: a wrong key, model or address.
        """
        started = time.monotonic()
        while True:
            body = self.dialect.spoken(request.body)
            reply = self._post(body)
            if not self.dialect.learn(unsupported(reply, body)):
                seconds = time.monotonic() - started
                return replace(reply, seconds=seconds, fields=tuple(sorted(body)))

    def _post(self, body: dict[str, Any]) -> ModelReply:
        import httpx2
        import openai

        try:
            response = self.client.post("/chat/completions", body=body, cast_to=httpx2.Response)
            return ModelReply(response.status_code, mask(response.content))
        except openai.APIStatusError as error:
            reply = ModelReply(error.status_code, mask(error.response.content))
            if understand(reply, str).failure == "refused":
                return reply
            if error.status_code in _HOPELESS or _no_money(error):
                raise self.failure(error) from None
            return reply
        except openai.APITimeoutError:
            told = f"nothing came within {self.timeout:g} s: raise timeout for a slow model"
            return ModelReply(0, told.encode(), "timeout")
        except openai.APIConnectionError as error:
            reason = str(error.__cause__ or error).encode()
            return ModelReply(0, mask(reason), "no-connection")

    def failure(self, error: openai.APIError) -> EndpointError:
        """Return the error that says why the endpoint serves nobody."""
        import openai

        message, status = line(mask(str(error.message))), None
        if isinstance(error, openai.APIStatusError):
            status = error.status_code
            message = understand(ModelReply(status, mask(error.response.content)), str).detail
        remedy = "Check --base-url, and that the server is up"
        if status in _REDIRECTS:
            message = f"it leads elsewhere, {status}"
            remedy = "Give the address of the server itself with --base-url, if you trust that one"
        if status == 401:
            remedy = "Set the environment variable OPENAI_API_KEY to a valid key"
        elif status == 403:
            remedy = "Use a key that may do this"
        elif status == 404:
            remedy = "Check --base-url, --model and, with --batch, that it has the Batch API"
        elif status == 402 or _no_money(error):
            remedy = (
                "Top up the account and run the same command again: it resumes where it stopped"
            )
        return EndpointError(f"{self.base_url} refuses ({message.rstrip('.')})", remedy)


@contextmanager
def connect(settings: EndpointSettings, dialect: Dialect) -> Iterator[Endpoint]:
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
        yield Endpoint(client, settings, dialect)
