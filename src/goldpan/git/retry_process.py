"""Asks a git for many things, and goes on without the one at which it dies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def results_in_order(
    items: Sequence[Item], ask: Callable[[Sequence[Item]], Iterator[Result]]
) -> Iterator[Result | None]:
    """Yield a result for each item, in order; None for one that cannot be had even alone.

    `ask` starts a git and yields the results, from the first item on, that are surely whole:
    each is followed by the next, or git ended well after it.
    """
    count = 0
    alone = False
    while count < len(items):
        first = count
        for result in ask(items[count : count + 1] if alone else items[count:]):
            count += 1
            yield result
        if alone and count == first:
            count += 1
            yield None
        # The last thing that git told before it died may be cut off: it is asked for again,
        # alone, and after it so is the one at which git died.
        alone = not alone
