"""Parts of a comparison that fit a page."""

from __future__ import annotations

from dataclasses import replace

from goldpan.evaluation.statistics.comparison import Comparison

MOST_DRAWN = 40
"""Models in one figure."""


def first_models(comparison: Comparison, most: int = MOST_DRAWN) -> Comparison:
    """Return a comparison with its first models alone, for figures of a bounded size."""
    if len(comparison.models) <= most:
        return comparison
    names = set(comparison.models[:most])
    pairs = tuple(pair for pair in comparison.pairs if pair.first in names and pair.second in names)
    return replace(comparison, standings=comparison.standings[:most], pairs=pairs)
