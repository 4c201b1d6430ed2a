"""How much to ask for at once: less when GitHub chokes, slowly more when it does not."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, Generic, TypeVar

from goldpan.miners.github.client import OverloadError
from goldpan.miners.github.limits import Pace

Item = TypeVar("Item")
Result = TypeVar("Result")

_GROW_AFTER = 5


class BatchSize:
    """A batch size that halves on overload and grows back by a quarter after five successes."""

    def __init__(self, largest: int, current: int | None = None) -> None:
        self.largest = largest
        self.current = max(1, min(largest, current or largest))
        self._successes = 0

    def worked(self, size: int) -> None:
        """Note that a batch was answered; one smaller than the present size proves nothing."""
        if size < self.current:
            return
        self._successes += 1
        if self._successes >= _GROW_AFTER:
            self._successes = 0
            self.current = min(self.largest, self.current + max(1, self.current // 4))

    def choked(self, size: int) -> None:
        """Note that a batch of `size` was too much."""
        self._successes = 0
        self.current = max(1, min(self.current, size // 2))


class Drain(Generic[Item]):
    """Fetches items in batches until none is left, each item alone where a batch chokes."""

    def __init__(
        self,
        items: Iterable[Item],
        size: BatchSize,
        fetch: Callable[[list[Item]], Awaitable[list[Item]]],
        give_up: Callable[[Item, str], None],
        *,
        tries: int,
        pace: Pace,
    ) -> None:
        self.items = deque(items)
        self.size = size
        self._fetch = fetch
        self._give_up = give_up
        self._tries = tries
        self._pace = pace
        self._single: deque[Item] = deque()
        self._failures: dict[Item, int] = {}
        self._second_try: set[Item] = set()

    def add(self, items: Iterable[Item]) -> None:
        """Queue more items; also while `run` is under way."""
        self.items.extend(items)

    async def run(self, workers: int) -> None:
        """Fetch everything. `fetch` returns the items of its batch that need asking alone."""
        await together(*(self._work() for _ in range(workers)))

    async def _work(self) -> None:
        while self.items or self._single:
            if self._single:
                batch = [self._single.popleft()]
            else:
                count = min(self.size.current, len(self.items))
                batch = [self.items.popleft() for _ in range(count)]
            try:
                again = await self._fetch(batch)
            except OverloadError as error:
                if len(batch) > 1:
                    await self._halve(batch)
                else:
                    self.size.choked(1)
                    await self._again(batch[0], str(error.problem))
                continue
            if not again:
                self.size.worked(len(batch))
            self._single.extend(again)

    async def _halve(self, batch: list[Item]) -> None:
        """Queue a batch again: whole once, since many a 502 passes, then smaller ones."""
        self.items.extendleft(reversed(batch))
        if batch[0] in self._second_try:
            self._second_try.discard(batch[0])
            self.size.choked(len(batch))
        else:
            self._second_try.add(batch[0])
            await asyncio.sleep(self._pace.backoff)

    async def _again(self, item: Item, reason: str) -> None:
        failures = self._failures[item] = self._failures.get(item, 0) + 1
        if failures >= self._tries:
            self._give_up(item, reason)
            return
        pause = min(self._pace.backoff * 2 ** (failures - 1), self._pace.longest)
        await asyncio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 - spreads retries
        self._single.append(item)


async def together(*tasks: Coroutine[Any, Any, Result]) -> list[Result]:
    """Run coroutines at once; the first failure stops the others and is raised as it is."""
    try:
        async with asyncio.TaskGroup() as group:
            started = [group.create_task(task) for task in tasks]
    except BaseExceptionGroup as failures:
        raise _first(failures) from None
    return [task.result() for task in started]


def _first(failure: BaseException) -> BaseException:
    while isinstance(failure, BaseExceptionGroup):
        failure = failure.exceptions[0]
    return failure
