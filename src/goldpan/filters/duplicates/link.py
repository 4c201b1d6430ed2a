"""Joins near duplicates into clusters; every link is a true similarity at or above the threshold.

Clusters are chains of links: two members of one need not be near duplicates of each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from goldpan.core.engine import Engine
from goldpan.filters.duplicates.kept import Ids
from goldpan.filters.duplicates.nearest import Best
from goldpan.filters.duplicates.neighbours import NearPairs, search_band
from goldpan.filters.duplicates.numbering import Numbering
from goldpan.filters.duplicates.settings import DuplicateSettings
from goldpan.filters.duplicates.shingles import Portions, Shingles
from goldpan.filters.duplicates.shuffle import bring_together
from goldpan.filters.duplicates.unions import join

_PAIRS = 20_000
"""Pairs whose similarity one process tells."""


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """For each text: its cluster's first text, and the most similar of those it was compared with.

    A text that stands alone is its own `root` and has no `nearest` (-1).
    """

    root: Ids
    similarity: NDArray[np.float64]  # to the root
    nearest: Ids
    nearest_similarity: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    """Pairs of slots."""

    left: Ids
    right: Ids

    def __str__(self) -> str:
        return f"{len(self.left):,} pairs of texts"


def link(
    portions: Portions,
    numbering: Numbering,
    settings: DuplicateSettings,
    folder: Path,
    engine: Engine,
) -> Links:
    """Link all texts; the first of a cluster is its root. Files go to `folder`.

    Texts that one band joined are not compared in those that follow.
    """
    count = len(numbering.slot)
    parents = np.arange(count)
    best = Best(count)
    for parts in bring_together(portions, numbering, settings.bands, folder, engine):
        for pairs in search_band(parts, parents, portions, settings, engine, joins=True):
            best.offer(pairs)
            parents = join(parents, pairs.left, pairs.right)

    to_root = np.ones(count)
    members = np.flatnonzero(parents != np.arange(count))
    cuts = [members[start : start + _PAIRS] for start in range(0, len(members), _PAIRS)]
    slot = numbering.slot
    ends = [_Pairs(slot[texts], slot[parents[texts]]) for texts in cuts]
    for texts, values in zip(cuts, engine.map(partial(_compare, portions), ends), strict=True):
        to_root[texts] = values
    near = members[to_root[members] >= settings.threshold]
    best.offer(NearPairs(near, parents[near], to_root[near]))
    return Links(parents, to_root, best.text, best.similarity)


def _compare(portions: Portions, pairs: _Pairs) -> NDArray[np.float64]:
    with Shingles(portions) as shingles:
        return shingles.similarities(pairs.left, pairs.right)
