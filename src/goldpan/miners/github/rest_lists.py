"""The lists that REST has for a whole repository, and how long GitHub says they are."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from goldpan.errors import RepositoryError
from goldpan.miners.github.client import GitHub
from goldpan.miners.replies import Reply

_LINK = re.compile(r'<([^>]*)>\s*;[^,]*\brel="?(\w+)"?')

PART_OF_LIST = {"pull_comments": "review_comments"}
"""Lists of one entry that another part's rows come from."""


@dataclass(frozen=True, slots=True)
class Feed:
    """A repo-level list: its part name, path, fixed parameters and what an item is known by."""

    part: str
    path: str
    fixed: dict[str, str]
    item: Callable[[dict[str, Any]], list[Any]]
    takes_since: bool = True


ISSUES = Feed(
    "issues",
    "issues",
    {"state": "all"},
    lambda item: [item["number"], item["updated_at"], "pull_request" in item],
)
PULLS = Feed(
    "pulls",
    "pulls",
    {"state": "all"},
    lambda item: [item["number"], item["updated_at"], item["head"]["sha"], item["base"]["sha"]],
    takes_since=False,
)
COMMENTS = Feed("comments", "issues/comments", {}, lambda item: [item["id"], item["updated_at"]])
REVIEW_COMMENTS = Feed(
    "review_comments", "pulls/comments", {}, lambda item: [item["id"], item["updated_at"]]
)


FEEDS = (ISSUES, PULLS, COMMENTS, REVIEW_COMMENTS)


@dataclass(frozen=True, slots=True)
class Count:
    """How long GitHub says a list is."""

    url: str
    reply: Reply
    announced: int


async def count_lists(github: GitHub, repo: str) -> dict[str, Count]:
    """Return how many items each list has: the number of its last page of one."""
    counts = {}
    for feed in FEEDS:
        url = f"/repos/{repo}/{feed.path}?{urlencode({**feed.fixed, 'per_page': 1})}"
        reply = await read_list(github, url)
        page = re.search(r"[?&]page=(\d+)", links_of(reply).get("last", ""))
        counts[feed.part] = Count(url, reply, int(page.group(1)) if page else len(reply.data))
    return counts


async def read_list(github: GitHub, url: str) -> Reply:
    """Ask for a page of a list; raises `RepositoryError` where it cannot be had."""
    reply = await github.get(url)
    if reply.status != 200 or not isinstance(reply.data, list):
        raise RepositoryError(
            f"{url.partition('?')[0]} cannot be listed ({reply.problem or reply.status})",
            "Check that the token may read issues and pull requests of this repository",
        )
    return reply


def links_of(reply: Reply) -> dict[str, str]:
    """Return a reply's `Link` header: relation to address."""
    return {rel: url for url, rel in _LINK.findall(reply.headers.get("link", ""))}
