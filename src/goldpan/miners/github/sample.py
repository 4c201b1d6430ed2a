"""Learns from a sample of entries how long their lists are, and so what fetching them costs.

The sample is spread evenly over the repository, so that old and new entries count alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from goldpan.core.errors import QueryError
from goldpan.miners.github.client import GitHub
from goldpan.miners.github.connections import CONNECTIONS
from goldpan.miners.github.queries import FURTHER, entries_batch, sweep_page
from goldpan.miners.github.request import NoAnswerError

PAGE = 100
MOST_FILES = 3_000
"""GitHub lists no more files of a pull request, and none of a diff that it finds too large."""
_SAMPLED = 300
_A_REQUEST = 100
_EDITED = "edited"
"""What a sample calls the texts of an entry that were edited, beside the lists."""
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


_DISCUSSED = """
query Discussed($owner: String!, $name: String!) {
  repository(owner: $owner, name: $name) {
    hasDiscussionsEnabled
    discussions(first: 100, orderBy: {field: CREATED_AT, direction: DESC}) {
      totalCount
      nodes { comments { totalCount } }
    }
  }
  rateLimit { cost limit remaining resetAt nodeCount }
}
"""


@dataclass(frozen=True, slots=True)
class Sample:
    """How long the lists of some entries are: list name to one length an entry, by type.

    And about how many of an entry's texts were edited.
    """

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


async def sample(github: GitHub, repo: str, numbers: Sequence[int]) -> Sample:
    """Ask for the lengths of the lists of some of these entries: 300 at the most.

    What cannot be had is left out: a sample needs not be whole.
    """
    owner, name = repo.split("/")
    step = max(1.0, len(numbers) / _SAMPLED)
    chosen = [numbers[int(i * step)] for i in range(min(len(numbers), _SAMPLED))]
    issues: list[Mapping[str, float]] = []
    pulls: list[Mapping[str, float]] = []
    for start in range(0, len(chosen), _A_REQUEST):
        aliases = "\n".join(
            f"    n{number}: issueOrPullRequest(number: {number}) {{ ...sized }}"
            for number in chosen[start : start + _A_REQUEST]
        )
        document = (
            "query Sample($owner: String!, $name: String!) {\n"
            f"  repository(owner: $owner, name: $name) {{\n{aliases}\n  }}\n"
            f"  rateLimit {{ cost limit remaining resetAt nodeCount }}\n}}\n{_COUNTED}"
        )
        try:
            reply = await github.graphql(document, {"owner": owner, "name": name})
        except (NoAnswerError, QueryError):
            continue
        for node in (reply.data["data"].get("repository") or {}).values():
            if node:
                of = issues if node["__typename"] == "Issue" else pulls
                of.append(_lengths(node))
    return Sample(issues, pulls)


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
            # What is said in threads is edited as often as comments are.
            count = lengths.get(name, 0) + (name == "comments") * lengths.get("reviewThreads", 0)
            edited += share * count
    return {**lengths, **({_EDITED: edited} if edited else {})}


def graphql_requests(issues: int, pulls: int, sampled: Sample) -> int:
    """Return how many requests fetch so many entries and whatever their first pages lack."""
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


def sweep_requests(issues: int, pulls: int) -> int:
    """Return how many pages list so many entries."""
    return max(1, ceil(issues / sweep_page("issue"))) + max(1, ceil(pulls / sweep_page("pull")))
