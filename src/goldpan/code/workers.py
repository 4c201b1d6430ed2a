"""Judges many changes in processes that end, and are replaced, where a text is too hard."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from goldpan.code.languages import language_of
from goldpan.code.substance import Pair, Substance, compare_texts, compare_unread
from goldpan.core.sandbox import Failed, map_in_sandbox


def compare_all(
    pairs: Iterable[Pair], workers: int = 2, timeout: float = 20.0
) -> Iterator[Substance]:
    """Judge changes in order, in `workers` processes; pairs are drawn as they are needed.

    `timeout` is seconds of processor time for one pair. Where it is spent, or the parser crashes,
    or wants more than 2 GiB, that pair is undecided with reason ``timeout`` or ``crash``, the only
    verdicts that another machine may not give, and the rest goes on. Raises `GoldpanError` where
    a process cannot start.
    """
    pending: deque[Pair] = deque()

    def noted() -> Iterator[Pair]:
        for pair in pairs:
            pending.append(pair)
            yield pair

    for result in map_in_sandbox(compare_texts, noted(), workers, timeout, compare_unread):
        pair = pending.popleft()
        if isinstance(result, Failed):
            language = language_of(pair.path)
            yield Substance(None, result.reason, language.name if language else "", "none")
        else:
            yield result
