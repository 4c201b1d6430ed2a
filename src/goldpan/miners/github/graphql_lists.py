"""Reads what a GraphQL reply leaves open or leaves out: further pages, nulls, errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from goldpan.miners.github.client import graphql_errors
from goldpan.miners.github.queries import CONNECTIONS
from goldpan.miners.replies import Reply

Part = Literal["comments", "labels", "timeline", "links", "files", "reviews", "review_comments"]
PART_OF: dict[tuple[str, str], Part] = {
    ("Issue", "closedByPullRequestsReferences"): "links",
    ("PullRequest", "closingIssuesReferences"): "links",
    ("PullRequest", "files"): "files",
    ("PullRequest", "reviews"): "reviews",
    ("PullRequest", "reviewThreads"): "review_comments",
    ("PullRequestReviewThread", "comments"): "review_comments",
    **{(parent, "comments"): "comments" for parent in ("Issue", "PullRequest")},
    **{(parent, "labels"): "labels" for parent in ("Issue", "PullRequest")},
    **{(parent, "timelineItems"): "timeline" for parent in ("Issue", "PullRequest")},
}


@dataclass(frozen=True, slots=True)
class More:
    """A further page of one nested list, wanted for one version of an entry."""

    number: int
    owner: str
    node: str
    parent: str
    connection: str
    cursor: str | None

    @property
    def key(self) -> str:
        """The key under which the journal knows this page."""
        return f"more|{self.owner}|{self.node}|{self.connection}|{self.cursor or ''}"

    @property
    def row(self) -> list[Any]:
        """The page as it stands in a record's meta."""
        return [self.number, self.owner, self.node, self.parent, self.connection, self.cursor]


def problems_by_node(reply: Reply, index_of: Callable[[list[Any]], int | None]) -> dict[int, str]:
    """Return the errors beside a reply's data, by the index of the node that they speak of."""
    found: dict[int, str] = {}
    for error in graphql_errors(reply):
        path = error.get("path") or [None]
        index = index_of(path) if path[0] is not None else None
        if index is not None:
            reason = f"{error.get('type', 'error')}: {error.get('message', '')}"
            found.setdefault(index, reason)
    return found


def entry_flaws(
    number: int, node: dict[str, Any] | None, problem: str | None
) -> Iterator[list[Any]]:
    """Yield [number, part, reason] for all that an entry's reply should hold and does not."""
    if not node:
        yield [number, "entry", problem or "GitHub answered null"]
        return
    parent = node["__typename"]
    names = [name for owner, name in CONNECTIONS if owner == parent]
    holes = {name: flaw for name in names if (flaw := list_flaw(node.get(name)))}
    for name, flaw in holes.items():
        yield [number, PART_OF[parent, name], problem or flaw]
    if problem and not holes:
        yield [number, "entry", problem]


def list_flaw(page: dict[str, Any] | None, cursor: str | None = None) -> str:
    """Return what is wrong with a page of a list that was asked for at `cursor`, or nothing."""
    if not page or page["nodes"] is None or None in page["nodes"]:
        return "GitHub answered null"
    if any(item.get("fullDatabaseId", 0) is None for item in page["nodes"]):
        return "GitHub gave no id"
    info = page.get("pageInfo")
    if info and info["hasNextPage"] and info["endCursor"] in (None, cursor):
        return "GitHub's cursor does not move"
    return ""


def open_lists(
    number: int, owner: str, node: dict[str, Any], after: More | None = None
) -> Iterator[More]:
    """Yield the pages that are still to be fetched after what `node` holds."""
    parent = node["__typename"]
    for owner_type, name in CONNECTIONS:
        page = node.get(name) if owner_type == parent else None
        if not page or "pageInfo" not in page:
            continue
        info = page["pageInfo"]
        stuck = after is not None and info["endCursor"] == after.cursor
        if info["hasNextPage"] and info["endCursor"] and not stuck:
            yield More(number, owner, node["id"], parent, name, info["endCursor"])
        if name == "reviewThreads":
            for thread in page["nodes"] or ():
                if thread:
                    yield More(
                        number, owner, thread["id"], "PullRequestReviewThread", "comments", None
                    )
