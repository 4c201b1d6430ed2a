"""Prepares the texts of many rows, in several processes where there are enough of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from typing import Any

from goldpan.core.engine import open_engine
from goldpan.text.preprocessing import prepared

_ROWS = 2_048
"""Rows in memory at once; fewer are not worth other processes."""
_UNIT = 128
"""Rows that a process is given at once."""


def prepared_rows(
    rows: Iterable[dict[str, Any]], steps: Sequence[str], processes: int
) -> Iterator[dict[str, Any]]:
    """Yield the rows in order, their column `text` after these steps."""
    left = iter(rows)
    first = list(islice(left, _ROWS))
    if not steps or processes == 1 or len(first) < _ROWS:
        for row in chain(first, left):
            yield {**row, "text": prepared(row["text"], steps)}
        return
    with open_engine("local", processes) as engine:
        block = first
        while block:
            texts = [row["text"] for row in block]
            units = [texts[start : start + _UNIT] for start in range(0, len(texts), _UNIT)]
            unit_texts = engine.map(partial(prepared_texts, tuple(steps)), units)
            for row, text in zip(
                block, (text for unit in unit_texts for text in unit), strict=True
            ):
                yield {**row, "text": text}
            block = list(islice(left, _ROWS))


def prepared_texts(steps: Sequence[str], texts: Sequence[str]) -> list[str]:
    """Return texts after these steps."""
    return [prepared(text, steps) for text in texts]
