"""Ways to obtain the cells of a table, by the names that recipes use.

Each is a function of a table and settings that yields outcomes (`context.Compute`).
"""

from __future__ import annotations

from collections.abc import Mapping

from goldpan.core.registry import Registry
from goldpan.reproduce.cells import Compute


def _own() -> Mapping[str, Compute]:
    from goldpan.reproduce.computations import printed, published, tasks

    return {
        "confusion": printed.confusion,
        "derived": printed.derived,
        "published-scores": published.published_scores,
        "ranking": published.ranking,
        "runs": tasks.runs,
        "split-counts": tasks.split_counts,
        "tiers": published.tiers,
    }


COMPUTATIONS = Registry("computation", _own, "computation", lambda item: item[0])
find_computation = COMPUTATIONS.find
"""Return the computation of that name; raises `UsageError` that lists those there are."""
