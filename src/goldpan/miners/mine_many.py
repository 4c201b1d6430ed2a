"""Mines several repositories at once, or predicts what mining them would cost.

There is one event loop, one limiter and one pool of tokens. While one repository waits for its next
page, others ask for theirs. All their requests go through one gate (`Flow`), so that there are
never more under way than one repository would have.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import cast

from goldpan.core.errors import GoldpanError
from goldpan.core.resources import available_memory, explain
from goldpan.core.result import count
from goldpan.core.settings.config import Settings, repository_name
from goldpan.core.terminal import Reporter
from goldpan.miners.github.announced import chosen_path
from goldpan.miners.github.batches import together
from goldpan.miners.github.client import GitHub, connect
from goldpan.miners.github.cost import CostEstimate
from goldpan.miners.github.limits import Pace
from goldpan.miners.mine import Crawl, MineResult, Turns

MOST_AT_ONCE = 8
"""Repositories that are mined at once unless settings say otherwise: twice the requests that may
be under way, so that there always is one to send."""
MEMORY_A_REPOSITORY = 256 << 20
"""Bytes for a crawl's journal: of 80,000 entries over GraphQL, or of 37,000 over REST (3.3 and
7.2 kB an entry)."""
Ask = Callable[[Crawl, str], Awaitable[None]]
"""Works on one repository, by a client that counts for it alone and a reporter that names it."""


def ask_at_once(
    settings: Settings, names: Sequence[str], reporter: Reporter, ask: Ask, pace: Pace | None = None
) -> None:
    """Call `ask` for all repositories, `repositories_at_once` at a time; raises what it raises."""

    async def work(queue: Iterator[str], github: GitHub) -> None:
        for name in queue:
            named_reporter = reporter.named(name)
            client = github.with_own_counts(named_reporter.note)
            await ask(Crawl(client, settings, named_reporter), name)

    async def ask_all() -> None:
        queue, most = iter(names), min(len(names), repositories_at_once(settings))
        async with connect(settings, reporter, pace) as github:
            await together(*(work(queue, github) for _ in range(most)))

    asyncio.run(ask_all())


def repositories_at_once(settings: Settings) -> int:
    """Return how many repositories are mined at once: as set, or as memory allows."""
    if settings.at_once:
        return settings.at_once
    return max(1, min(MOST_AT_ONCE, available_memory() // MEMORY_A_REPOSITORY))


def summary(result: MineResult) -> str:
    """Return the figures of a result in a few words."""
    entries = count(result.tables.get("entries", 0), "entry")
    return f"{entries}, {count(result.requests, 'request')}"


def mine_many(
    settings: Settings, names: Sequence[str], reporter: Reporter, pace: Pace | None = None
) -> dict[str, MineResult | GoldpanError]:
    """Mine repositories, each as `mine` does; none stops the others.

    Returns the result or the failure of each by its name in lower case. Raises `UsageError` for
    settings that cannot work.
    """
    chosen_path(settings)
    names = list({repository_name(name).lower(): name for name in names}.values())
    turns = Turns(alone=min(len(names), repositories_at_once(settings)) == 1)
    outcomes: dict[str, MineResult | GoldpanError] = {}

    async def mine(crawl: Crawl, name: str) -> None:
        outcome: MineResult | GoldpanError | None
        try:
            outcome = await crawl.mine(repository_name(name), None, turns)
        except Exception as error:  # of this repository: the others go on
            outcome = error if isinstance(error, GoldpanError) else explain(error)
            if outcome is None:  # a defect of Goldpan's own
                raise
        outcomes[name.lower()] = outcome
        failure = outcome if isinstance(outcome, GoldpanError) else outcome.failure
        told = f"failed: {failure.problem}" if failure else summary(cast("MineResult", outcome))
        crawl.reporter.note(told)
        task.advance()

    with reporter.task("Repositories", len(names)) as task:
        ask_at_once(settings, names, reporter, mine, pace)
    return outcomes


def predict_many(
    settings: Settings, names: Sequence[str], reporter: Reporter, pace: Pace | None = None
) -> dict[str, CostEstimate | GoldpanError]:
    """Return by name what mining each repository would cost, or why that cannot be told.

    They are in the order given, whatever was answered first. Nothing is written. Raises
    `UsageError` for settings that cannot work.
    """
    chosen_path(settings)
    predicted: dict[str, CostEstimate | GoldpanError] = {}

    async def predict(crawl: Crawl, name: str) -> None:
        repo = repository_name(name)
        try:
            predicted[name] = await crawl.predict(repo)
        except GoldpanError as error:  # of this repository: the others go on
            predicted[name] = error
        task.advance()

    with reporter.task("Asking GitHub of repositories", len(names)) as task:
        ask_at_once(settings, list(dict.fromkeys(names)), reporter, predict, pace)
    return {name: predicted[name] for name in names}
