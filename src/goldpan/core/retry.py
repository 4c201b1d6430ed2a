"""Pauses between tries of what may succeed later, the same policy for every server."""

from __future__ import annotations

import random
from dataclasses import dataclass

_MOST_DOUBLINGS = 10


@dataclass(frozen=True, slots=True)
class Backoff:
    """Pauses that double after each failure; in seconds."""

    backoff: float = 1.0
    """The pause after the first failure."""
    longest: float = 60.0
    """No pause between tries is longer."""

    def pause(self, failures: int) -> float:
        """Return how long to wait after so many failures in a row."""
        return min(self.backoff * 2.0 ** min(failures - 1, _MOST_DOUBLINGS), self.longest)


def jittered(pause: float) -> float:
    """Return a pause cut by chance to between half and all of it, so that tries spread."""
    return pause * random.uniform(0.5, 1.0)  # noqa: S311 - protects nothing
