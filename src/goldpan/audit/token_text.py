"""Finds words and signs in a text, whatever white space stands between them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

_TOKEN = re.compile(r"\w+|[^\w\s]")
_SEAM = "\n"


class TokenText:
    """A text that sequences of tokens are looked for in; each search is one pass."""

    def __init__(self, text: str, pattern: re.Pattern[str] = _TOKEN, *, fold: bool = False) -> None:
        self._matches = list(pattern.finditer(text))
        found = (match[0].lower() if fold else match[0] for match in self._matches)
        self._joined = f"{_SEAM}{_SEAM.join(found)}{_SEAM}"

    def find(self, tokens: Sequence[str]) -> tuple[int, int] | None:
        """Return where tokens first stand one after the other, as offsets in the text."""
        at = self._joined.find(f"{_SEAM}{_SEAM.join(tokens)}{_SEAM}") if tokens else -1
        if at < 0:
            return None
        first = self._joined.count(_SEAM, 0, at)
        return self._matches[first].start(), self._matches[first + len(tokens) - 1].end()


@lru_cache(maxsize=1 << 17)
def tokens_of(text: str) -> tuple[str, ...]:
    """Return the words and single signs of a text."""
    return tuple(_TOKEN.findall(text))
