"""Resolvers of the connections: which items each of them holds, in which order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .discussions import DISCUSSION_CONNECTIONS
from .paging import Page, in_order, paginate
from .resolvers import Info, Resolver, edits, enum_name, timeline_type
from .store import World
from .world import FILES_LIMIT, Account, Entry, Repository, threads

EDITED = (
    "Issue",
    "PullRequest",
    "IssueComment",
    "PullRequestReview",
    "PullRequestReviewComment",
    "Discussion",
    "DiscussionComment",
)
"""The types of texts that can be edited."""


def _entries(pulls: bool) -> Resolver:
    def resolve(source: Repository, info: Info, **arguments: Any) -> Page:
        entries = list(source.entries.values()) if pulls or source.has_issues else []
        chosen = [entry for entry in entries if (entry.pull is not None) is pulls]
        return in_order(chosen, f"{source.id}:{pulls}", arguments)

    return resolve


# Names of lists stand in cursors, and so in the replies that the demo ships.
def _listed(name: str, items: Callable[[Any], Sequence[Any]]) -> Resolver:
    def resolve(source: Any, info: Info, **arguments: Any) -> Page:
        return paginate(items(source), f"{source.node_id}:{name}", arguments)

    return resolve


def _linked(name: str, items: Callable[[World, Any], list[Any]]) -> Resolver:
    def resolve(source: Any, info: Info, **arguments: Any) -> Page:
        linked = [entry for entry in items(info.context.world, source) if entry is not None]
        if name == "closedBy" and not arguments.get("includeClosedPrs"):
            linked = [entry for entry in linked if entry.state == "open"]
        return paginate(linked, f"{source.node_id}:{name}", arguments)

    return resolve


def _timeline(source: Entry, info: Info, **arguments: Any) -> Page:
    kinds = arguments.get("itemTypes")
    items: Sequence[Any] = source.timeline
    if kinds:
        items = [item for item in items if enum_name(timeline_type(item)) in kinds]
    counts_all = source.pull is not None
    return paginate(
        items,
        f"{source.node_id}:timeline:{sorted(kinds or ())}:None",
        arguments,
        total=len(source.timeline) if counts_all else len(items),
        updated_at=source.updated_at,
    )


def _assigned_users(entry: Entry) -> list[Account]:
    return [account for account in entry.assignees if account.kind == "User"]


def _refs(name: str) -> Callable[[World, Any], list[Any]]:
    return lambda world, entry: [world.entry(ref) for ref in getattr(entry, name)]


CONNECTIONS: dict[tuple[str, str], Resolver] = {
    ("Repository", "issues"): _entries(pulls=False),
    ("Repository", "pullRequests"): _entries(pulls=True),
    ("Issue", "closedByPullRequestsReferences"): _linked(
        "closedBy", lambda world, entry: [world.entry(ref) for ref in world.closers(entry.ref)]
    ),
    ("Issue", "subIssues"): _linked("subIssues", _refs("sub_issues")),
    ("Issue", "blockedBy"): _linked("blockedBy", _refs("blocked_by")),
    ("Issue", "blocking"): _linked("blocking", _refs("blocking")),
    ("PullRequest", "closingIssuesReferences"): _linked(
        "closes", lambda world, entry: [world.entry(ref) for ref in entry.pull.closes]
    ),
    ("PullRequest", "files"): _listed("files", lambda entry: entry.pull.files[:FILES_LIMIT]),
    ("PullRequest", "commits"): _listed("commits", lambda entry: entry.commits),
    ("PullRequest", "reviews"): _listed("reviews", lambda entry: entry.reviews),
    ("PullRequest", "reviewThreads"): _listed("threads", threads),
    ("PullRequestReview", "comments"): _listed("comments", lambda review: review.comments),
    ("PullRequestReviewThread", "comments"): _listed("comments", lambda event: event.comments),
    **DISCUSSION_CONNECTIONS,
    **{(kind, "userContentEdits"): edits for kind in EDITED},
    **{
        (kind, name): resolver
        for kind in ("Issue", "PullRequest")
        for name, resolver in (
            ("comments", _listed("comments:None", lambda entry: entry.comments)),
            ("labels", _listed("labels", lambda entry: entry.labels)),
            ("assignedActors", _listed("actors", lambda entry: entry.assignees)),
            ("assignees", _listed("assignees", _assigned_users)),
            ("timelineItems", _timeline),
        )
    },
}
"""The resolver of every connection, by the type and field that it belongs to."""
