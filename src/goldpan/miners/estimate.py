"""Predicts what mining a repository will cost, from the counts that GitHub announces."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any

from goldpan.miners.github.limits import Resource
from goldpan.miners.github.queries import entries_batch

_SECONDS_A_REQUEST = {"graphql": 1.2, "core": 0.35}
_FURTHER_PAGES = 0.02  # of all entries have a list longer than its first page


@dataclass(frozen=True, slots=True)
class Estimate:
    """A predicted cost; `points` count against GraphQL's limit, `requests` against REST's."""

    requests: int
    points: int
    seconds: float


def estimate_graphql(
    issues: int, pulls: int, threads: float, known: int, *, tokens: int, concurrency: int
) -> Estimate:
    """Predict a GraphQL run over entries of which `known` are already fetched.

    `threads` is the mean number of review threads of a pull request, from a sample.
    """
    fresh = max(0.0, 1 - known / max(1, issues + pulls))
    sweep = ceil(issues / 100) + ceil(pulls / 100)
    batches = ceil(fresh * issues / entries_batch("issue")) + ceil(
        fresh * pulls / entries_batch("pull")
    )
    further = ceil(fresh * (pulls * threads + _FURTHER_PAGES * (issues + pulls)) / 100)
    requests = 1 + max(1, sweep) + batches + further
    return Estimate(
        requests, requests, _seconds(requests, "graphql", 5_000 * max(1, tokens), concurrency)
    )


def estimate_rest(counts: dict[str, int], known: int, *, tokens: int, concurrency: int) -> Estimate:
    """Predict a REST run from the lengths of the repository's lists.

    `counts` has `issues` (which counts pull requests too), `pulls`, `comments` and
    `review_comments`.
    """
    entries, pulls = counts["issues"], counts["pulls"]
    fresh = max(0.0, 1 - known / max(1, entries))
    lists = sum(ceil(fresh * count / 100) for count in counts.values())
    single = ceil(fresh * (entries + pulls) * (1 + _FURTHER_PAGES))
    requests = 5 + lists + single
    budget = 5_000 * tokens if tokens else 60
    return Estimate(requests, 0, _seconds(requests, "core", budget, concurrency))


def sampled_threads(repository: dict[str, Any]) -> float:
    """Return the mean number of review threads among the oldest and newest pull requests."""
    counts = [
        node["reviewThreads"]["totalCount"]
        for name in ("oldest", "newest")
        for node in (repository[name] or {}).get("nodes") or ()
        if node and node["reviewThreads"]
    ]
    return sum(counts) / len(counts) if counts else 0.0


def _seconds(requests: int, resource: Resource, budget: int, concurrency: int) -> float:
    """Return the time that asking takes, waits for the hourly limit included."""
    asking = requests * _SECONDS_A_REQUEST[resource] / concurrency
    hours = (requests - 1) // budget
    return max(asking, hours * 3_600.0)
