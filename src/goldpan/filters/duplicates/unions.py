"""Joins texts into clusters by union-find."""

from __future__ import annotations

from goldpan.filters.duplicates.kept import Ids


def join(parents: Ids, left: Ids, right: Ids) -> Ids:
    """Unite the clusters of each pair; each text's parent is then its cluster's first text."""
    above: dict[int, int] = {}
    for this, other in zip(parents[left].tolist(), parents[right].tolist(), strict=True):
        left_root, right_root = _root(above, this), _root(above, other)
        if left_root != right_root:
            above[max(left_root, right_root)] = min(left_root, right_root)
    parents = parents.copy()
    joined = list(above)
    parents[joined] = [_root(above, text) for text in joined]
    return parents[parents]


def _root(above: dict[int, int], text: int) -> int:
    while (higher := above.get(text, text)) != text:
        above[text] = text = above.get(higher, higher)
    return text
