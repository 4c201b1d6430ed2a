"""Predicts the cost of mining a repository, from GitHub's counts and from a sample.

The sample is spread evenly over the repository, so that old and new entries count alike: it tells
how long their lists are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlencode

from goldpan.core.errors import QueryError
from goldpan.core.settings.config import Settings
from goldpan.core.storage.archive import Archive
from goldpan.core.storage.run_file import Record
from goldpan.miners.connections import CONNECTIONS
from goldpan.miners.github.announced import RESOURCES, Announced, chosen_path
from goldpan.miners.github.client import GitHub
from goldpan.miners.github.queries import FURTHER, RATE, entries_batch, sweep_page
from goldpan.miners.github.rest_lists import FEEDS
from goldpan.miners.journal import Journal
from goldpan.miners.replies import NoAnswerError, Resource, links_of

_SECONDS_A_REQUEST: Mapping[Resource, float] = {"graphql": 1.2, "core": 0.35}
_MEASURED = 5  # requests after which the run's own times are believed
_HOURLY: Mapping[bool, int] = {True: 5_000, False: 60}  # with a token, and without


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """A predicted cost; `points` count against GraphQL's limit, `requests` against REST's."""

    requests: int
    points: int
    seconds: float


def expected_seconds(github: GitHub, resource: Resource, count: int) -> float:
    """Return the time that so many requests take, waits for the hourly limit included.

    Times and limits are those that this run has measured; before that, the usual ones.
    """
    seconds = (
        github.seconds / github.requests
        if github.requests >= _MEASURED
        else _SECONDS_A_REQUEST[resource]
    )
    tokens = github.pool.named
    users = max(1, len(tokens))
    hourly = github.pool.limit(resource) or _HOURLY[bool(tokens)] * users
    # GraphQL's answers may take a minute of GitHub's time a minute, REST's one and a half.
    at_once = users * (1.0 if resource == "graphql" else min(1.5, github.flow.most))
    return max(count * seconds / at_once, (count - 1) // hourly * 3_600.0)


class Miner(Protocol):
    """What is left of a run, whichever API it goes through."""

    @property
    def fresh(self) -> list[int]:
        """The entries that were never fetched."""

    def remaining(self, sampled: LengthSample) -> int:
        """Return how many requests are left."""


async def price(
    github: GitHub, journal: Journal, settings: Settings, announced: Announced, miner: Miner
) -> CostEstimate:
    """Predict the whole cost of a run that knows which entries it has to fetch."""
    sampled = LengthSample()
    if miner.fresh and settings.tokens:
        record = next(journal.of_run("sample"), None)
        if record is not None:
            sampled = LengthSample(record.meta["issues"], record.meta["pulls"])
        else:
            sampled = await sample(github, announced.repo, miner.fresh)
            journal.mark("sample", issues=sampled.issues, pulls=sampled.pulls)
    remaining = miner.remaining(sampled)
    path = chosen_path(settings)
    points = github.points + (remaining if path == "graphql" else 0)
    seconds = expected_seconds(github, RESOURCES[path], remaining)
    return CostEstimate(github.requests + remaining, points, seconds)


async def price_first(github: GitHub, settings: Settings, announced: Announced) -> CostEstimate:
    """Predict a first crawl from what GitHub announces, without reading any list."""
    path = chosen_path(settings)
    sampled, sweep = LengthSample(), 0
    issues, pulls = announced.issues, announced.pulls
    counts: dict[str, int] = {}
    if path == "rest":
        counts = await _count_lists(github, announced.repo)
        pulls = counts.get("pulls", 0) if pulls is None else pulls
        issues = max(0, counts["issues"] - pulls) if issues is None else issues
    issues, pulls = issues or 0, pulls or 0
    if settings.tokens and issues + pulls:
        sampled = await sample(github, announced.repo, range(1, issues + pulls + 1))
        sweep = max(1, ceil(issues / sweep_page("issue"))) + max(
            1, ceil(pulls / sweep_page("pull"))
        )
    if path == "graphql":
        remaining = sweep + graphql_requests(issues, pulls, sampled)
        if settings.include:
            lengths = await count_discussions(github, announced.repo)
            # A real run asks for the list itself instead of its newest hundred.
            remaining += ceil(len(lengths) / PAGE) - bool(lengths) + discussion_requests(lengths)
    else:
        entries = issues + pulls
        comments = (
            counts.get("comments", round(entries * sampled.mean("comments"))),
            counts.get("review_comments", round(pulls * sampled.mean("reviewThreads"))),
        )
        lists = sum(max(1, ceil(count / PAGE)) for count in (entries, pulls, *comments))
        files = pulls * (sampled.pages("files") + sampled.unlisted())
        timelines = entries * sampled.pages("timelineItems")
        remaining = sweep + lists + round(timelines) + round(files)
    seconds = expected_seconds(github, RESOURCES[path], remaining)
    # A real run samples its entries, too, so the requests of this sample count as they are.
    points = github.points + (remaining if path == "graphql" else sweep)
    return CostEstimate(github.requests + remaining, points, seconds)


async def _count_lists(github: GitHub, repo: str) -> dict[str, int]:
    """Return how many items REST's lists hold, as far as the number of the last page shows it.

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


PAGE = 100
MOST_FILES = 3_000
"""GitHub lists no more files of a pull request, and none of a diff that it finds too large."""
_SAMPLED = 300
_A_REQUEST = 100
_EDITED = "edited"
"""Key of a sample for an entry's edited texts, beside the lists."""
_FIRST = 10
"""How many texts of a list tell what share of it was edited."""


def _texts(name: str) -> str:
    return f"{name}(first: {_FIRST}) {{ totalCount nodes {{ lastEditedAt }} }}"


_COUNTED = f"""
fragment sized on IssueOrPullRequest {{
  __typename
  ... on Issue {{
    lastEditedAt {_texts("comments")} timelineItems {{ totalCount }}
    closedByPullRequestsReferences(includeClosedPrs: true) {{ totalCount }}
  }}
  ... on PullRequest {{
    lastEditedAt {_texts("comments")} timelineItems {{ totalCount }} files {{ totalCount }}
    {_texts("reviews")} reviewThreads {{ totalCount }}
    closingIssuesReferences {{ totalCount }}
  }}
}}
"""


_DISCUSSED = f"""
query Discussed($owner: String!, $name: String!) {{
  repository(owner: $owner, name: $name) {{
    hasDiscussionsEnabled
    discussions(first: 100, orderBy: {{field: CREATED_AT, direction: DESC}}) {{
      totalCount
      nodes {{ comments {{ totalCount }} }}
    }}
  }}
  {RATE}
}}
"""


@dataclass(frozen=True, slots=True)
class LengthSample:
    """Lengths of the lists of some entries by name of the list, and how many texts were edited."""

    issues: Sequence[Mapping[str, float]] = ()
    pulls: Sequence[Mapping[str, float]] = ()

    def further(self, parent: str, count: int) -> float:
        """Return how many further pages `count` entries of a type need over GraphQL.

        Review threads come as ids; the comments of each are a page of their own, and so are the
        edits of each text.
        """
        entries = self.issues if parent == "Issue" else self.pulls
        if not entries:
            return 0.0
        pages = 0.0
        for lengths in entries:
            for name, length in lengths.items():
                if name == _EDITED:
                    pages += length
                    continue
                pages += ceil(max(0, length - CONNECTIONS[parent, name].first) / PAGE)
                pages += length if name == "reviewThreads" else 0
        return count * pages / len(entries)

    def mean(self, name: str) -> float:
        """Return the mean length of a list over all sampled entries that have it."""
        lengths = [e[name] for e in (*self.issues, *self.pulls) if name in e]
        return sum(lengths) / len(lengths) if lengths else 0.0

    def unlisted(self) -> float:
        """Return the share of pull requests whose files GitHub may not list: none, or too many."""
        counts = [entry.get("files", 1) for entry in self.pulls]
        odd = [count for count in counts if count == 0 or count >= MOST_FILES]
        return len(odd) / len(counts) if counts else 0.0

    def pages(self, name: str) -> float:
        """Return how many REST pages a list of an entry takes on the average."""
        pages = [max(1, ceil(e[name] / PAGE)) for e in (*self.issues, *self.pulls) if name in e]
        return sum(pages) / len(pages) if pages else 1.0


async def sample(github: GitHub, repo: str, numbers: Sequence[int]) -> LengthSample:
    """Ask for the lengths of the lists of some of these entries: 300 at the most.

    Entries that cannot be read are left out: a sample needs not be whole.
    """
    owner, name = repo.split("/")
    step = max(1.0, len(numbers) / _SAMPLED)
    spread = [numbers[int(i * step)] for i in range(min(len(numbers), _SAMPLED))]
    issues: list[Mapping[str, float]] = []
    pulls: list[Mapping[str, float]] = []
    for start in range(0, len(spread), _A_REQUEST):
        aliases = "\n".join(
            f"    n{number}: issueOrPullRequest(number: {number}) {{ ...sized }}"
            for number in spread[start : start + _A_REQUEST]
        )
        document = (
            "query Sample($owner: String!, $name: String!) {\n"
            f"  repository(owner: $owner, name: $name) {{\n{aliases}\n  }}\n"
            f"  {RATE}\n}}\n{_COUNTED}"
        )
        try:
            reply = await github.graphql(document, {"owner": owner, "name": name})
        except (NoAnswerError, QueryError):
            continue
        for node in (reply.data["data"].get("repository") or {}).values():
            if node:
                entries = issues if node["__typename"] == "Issue" else pulls
                entries.append(_lengths(node))
    return LengthSample(issues, pulls)


def _lengths(node: Mapping[str, Any]) -> dict[str, float]:
    lengths: dict[str, float] = {
        name: int(value["totalCount"])
        for name, value in node.items()
        if isinstance(value, dict) and value.get("totalCount") is not None
    }
    edited = float(bool(node.get("lastEditedAt")))
    for name in ("comments", "reviews"):
        texts = [text for text in (node.get(name) or {}).get("nodes") or () if text]
        if texts:
            share = sum(bool(text.get("lastEditedAt")) for text in texts) / len(texts)
            # Comments in threads are edited as often as others.
            count = lengths.get(name, 0) + (name == "comments") * lengths.get("reviewThreads", 0)
            edited += share * count
    return {**lengths, **({_EDITED: edited} if edited else {})}


def graphql_requests(issues: int, pulls: int, sampled: LengthSample) -> int:
    """Return how many requests fetch so many entries and their further pages."""
    batches = ceil(issues / entries_batch("issue")) + ceil(pulls / entries_batch("pull"))
    further = sampled.further("Issue", issues) + sampled.further("PullRequest", pulls)
    return batches + ceil(further / FURTHER)


def discussion_requests(lengths: Sequence[int]) -> int:
    """Return how many requests fetch discussions of so many comments each.

    Replies that a comment's first page lacks come as further requests, which nothing foretells.
    """
    comments = CONNECTIONS["Discussion", "comments"]
    further = sum(ceil(max(0, length - comments.first) / comments.most) for length in lengths)
    return ceil(len(lengths) / entries_batch("discussion")) + further


async def count_discussions(github: GitHub, repo: str) -> list[int]:
    """Return about how many comments each discussion of a repository has.

    The newest hundred stand for those that are older. None where it has discussions turned off, or
    where they cannot be had.
    """
    owner, name = repo.split("/")
    try:
        reply = await github.graphql(_DISCUSSED, {"owner": owner, "name": name})
    except (NoAnswerError, QueryError):
        return []
    node = reply.data["data"].get("repository") or {}
    page = node.get("discussions") if node.get("hasDiscussionsEnabled") else None
    if not page:
        return []
    lengths = [int(item["comments"]["totalCount"]) for item in page["nodes"] or () if item]
    count = int(page["totalCount"])
    return [lengths[at * len(lengths) // count] for at in range(count)] if lengths else []


class DryRunArchive(Archive):
    """A repository's archive whose new records stay in memory, and there without their bodies."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._number = 0

    @property
    def holds_entries(self) -> bool:
        """True where entries were fetched before."""
        return any(r.meta["part"] in ("entries", "timeline", "issues") for r in self.records)

    def begin(self, *, resume: bool) -> int:
        """Go on with the newest run, or count a new one, without touching the disk."""
        self._number = self.runs if resume else self.runs + 1
        return self._number

    def append(self, meta: dict[str, Any], body: bytes = b"", **_: Any) -> Record:
        """Remember a record's meta."""
        path = self.directory / f"run-{self._number:04}.zst"
        record = Record(path, 0, 0, len(body), len(self.records), self._number, meta)
        self.records.append(record)
        return record
