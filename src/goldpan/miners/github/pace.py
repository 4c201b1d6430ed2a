"""How many requests may be under way at once, and whether GitHub answers at all.

GitHub asks for requests one after another, and for at most 60 s of its processor time a minute
for GraphQL, 90 s in all, to be estimated from response times (documentation of the GraphQL
API's rate limits). So a run begins with one request, more follow while all is well, and a
secondary limit or a choking server halves their number.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

FAILURES_TO_DOUBT = 3
"""Failures in a row after which GitHub itself is doubted."""


class Health:
    """Whether GitHub answers at all."""

    def __init__(self) -> None:
        self.has_answered = False
        """Whether it ever did."""
        self.failures = 0
        """How often in a row it failed since its last answer."""
        self.lock = asyncio.Lock()
        """Held by the task that finds out for all whether it answers again."""
        self._since = 0.0

    @property
    def is_doubtful(self) -> bool:
        """Whether so many requests failed that GitHub itself may be down."""
        return self.failures >= FAILURES_TO_DOUBT

    def record_answer(self) -> None:
        """Note an answer."""
        self.has_answered, self.failures = True, 0

    def record_failure(self) -> None:
        """Note a failure."""
        if not self.failures:
            self._since = time.monotonic()
        self.failures += 1

    def failing_for(self) -> float:
        """Return the seconds since the first failure in a row."""
        return time.monotonic() - self._since if self.failures else 0.0


MINUTE = 60.0
PROCESSOR_SECONDS: Mapping[str, float] = {"graphql": 60.0, "core": 90.0}
"""GitHub's processor time a minute and user that the requests of an API may take, estimated
from response times; what GraphQL takes counts for both."""


class Flow:
    """A gate whose width follows the answers: additive increase, multiplicative decrease."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.width = 1.0
        self._under_way = 0
        self._changed = asyncio.Condition()

    async def __aenter__(self) -> Self:
        async with self._changed:
            await self._changed.wait_for(lambda: self._under_way < int(self.width))
            self._under_way += 1
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        async with self._changed:
            self._under_way -= 1
            self._changed.notify_all()

    def eased(self) -> None:
        """Note a good answer: a round of them allows one request more."""
        self.width = min(float(self.most), self.width + 1 / self.width)

    def choked(self) -> None:
        """Note a secondary limit, or a server that could not answer."""
        self.width = max(1.0, self.width / 2)


@dataclass(slots=True)
class Load:
    """The response times of a token's requests of the last minute, by API."""

    _spent: deque[tuple[float, str, float]] = field(default_factory=deque)

    def add(self, resource: str, now: float, seconds: float) -> None:
        """Note a request that was answered (or given up) after so many seconds."""
        self._spent.append((now, resource, seconds))

    def wait(self, resource: str, now: float) -> float:
        """Return for how long no further request of this API should be sent."""
        while self._spent and self._spent[0][0] <= now - MINUTE:
            self._spent.popleft()
        return max(
            (
                self._wait(kinds, PROCESSOR_SECONDS[limit], now)
                for limit, kinds in (("graphql", ("graphql",)), ("core", ("graphql", "core")))
                if resource in kinds
            ),
            default=0.0,
        )

    def _wait(self, kinds: tuple[str, ...], allowed: float, now: float) -> float:
        over = sum(seconds for _, kind, seconds in self._spent if kind in kinds) - allowed
        if over < 0:
            return 0.0
        for at, kind, seconds in self._spent:
            if kind in kinds:
                over -= seconds
                if over < 0:
                    return at + MINUTE - now
        return 0.0
