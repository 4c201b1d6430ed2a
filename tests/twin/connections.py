"""Resolvers of the connections: which items each of them holds, in which order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .discussions import DISCUSSION_CONNECTIONS
from .paging import Page, paginate
from .resolvers import Info, Resolver, edits, enum_name, timeline_type
from .store import World
from .world import Account, Commit, Entry, Repository, Review, threads

FILES_LIMIT = 3000
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
_ORDERS: dict[str, Callable[[Entry], tuple[Any, ...]]] = {
    "CREATED_AT": lambda entry: (entry.created_at, entry.id),
    "UPDATED_AT": lambda entry: (entry.updated_at, entry.id),
    "COMMENTS": lambda entry: (len(entry.comments), entry.id),
}


def _entries(pulls: bool) -> Resolver:
    def resolve(source: Repository, info: Info, **arguments: Any) -> Page:
        order = arguments.get("orderBy") or {"field": "CREATED_AT", "direction": "ASC"}
        key, descending = _ORDERS[order["field"]], order["direction"] == "DESC"
        entries = [
            entry
            for entry in list(source.entries.values())
            if (entry.pull is not None) is pulls and _is_asked_for(entry, arguments)
        ]
        entries.sort(key=key, reverse=descending)
        scope = f"{source.id}:{pulls}:{order['field']}:{order['direction']}"
        return paginate(entries, scope, arguments, key=key, descending=descending)

    return resolve


def _is_asked_for(entry: Entry, arguments: dict[str, Any]) -> bool:
    filters = arguments.get("filterBy") or {}
    states = arguments.get("states") or filters.get("states")
    labels = arguments.get("labels") or filters.get("labels")
    state = "MERGED" if entry.pull and entry.pull.merged else entry.state.upper()
    pull = entry.pull
    return (
        (not states or state in states)
        and (not labels or any(label.name in labels for label in entry.labels))
        and (not filters.get("since") or entry.updated_at >= filters["since"])
        and (
            not arguments.get("baseRefName")
            or bool(pull and pull.base_ref == arguments["baseRefName"])
        )
        and (
            not arguments.get("headRefName")
            or bool(pull and pull.head_ref == arguments["headRefName"])
        )
    )


def _listed(name: str, items: Callable[[Any], Sequence[Any]]) -> Resolver:
    def resolve(source: Any, info: Info, **arguments: Any) -> Page:
        return paginate(items(source), f"{source.node_id}:{name}", arguments)

    return resolve


def _linked(name: str, items: Callable[[World, Any], list[Any]]) -> Resolver:
    def resolve(source: Any, info: Info, **arguments: Any) -> Page:
        scope = source.sha if isinstance(source, Commit) else source.node_id
        linked = [entry for entry in items(info.context.world, source) if entry is not None]
        if name == "closedBy" and not arguments.get("includeClosedPrs"):
            linked = [entry for entry in linked if entry.state == "open"]
        return paginate(linked, f"{scope}:{name}", arguments)

    return resolve


def _comments(source: Entry, info: Info, **arguments: Any) -> Page:
    items = source.comments
    order = arguments.get("orderBy")
    if order:
        items.sort(key=lambda item: item.updated_at, reverse=order["direction"] == "DESC")
    return paginate(items, f"{source.node_id}:comments:{order}", arguments)


def _reviews(source: Entry, info: Info, **arguments: Any) -> Page:
    states, author = arguments.get("states"), arguments.get("author")
    items: list[Review] = [
        review
        for review in source.reviews
        if (not states or review.state in states)
        and (not author or bool(review.author and review.author.login == author))
    ]
    return paginate(items, f"{source.node_id}:reviews", arguments)


def _timeline(source: Entry, info: Info, **arguments: Any) -> Page:
    kinds, since = arguments.get("itemTypes"), arguments.get("since")
    items: Sequence[Any] = source.timeline
    if kinds:
        items = [item for item in items if item_type(item) in kinds]
    if since:
        items = [item for item in items if (getattr(item, "created_at", "") or "") >= since]
    counts_all = source.pull is not None
    types = info.schema.type_map
    return paginate(
        [item if timeline_type(item) in types else None for item in items],
        f"{source.node_id}:timeline:{sorted(kinds or ())}:{since}",
        arguments,
        total=len(source.timeline) if counts_all else len(items),
        updated_at=source.updated_at,
    )


_NAMES: dict[str, str] = {}


def item_type(item: object) -> str:
    """Return the `itemTypes` value of a timeline item."""
    name = timeline_type(item)
    kind = _NAMES.get(name)
    if kind is None:
        kind = _NAMES[name] = enum_name(name)
    return kind


def _assigned_users(entry: Entry) -> list[Account]:
    return [account for account in entry.assignees if account.kind == "User"]


def _refs(name: str) -> Callable[[World, Any], list[Any]]:
    return lambda world, entry: [world.entry(ref) for ref in getattr(entry, name)]


CONNECTIONS: dict[tuple[str, str], Resolver] = {
    ("Repository", "issues"): _entries(pulls=False),
    ("Repository", "pullRequests"): _entries(pulls=True),
    ("Repository", "labels"): lambda source, info, **arguments: paginate(
        sorted(
            {label for entry in source.entries.values() for label in entry.labels},
            key=lambda label: label.name,
        ),
        f"{source.id}:labels",
        arguments,
    ),
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
    ("PullRequest", "reviews"): _reviews,
    ("PullRequest", "reviewThreads"): _listed("threads", threads),
    ("PullRequestReview", "comments"): _listed("comments", lambda review: review.comments),
    ("PullRequestReviewThread", "comments"): _listed("comments", lambda event: event.comments),
    ("Commit", "associatedPullRequests"): _linked(
        "pulls", lambda world, commit: list(world.pulls_with(commit.sha))
    ),
    **DISCUSSION_CONNECTIONS,
    **{(kind, "userContentEdits"): edits for kind in EDITED},
    **{
        (kind, name): resolver
        for kind in ("Issue", "PullRequest")
        for name, resolver in (
            ("comments", _comments),
            ("labels", _listed("labels", lambda entry: entry.labels)),
            ("assignedActors", _listed("actors", lambda entry: entry.assignees)),
            ("assignees", _listed("assignees", _assigned_users)),
            ("timelineItems", _timeline),
        )
    },
}
"""The resolver of every connection, by the type and field that it belongs to."""
