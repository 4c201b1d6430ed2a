"""Finds training inputs that stand, exactly or nearly, among the evaluation inputs.

The paper removes such duplicates between the sides with a tool for code (section VI).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from goldpan.filters.duplicates.leaks import find_leaks
from goldpan.filters.duplicates.settings import DuplicateSettings

_ASKED = 100_000
"""Training inputs that are compared at a time, up to as many characters as below."""
_CHARACTERS = 128 * 2**20
_BATCH = 1_024


def leaking_places(
    training: Iterable[str],
    evaluation: Callable[[], Iterable[str]],
    settings: DuplicateSettings,
    counts: Counter[str],
    *,
    scratch: Path | None = None,
) -> set[int]:
    """Return the places of the training inputs that have a duplicate in the evaluation.

    `evaluation` gives its inputs as often as it is asked, once for every 100,000 training inputs
    or 128 Mi characters, which bounds the memory. `counts` gains those by relation: exact, near.
    """
    indexes: set[int] = set()
    start = 0
    for portion in _portions(training):
        for leak in find_leaks(_batches(evaluation()), portion, settings, scratch=scratch):
            indexes.add(start + leak.query)
            counts[leak.relation] += 1
        start += len(portion)
    return indexes


def _portions(texts: Iterable[str]) -> Iterator[list[str]]:
    portion: list[str] = []
    size = 0
    for text in texts:
        portion.append(text)
        size += len(text)
        if len(portion) >= _ASKED or size >= _CHARACTERS:
            yield portion
            portion, size = [], 0
    if portion:
        yield portion


def _batches(texts: Iterable[str]) -> Iterator[Sequence[str]]:
    left = iter(texts)
    while batch := list(islice(left, _BATCH)):
        yield batch
