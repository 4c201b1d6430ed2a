"""Batches shrink on overload, remember, and grow back."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from goldpan.miners.github.batches import BatchSize, Drain
from goldpan.miners.github.limits import Pace
from goldpan.miners.replies import NoAnswerError, read_reply

FAST = Pace(backoff=0.0, longest=0.0)


def test_size_halves_and_grows_back_slowly() -> None:
    size = BatchSize(24)
    size.choked(24)
    assert size.current == 12
    for _ in range(4):
        size.worked(12)
    assert size.current == 12
    size.worked(12)
    assert size.current == 15
    size.worked(3)  # the rest of a list proves nothing
    assert size.current == 15


def drain(items: list[int], most: int, poison: set[int]) -> tuple[list[int], list[int], list[int]]:
    """Fetch with a server that answers at most `most` items and never the poisonous ones."""
    got: list[int] = []
    given_up: list[int] = []
    batches: list[int] = []

    async def fetch(batch: list[int]) -> list[int]:
        batches.append(len(batch))
        if len(batch) > most or poison & set(batch):
            raise NoAnswerError("The batch", read_reply(502, {}, b"", graphql=True))
        got.extend(batch)
        return []

    work = Drain(
        items, BatchSize(25), fetch, lambda item, _: given_up.append(item), tries=3, pace=FAST
    )
    asyncio.run(work.run(2))
    return got, given_up, batches


@given(
    count=st.integers(0, 200),
    most=st.integers(1, 30),
    poison=st.sets(st.integers(0, 200), max_size=4),
)
def test_everything_is_fetched_once_or_given_up(count: int, most: int, poison: set[int]) -> None:
    items = list(range(count))
    got, given_up, _ = drain(items, most, poison)
    assert sorted(got + given_up) == items
    assert set(given_up) == poison & set(items)


def test_the_size_that_works_is_kept() -> None:
    _, _, batches = drain(list(range(200)), 6, set())
    assert sum(size > 6 for size in batches) < len(batches) / 4
