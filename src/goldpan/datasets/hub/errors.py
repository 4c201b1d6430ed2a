"""Errors of the Hub and its client as messages that name the remedy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx2
from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled, RepositoryNotFoundError

from goldpan.core.errors import PublishError
from goldpan.core.sanitize import line
from goldpan.core.secrets import mask, register

_LONGEST = 2_000
_AGAIN = "Run the same command again: what arrived whole is not sent again"


@dataclass(frozen=True, slots=True)
class HubCall:
    """The repository, Hub and token of a call; the token stays out of every message."""

    repo_id: str
    endpoint: str
    token: str | None

    def __post_init__(self) -> None:
        register(self.token)

    @property
    def host(self) -> str:
        """The Hub, as messages name it."""
        return urlsplit(self.endpoint).netloc or self.endpoint

    def plain(self, text: object) -> str:
        """Return a text on one line, without secrets and what terminals act upon."""
        return line(mask(str(text)), _LONGEST)


@contextmanager
def explained(call: HubCall, doing: str, again: str = _AGAIN) -> Iterator[None]:
    """Turn what the Hub's client raises in this block into `PublishError`.

    `again` is the remedy where nothing but the connection is wrong.
    """
    try:
        yield
    except HfHubHTTPError as error:
        raise _refusal(call, doing, error) from None
    except OfflineModeIsEnabled:
        raise PublishError("HF_HUB_OFFLINE keeps Goldpan from the Hub", "Unset it") from None
    except httpx2.TransportError as error:
        raise _cut(call, doing, error, again) from None
    except (httpx2.RequestError, LookupError, TypeError, AttributeError) as error:
        message = call.plain(f"{type(error).__name__}: {error}").rstrip(".")
        raise PublishError(
            f"{call.host} does not answer like a Hub while {doing} ({message})",
            "Check that HF_ENDPOINT is the address of a Hub itself",
        ) from None
    except (RuntimeError, ValueError, OSError) as error:
        cause = error.__cause__
        if isinstance(cause, HfHubHTTPError):
            raise _refusal(call, doing, cause) from None
        if isinstance(cause, httpx2.TransportError):
            raise _cut(call, doing, cause, again) from None
        raise PublishError(
            f"{doing.capitalize()} at {call.host} failed: {call.plain(cause or error).rstrip('.')}",
            again,
        ) from None


def _cut(call: HubCall, doing: str, error: httpx2.TransportError, again: str) -> PublishError:
    reason = call.plain(error) or type(error).__name__
    return PublishError(f"The connection to {call.host} broke while {doing} ({reason})", again)


def _refusal(call: HubCall, doing: str, error: HfHubHTTPError) -> PublishError:
    status = error.response.status_code
    message = call.plain(error.server_message or "")
    detail = f" ({message})" if message else ""
    if isinstance(error, RepositoryNotFoundError) or status == 404:
        return PublishError(
            f"{call.host} has no dataset {call.repo_id}, or hides it from this token{detail}",
            "Check the name, and that the token may see it",
        )
    match status:
        case 401:
            return PublishError(
                f"{call.host} does not accept the token{detail}",
                f"Make a new one with write access at {call.endpoint}/settings/tokens and set "
                "HF_TOKEN, or run hf auth login",
            )
        case 403:
            return PublishError(
                f"The token may not write to {call.repo_id} at {call.host}{detail}",
                "Use a token with write access there, or choose another name",
            )
        case 409 | 412:
            return PublishError(
                f"{call.repo_id} was changed by somebody else while {doing}{detail}",
                "Look at what is there now, then run the same command again",
            )
        case 429 | 500 | 502 | 503 | 504:
            return PublishError(
                f"{call.host} answered {status} while {doing}{detail}", f"Wait a little. {_AGAIN}"
            )
        case _:
            return PublishError(
                f"{call.host} refused with {status} while {doing}{detail}",
                "Fix what it names, or report it if the dataset came from goldpan build",
            )
