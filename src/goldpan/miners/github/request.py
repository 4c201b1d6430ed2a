"""A request to GitHub: what it asks, where it may go, and the error where no answer comes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from goldpan.core.errors import QueryError, ServerError
from goldpan.miners.github.limits import Resource
from goldpan.miners.replies import Reply

RUN_AGAIN = "Run the same command again later: it resumes where it stopped"


class NoAnswerError(ServerError):
    """One request was not answered, however often it was asked: ask for less, or later."""

    def __init__(self, what: str, reply: Reply) -> None:
        super().__init__(f"{what} failed ({reply.problem})", RUN_AGAIN)
        self.reason = reply.problem
        self.status = reply.status or None


@dataclass(frozen=True, slots=True)
class Tag:
    """An ETag and the identity of the token that it belongs to: others get another one."""

    etag: str
    owner: str


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it is sent, but for the token."""

    resource: Resource
    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None = None
    owner: str = ""
    """The identity of the token that has to ask; any may where it is empty."""
    text: bool = False
    """Whether the reply may be something else than JSON."""


def on_same_host(url: str, target: str) -> str:
    """Return an address that GitHub named, as of a next page, if it is on the same host.

    Raises `QueryError` for another host: a token goes nowhere else.
    """
    origin, leads_to = urlsplit(url), urlsplit(target)
    if (origin.scheme, origin.netloc) != (leads_to.scheme, leads_to.netloc):
        raise QueryError(
            f"{origin.path} leads to another host, {leads_to.netloc}",
            "Give that host's API with --api-url if you trust it",
        )
    return target


def path_of(url: str) -> str:
    """Return the path of an address."""
    return urlsplit(url).path


def host_of(url: str) -> str:
    """Return the host of an address, with its port."""
    return urlsplit(url).netloc
