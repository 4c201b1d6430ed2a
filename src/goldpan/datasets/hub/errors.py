"""Errors of the Hub and its client as messages that name the remedy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from json import JSONDecodeError
from urllib.parse import urlsplit

import httpx2
from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled, RepositoryNotFoundError

from goldpan.core.errors import PublishError
from goldpan.core.sanitize import line
from goldpan.core.secrets import mask, register

_LONGEST = 2_000
_AGAIN = "Run the same command again: files that arrived complete are not sent again"


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
    except (httpx2.RequestError, JSONDecodeError, LookupError, TypeError, AttributeError) as error:
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
    status = 404 if isinstance(error, RepositoryNotFoundError) else error.response.status_code
    host, repo = call.host, call.repo_id
    changed = (
        f"{repo} was changed by somebody else while {doing}",
        "Look at what is there now, then run the same command again",
    )
    busy = f"{host} answered {status} while {doing}", f"Wait a little. {_AGAIN}"
    refused = (
        f"{host} refused with {status} while {doing}",
        "Fix what it names, or report it if the dataset came from goldpan build",
    )
    known = {
        401: (
            f"{host} does not accept the token",
            f"Make a new one with write access at {call.endpoint}/settings/tokens and set "
            "HF_TOKEN, or run hf auth login",
        ),
        403: (
            f"The token may not write to {repo} at {host}",
            "Use a token with write access there, or choose another name",
        ),
        404: (
            f"{host} has no dataset {repo}, or hides it from this token",
            "Check the name, and that the token may see it",
        ),
        **dict.fromkeys((409, 412), changed),
        **dict.fromkeys((429, 500, 502, 503, 504), busy),
    }
    problem, remedy = known.get(status, refused)
    message = call.plain(error.server_message or "")
    return PublishError(problem + (f" ({message})" if message else ""), remedy)
