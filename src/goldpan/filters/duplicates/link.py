"""Joins near duplicates into clusters; every link is a true similarity at or above the threshold.

Clusters are chains of links: two members of one need not be near duplicates of each other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goldpan.filters.duplicates.best import Best
from goldpan.filters.duplicates.neighbours import NearPairs, near_pairs
from goldpan.filters.duplicates.settings import DuplicateSettings
from goldpan.filters.duplicates.shingles import Ids, ShingleFile
from goldpan.filters.duplicates.sketch import Hashes


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """For each text: its cluster's first text, and the most similar of those it was compared with.

    A text that stands alone is its own `root` and has no `nearest` (-1).
    """

    root: Ids
    similarity: NDArray[np.float64]  # to the root
    nearest: Ids
    nearest_similarity: NDArray[np.float64]


def link(shingles: ShingleFile, bands: Hashes, order: Ids, settings: DuplicateSettings) -> Links:
    """Link all texts; `order` lists them so that the first of a cluster is its root."""
    texts = order[shingles.sizes[order] > 0]
    parents = np.arange(len(texts))
    best = Best(len(texts))

    def apart(left: Ids, right: Ids) -> NDArray[np.bool_]:
        return np.asarray(parents[left] != parents[right])

    for pairs in near_pairs(shingles, bands, texts, settings, apart):
        best.offer(pairs)
        parents = _join(parents, pairs)

    to_root = np.ones(len(texts))
    members = np.flatnonzero(parents != np.arange(len(texts)))
    to_root[members] = shingles.similarities(texts[members], texts[parents[members]])
    near = members[to_root[members] >= settings.threshold]
    best.offer(NearPairs(near, parents[near], to_root[near]))

    count = len(shingles.sizes)
    links = Links(np.arange(count), np.ones(count), np.full(count, -1), np.zeros(count))
    links.root[texts] = texts[parents]
    links.similarity[texts] = to_root
    links.nearest[texts] = np.where(best.text >= 0, texts[best.text], -1)
    links.nearest_similarity[texts] = best.similarity
    return links


def _join(parents: Ids, pairs: NearPairs) -> Ids:
    """Unite the clusters of each pair; each text's parent is then its cluster's first text."""
    above: dict[int, int] = {}
    ends = (parents[pairs.left].tolist(), parents[pairs.right].tolist())
    for left, right in zip(*ends, strict=True):
        this, other = _root(above, left), _root(above, right)
        if this != other:
            above[max(this, other)] = min(this, other)
    joined = list(above)
    parents[joined] = [_root(above, text) for text in joined]
    return np.asarray(parents[parents])


def _root(above: dict[int, int], text: int) -> int:
    while (higher := above.get(text, text)) != text:
        above[text] = text = above.get(higher, higher)
    return text
