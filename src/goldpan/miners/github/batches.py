"""How much to ask for at once: less when GitHub chokes, slowly more when it does not."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, Generic, TypeVar

from goldpan.core.http import jittered
from goldpan.miners.github.limits import Pace
from goldpan.miners.replies import NoAnswerError

Item = TypeVar("Item")
Result = TypeVar("Result")

_GROW_AFTER = 5


class BatchSize:
    """A batch size that halves on failure and grows back by a quarter after five successes."""

    def __init__(self, largest: int, current: int | None = None) -> None:
        self.largest = largest
        self.current = max(1, min(largest, current or largest))
        self._successes = 0
        self._before: int | None = None

    def worked(self, size: int) -> None:
        """Note that a batch was answered; one smaller than the present size proves nothing."""
        if size < self.current:
            return
        self._successes += 1
        if self._successes >= _GROW_AFTER:
            self._successes = 0
            self._before = None
            self.current = min(self.largest, self.current + max(1, self.current // 4))

    def choked(self, size: int) -> None:
        """Note that a batch of `size` was too much."""
        self._successes = 0
        self._before = self._before or self.current
        self.current = max(1, min(self.current, size // 2))

    def cleared(self) -> None:
        """Note that a single item failed: it was that item that choked the batches, no size."""
        self.current = self._before or self.current
        self._before = None


class Drain(Generic[Item]):
    """Fetches items in batches until none is left: half as many as soon as a batch fails."""

    def __init__(
        self,
        items: Iterable[Item],
        size: BatchSize,
        fetch: Callable[[list[Item]], Awaitable[list[Item]]],
        set_aside: Callable[[Item, NoAnswerError], None],
        *,
        tries: int,
        pace: Pace,
    ) -> None:
        self.items = deque(items)
        self.size = size
        self._fetch = fetch
        self._set_aside = set_aside
        self._tries = tries
        self._pace = pace
        self._single: deque[Item] = deque()
        self._failures: dict[Item, int] = {}

    def add(self, items: Iterable[Item]) -> None:
        """Queue more items; also while `run` is under way."""
        self.items.extend(items)

    async def run(self, workers: int) -> None:
        """Fetch everything. `fetch` returns the items of its batch that need asking alone."""
        while self.items or self._single:
            await together(*(self._work() for _ in range(workers)))

    async def _work(self) -> None:
        while self.items or self._single:
            if self.items:
                count = min(self.size.current, len(self.items))
                batch = [self.items.popleft() for _ in range(count)]
            else:
                batch = [self._single.popleft()]
            try:
                again = await self._fetch(batch)
            except NoAnswerError as error:
                if len(batch) > 1:
                    self.size.choked(len(batch))
                    self.items.extendleft(reversed(batch))
                else:
                    self.size.cleared()
                    self._fail(batch[0], error)
                await asyncio.sleep(jittered(self._pace.pause(1)))
                continue
            if not again:
                self.size.worked(len(batch))
            self._single.extend(again)

    def _fail(self, item: Item, error: NoAnswerError) -> None:
        """Ask for an item that failed alone once more when all others were asked for."""
        failures = self._failures[item] = self._failures.get(item, 0) + 1
        if failures >= self._tries:
            self._set_aside(item, error)
        else:
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
