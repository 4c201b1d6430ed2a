"""Whether GitHub answers at all: what all requests to it learned."""

from __future__ import annotations

import asyncio
import time


class Health:
    """Whether GitHub answers at all."""

    def __init__(self) -> None:
        self.ever = False
        """Whether it has answered before."""
        self.in_a_row = 0
        """Failures since its last answer."""
        self.lock = asyncio.Lock()
        """Held by the one that finds out for all whether it answers again."""
        self._since = 0.0

    def answered(self) -> None:
        """Note an answer."""
        self.ever, self.in_a_row = True, 0

    def failed(self) -> None:
        """Note a failure."""
        if not self.in_a_row:
            self._since = time.monotonic()
        self.in_a_row += 1

    def failing_for(self) -> float:
        """Return the seconds since the first failure in a row."""
        return time.monotonic() - self._since if self.in_a_row else 0.0
