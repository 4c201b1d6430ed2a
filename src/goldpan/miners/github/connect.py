"""Makes clients of GitHub out of settings."""

from __future__ import annotations

from typing import TypeVar

from goldpan.config import Settings
from goldpan.miners.github.client import GitHub
from goldpan.miners.github.limits import Pace, TokenPool
from goldpan.progress import Reporter

Client = TypeVar("Client", bound=GitHub)


def connect(
    kind: type[Client], settings: Settings, reporter: Reporter, pace: Pace | None = None
) -> Client:
    """Return a client of that kind; it says by the reporter what it waits for."""
    pace = pace or Pace()
    return kind(
        settings.api_url,
        settings.graphql_url,
        TokenPool(settings.tokens, pace, reporter.note),
        concurrency=settings.concurrency,
        retries=settings.retries,
        timeout=settings.timeout,
        pace=pace,
        note=reporter.note,
    )
