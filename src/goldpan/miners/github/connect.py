"""Makes clients of GitHub out of settings."""

from __future__ import annotations

from dataclasses import replace

from goldpan.core.config import Settings
from goldpan.core.progress import Reporter
from goldpan.core.tokens import tokens_of_command
from goldpan.miners.github.client import GitHub
from goldpan.miners.github.limits import Pace, TokenPool


def connect(settings: Settings, reporter: Reporter, pace: Pace | None = None) -> GitHub:
    """Return a client; it says by the reporter what it waits for.

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
    )
