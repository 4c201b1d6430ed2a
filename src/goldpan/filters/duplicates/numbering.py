"""Numbers distinct texts across portions: the oldest is 0, however texts fell into portions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from goldpan.filters.duplicates.kept import NO_TEXT, Ids, SketchFile
from goldpan.filters.duplicates.shingles import Portions


@dataclass(frozen=True, slots=True, eq=False)
class Numbering:
    """The texts of rows that are sorted by age; equal texts share a number."""

    text: Ids
    """The number of each row's text, `NO_TEXT` where it says nothing."""
    slot: Ids
    """Where the sketch of each text lies."""

    def of_slots(self, count: int) -> Ids:
        """Return the number of the text in each of `count` slots, -1 for what is not compared."""
        numbers = np.full(count, NO_TEXT)
        numbers[self.slot] = np.arange(len(self.slot))
        return numbers


def number_texts(portions: Portions, slots: Ids) -> Numbering:
    """Return numbers for rows, whose slots come in the order of age, `NO_TEXT` for none."""
    rows = np.flatnonzero(slots != NO_TEXT)
    equal = _equal(portions.paths)
    _, first, inverse = np.unique(equal[slots[rows]], return_index=True, return_inverse=True)
    by_age = np.argsort(first)
    rank = np.empty(len(first), np.int64)
    rank[by_age] = np.arange(len(first))
    text = np.full(len(slots), NO_TEXT)
    text[rows] = rank[inverse]
    return Numbering(text, slots[rows[first[by_age]]])


def _equal(paths: Sequence[Path]) -> Ids:
    """Return a number for each slot that slots of equal texts share."""
    parts = [np.empty((0, 2), np.uint64)]
    for path in paths:
        with SketchFile(path) as file:
            parts.append(file.column("digests"))
    digests = np.concatenate(parts)
    order = np.lexsort((digests[:, 1], digests[:, 0]))
    digests = digests[order]
    new = np.any(digests[1:] != digests[:-1], axis=1)
    equal = np.empty(len(order), np.int64)
    equal[order] = np.concatenate([np.zeros(min(1, len(order)), np.int64), np.cumsum(new)])
    return equal
