"""Remembers for each text the most similar one of those it was compared with."""

from __future__ import annotations

import numpy as np

from goldpan.filters.duplicates.neighbours import NearPairs


class Best:
    """The most similar text to each so far; among equals the one that comes first, -1 for none."""

    def __init__(self, count: int) -> None:
        self.text = np.full(count, -1)
        self.similarity = np.zeros(count)

    def offer(self, pairs: NearPairs) -> None:
        """Take the pairs into account, in both directions."""
        texts = np.concatenate([pairs.left, pairs.right])
        others = np.concatenate([pairs.right, pairs.left])
        both = np.concatenate([pairs.similarity, pairs.similarity])
        order = np.lexsort((others, -both, texts))
        first = order[np.flatnonzero(np.diff(texts[order], prepend=-1))]
        text, other, value = texts[first], others[first], both[first]
        similarity, nearest = self.similarity[text], self.text[text]
        better = (value > similarity) | ((value == similarity) & (other < nearest))
        self.text[text[better]] = other[better]
        self.similarity[text[better]] = value[better]
