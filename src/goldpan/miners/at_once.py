"""Asks GitHub of several repositories at once: one event loop, one limiter, one pool of tokens.

While one repository waits for its next page, others ask for theirs. All their requests go through
one gate (`Flow`), so that there are never more under way than one repository would have.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence

from goldpan.core.config import Settings
from goldpan.core.memory import available_memory
from goldpan.core.progress import Reporter
from goldpan.miners.github.client import GitHub
from goldpan.miners.github.connect import connect
from goldpan.miners.github.limits import Pace

MOST_AT_ONCE = 8
"""Repositories that are asked of at once unless settings say otherwise: twice the requests that may
be under way, so that there always is one to send."""
MEMORY_A_REPOSITORY = 256 << 20
"""Bytes for what a crawl remembers: of 90,000 entries over GraphQL, or of 38,000 over REST (2.8 and
6.7 kB an entry)."""

Ask = Callable[[GitHub, Reporter, str], Awaitable[None]]
"""Asks of one repository, by a client that counts for it alone and a reporter that names it."""


def ask_at_once(
    settings: Settings,
    names: Sequence[str],
    reporter: Reporter,
    ask: Ask,
    pace: Pace | None = None,
) -> None:
    """Ask of all repositories, of `repositories_at_once` at a time; raises what `ask` raises."""

    async def work(waiting: Iterator[str], github: GitHub) -> None:
        for name in waiting:
            named_reporter = reporter.named(name)
            await ask(github.with_own_counts(named_reporter.note), named_reporter, name)

    async def ask_all() -> None:
        waiting = iter(names)
        async with connect(settings, reporter, pace) as github, asyncio.TaskGroup() as group:
            for _ in range(min(len(names), repositories_at_once(settings))):
                group.create_task(work(waiting, github))

    try:
        asyncio.run(ask_all())
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None


def repositories_at_once(settings: Settings) -> int:
    """Return how many repositories are asked of at once: as set, or as memory allows."""
    if settings.at_once:
        return settings.at_once
    return max(1, min(MOST_AT_ONCE, available_memory() // MEMORY_A_REPOSITORY))
