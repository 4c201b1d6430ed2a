"""Lengths of prompts: how they are counted, and the longest beginning of a text that fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from goldpan.core.errors import UsageError

Counter = Callable[[str], int]
"""Says how many units a text has."""


def count_words(text: str) -> int:
    """Return the number of pieces between white space."""
    return len(text.split())


COUNTERS: Mapping[str, Counter] = {"words": count_words, "characters": len}
"""Ways to count that need no model."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How long a prompt may be."""

    most: int
    count: Counter = count_words
    unit: str = "words"

    def __post_init__(self) -> None:
        if self.most < 1:
            raise UsageError(f"A prompt of {self.most} {self.unit} is none", "Give at least 1")

    def holds(self, text: str) -> bool:
        """Say whether a text is within the budget."""
        return self.count(text) <= self.most


def find_counter(unit: str) -> Counter:
    """Return the way to count that unit; raises `UsageError` that lists those there are."""
    if unit not in COUNTERS:
        raise UsageError(
            f"The length of a prompt cannot be counted in {unit!r}", f"Choose {', '.join(COUNTERS)}"
        )
    return COUNTERS[unit]


def longest_fitting(length: int, fits: Callable[[int], bool]) -> int:
    """Return a size up to `length` that fits, the largest where larger ones never fit better.

    Size 0 is taken to fit. Asks a number of times that grows with the logarithm of `length`.
    """
    if fits(length):
        return length
    low, high = 0, length
    while high - low > 1:
        middle = (low + high) // 2
        if fits(middle):
            low = middle
        else:
            high = middle
    return low
