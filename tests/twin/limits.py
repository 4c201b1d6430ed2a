"""Rate limits: budgets for each token, and the secondary limits beside them."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Limits:
    """How strict the twin is; the defaults are GitHub's.

    `window` is in seconds. An exhausted GraphQL budget is told with status `graphql_status`
    (200 or 403), an exhausted REST one with `rest_status` (403 or 429), a secondary limit with
    `secondary_status` and, unless it is None, `retry_after` seconds. `tokens` None takes any.
    `search` is for a minute.
    """

    core: int = 5000
    graphql: int = 5000
    anonymous: int = 60
    window: float = 3600.0
    graphql_status: int = 200
    rest_status: int = 403
    concurrency: int = 100
    secondary_status: int = 403
    retry_after: int | None = 60
    clock_skew: float = 0.0
    issues_wall: int = 10_000
    comments_wall: int = 30_000
    tokens: frozenset[str] | None = None
    search: int = 30
    anonymous_search: int = 10


@dataclass(frozen=True, slots=True)
class Budget:
    """The state of one token's budget for one resource after a request."""

    resource: str
    limit: int
    used: int
    reset: int

    @property
    def remaining(self) -> int:
        """Return the points that are left in this window."""
        return max(0, self.limit - self.used)

    @property
    def headers(self) -> dict[str, str]:
        """Return the rate-limit headers."""
        return {
            "x-ratelimit-limit": str(self.limit),
            "x-ratelimit-remaining": str(self.remaining),
            "x-ratelimit-used": str(self.used),
            "x-ratelimit-reset": str(self.reset),
            "x-ratelimit-resource": self.resource,
        }


@dataclass(slots=True)
class Meter:
    """Counts what each token uses; windows end at whole seconds, as their headers say."""

    limits: Limits
    _used: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def now(self) -> float:
        """Return the server's time, which may be wrong on purpose."""
        return time.time() + self.limits.clock_skew

    def state(self, token: str, resource: str) -> Budget:
        """Return a budget without using it."""
        with self._lock:
            return self._state(token, resource)

    def charge(self, token: str, resource: str, points: int) -> tuple[bool, Budget]:
        """Take points; False when they are not there (then nothing is taken)."""
        with self._lock:
            budget = self._state(token, resource)
            if budget.used + points > budget.limit:
                exhausted = Budget(resource, budget.limit, budget.limit, budget.reset)
                self._used[token, resource] = (exhausted.used, exhausted.reset)
                return False, exhausted
            charged = Budget(resource, budget.limit, budget.used + points, budget.reset)
            self._used[token, resource] = (charged.used, charged.reset)
            return True, charged

    def _state(self, token: str, resource: str) -> Budget:
        now = self.now()
        used, reset = self._used.get((token, resource), (0, 0))
        if reset <= now:
            window = min(60.0, self.limits.window) if resource == "search" else self.limits.window
            used, reset = 0, math.ceil(now + window)
        return Budget(resource, self._limit(token, resource), used, reset)

    def _limit(self, token: str, resource: str) -> int:
        limits = self.limits
        match resource:
            case "search":
                return limits.search if token else limits.anonymous_search
            case "graphql":
                return limits.graphql if token else 0
            case _:
                return limits.core if token else limits.anonymous
