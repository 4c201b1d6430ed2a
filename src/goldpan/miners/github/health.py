"""Whether GitHub answers at all: what all requests to it learned."""

from __future__ import annotations

import asyncio
import time

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
