"""Predicts what mining a repository will cost, from what GitHub announces and from a sample."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Protocol
from urllib.parse import urlencode

from goldpan.core.config import Settings
from goldpan.miners.announced import RESOURCES, Announced, chosen_path
from goldpan.miners.github.client import GitHub
from goldpan.miners.github.limits import Resource
from goldpan.miners.github.request import NoAnswerError
from goldpan.miners.github.rest_feeds import FEEDS
from goldpan.miners.github.sample import (
    PAGE,
    Sample,
    count_discussions,
    discussion_requests,
    graphql_requests,
    sample,
    sweep_requests,
)
from goldpan.miners.journal import Journal
from goldpan.miners.replies import links_of

_SECONDS_A_REQUEST: Mapping[Resource, float] = {"graphql": 1.2, "core": 0.35}
_MEASURED = 5  # requests after which the run's own times are believed
_HOURLY: Mapping[bool, int] = {True: 5_000, False: 60}  # with a token, and without


@dataclass(frozen=True, slots=True)
class Estimate:
    """A predicted cost; `points` count against GraphQL's limit, `requests` against REST's."""

    requests: int
    points: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Pace:
    """What a run knows of the time that requests take, and of the limit on them."""

    seconds: float
    """Seconds a request."""
    hourly: int
    """What may be asked an hour: points of GraphQL, requests of REST."""
    at_once: float = 1.0

    def time(self, count: int) -> float:
        """Return the time that so many requests take, waits for the hourly limit included."""
        return max(count * self.seconds / self.at_once, (count - 1) // self.hourly * 3_600.0)


def pace_of(github: GitHub, resource: Resource) -> Pace:
    """Return what this run learned so far; before that, what is usual."""
    seconds = (
        github.seconds / github.requests
        if github.requests >= _MEASURED
        else _SECONDS_A_REQUEST[resource]
    )
    tokens = [token for token in github.pool.tokens if token.secret]
    usual = _HOURLY[bool(tokens)] * max(1, len(tokens))
    # GraphQL's answers may take a minute of GitHub's time a minute, REST's one and a half.
    at_once = 1.0 if resource == "graphql" else min(1.5, github.flow.most)
    return Pace(seconds, github.pool.limit(resource) or usual, at_once * max(1, len(tokens)))


@dataclass(frozen=True, slots=True)
class RestCounts:
    """How many items the repository's REST lists hold, as far as anything tells."""

    entries: int
    pulls: int
    comments: int
    review_comments: int

    def requests(self, sampled: Sample) -> int:
        """Return how many requests a first crawl takes: lists, timelines and files."""
        counts = (self.entries, self.pulls, self.comments, self.review_comments)
        lists = sum(max(1, ceil(count / PAGE)) for count in counts)
        return (
            lists
            + round(self.entries * sampled.pages("timelineItems"))
            + round(self.pulls * (sampled.pages("files") + sampled.unlisted()))
        )


class Miner(Protocol):
    """One of the two ways to fetch a repository."""

    @property
    def fresh(self) -> Sequence[int]:
        """The issues and pull requests that are to be fetched, known after the survey."""
        ...

    def remaining(self, sampled: Sample) -> int:
        """Return how many requests the run will still take after the survey."""
        ...

    async def survey(self) -> None:
        """Read the lists that tell what there is, and find what the archive lacks."""
        ...

    async def run(self) -> None:
        """Fetch what the survey found."""
        ...


async def price(
    github: GitHub, journal: Journal, settings: Settings, announced: Announced, miner: Miner
) -> Estimate:
    """Predict what a run costs in all, once it knows what is to be fetched."""
    sampled = Sample()
    if miner.fresh and settings.tokens:
        record = next(journal.of_run("sample"), None)
        if record is not None:
            sampled = Sample(record.meta["issues"], record.meta["pulls"])
        else:
            sampled = await sample(github, announced.repo, miner.fresh)
            journal.mark("sample", [], issues=sampled.issues, pulls=sampled.pulls)
    remaining = miner.remaining(sampled)
    path = chosen_path(settings)
    points = github.points + (remaining if path == "graphql" else 0)
    pace = pace_of(github, RESOURCES[path])
    return Estimate(github.requests + remaining, points, pace.time(remaining))


async def price_first(github: GitHub, settings: Settings, announced: Announced) -> Estimate:
    """Predict a first crawl from what GitHub announces, without reading any list."""
    path = chosen_path(settings)
    sampled, sweep = Sample(), 0
    issues, pulls = announced.issues, announced.pulls
    counts: dict[str, int] = {}
    if path == "rest":
        counts = await _count_lists(github, announced.repo)
        pulls = counts.get("pulls", 0) if pulls is None else pulls
        issues = max(0, counts["issues"] - pulls) if issues is None else issues
    issues, pulls = issues or 0, pulls or 0
    if settings.tokens and issues + pulls:
        newest = await _newest(github, announced.repo, issues + pulls)
        sampled = await sample(github, announced.repo, range(1, newest + 1))
        sweep = sweep_requests(issues, pulls)
    if path == "graphql":
        remaining = sweep + graphql_requests(issues, pulls, sampled)
        if settings.include:
            lengths = await count_discussions(github, announced.repo)
            # A real run asks for the list itself instead of its newest hundred.
            remaining += ceil(len(lengths) / PAGE) - bool(lengths) + discussion_requests(lengths)
    else:
        entries = issues + pulls
        counted = RestCounts(
            entries,
            pulls,
            counts.get("comments", round(entries * sampled.mean("comments"))),
            counts.get("review_comments", round(pulls * sampled.mean("reviewThreads"))),
        )
        remaining = sweep + counted.requests(sampled)
    pace = pace_of(github, RESOURCES[path])
    # A real run samples what it found, too, so what was asked here counts as it is.
    points = github.points + (remaining if path == "graphql" else sweep)
    return Estimate(github.requests + remaining, points, pace.time(remaining))


async def _count_lists(github: GitHub, repo: str) -> dict[str, int]:
    """Return how many items REST's lists hold where that is told: by the number of the last page.

    The list of issues has no last page any more; there the newest number is an upper bound.
    """
    lists: dict[str, int] = {}
    for feed in FEEDS:
        order = {"sort": "created", "direction": "desc", "per_page": 1}
        url = f"/repos/{repo}/{feed.path}?{urlencode({**feed.fixed, **order})}"
        reply = await github.get(url)
        if reply.status != 200 or not isinstance(reply.data, list):
            continue
        page = re.search(r"[?&]page=(\d+)", links_of(reply).get("last", ""))
        if page:
            lists[feed.part] = int(page[1])
        elif feed.part == "issues":
            lists["issues"] = max((int(item["number"]) for item in reply.data), default=0)
        elif "next" not in links_of(reply):
            lists[feed.part] = len(reply.data)
    return lists


async def _newest(github: GitHub, repo: str, entries: int) -> int:
    """Return the newest number: discussions and deleted entries have numbers, too."""
    url = f"/repos/{repo}/issues?state=all&sort=created&direction=desc&per_page=1"
    try:
        reply = await github.get(url)
        return max(entries, int(reply.data[0]["number"]))
    except (NoAnswerError, LookupError, TypeError, ValueError):
        return entries
