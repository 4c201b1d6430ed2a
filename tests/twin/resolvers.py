"""GraphQL's view of the world: a plain function for each field that is not just an attribute."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from typing import Any

from graphql import GraphQLResolveInfo

from .paging import Page, RefusedError, paginate
from .store import World
from .world import (
    Account,
    Comment,
    Commit,
    Entry,
    Event,
    Label,
    Ref,
    Repository,
    Review,
    ReviewComment,
    stub_repository,
)

Resolver = Callable[..., Any]
Info = GraphQLResolveInfo[Any]
INT_MAX = 2**31 - 1


@dataclass(slots=True)
class Context:
    """What resolvers know of the request: the world and the answer to `rateLimit`."""

    world: World
    rate: dict[str, Any]


_SPECIAL_KINDS = {
    "cross-referenced": "CrossReferencedEvent",
    "renamed": "RenamedTitleEvent",
    "line-commented": "PullRequestReviewThread",
}
_ITEM_TYPES = {Comment: "IssueComment", Review: "PullRequestReview", Commit: "PullRequestCommit"}


def timeline_type(item: object) -> str:
    """Return the GraphQL type name of a timeline item."""
    if isinstance(item, Event):
        return _SPECIAL_KINDS.get(item.kind) or _event_type(item.kind)
    return _ITEM_TYPES.get(type(item)) or type(item).__name__


@cache
def _event_type(kind: str) -> str:
    return "".join(map(str.capitalize, re.split(r"[_-]", kind))) + "Event"


@cache
def enum_name(type_name: str) -> str:
    """Return the `itemTypes` value that selects a type."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", type_name).upper()


def object_type(value: object) -> str:
    """Return the GraphQL type name of an object that is not a timeline item."""
    match value:
        case Entry():
            return "Issue" if value.pull is None else "PullRequest"
        case Account():
            return value.kind
        case Repository() | Label() | Commit():
            return type(value).__name__
        case ReviewComment():
            return "PullRequestReviewComment"
        case _:
            return timeline_type(value)


def world(info: Info) -> World:
    """Return the world that the request is about."""
    world: World = info.context.world
    return world


def attribute(path: str) -> Resolver:
    """Return a resolver that reads an attribute."""
    read = attrgetter(path)
    return lambda source, info, **_: read(source)


def upper(path: str) -> Resolver:
    """Return a resolver that reads an attribute in capitals."""
    read = attrgetter(path)

    def resolve(source: Any, info: Info, **_: object) -> str | None:
        value = read(source)
        return None if value is None else value.upper()

    return resolve


def linked(name: str) -> Resolver:
    """Return a resolver that follows the address in an attribute."""
    read = attrgetter(name)
    return lambda source, info, **_: world(info).entry(read(source))


def small(value: int | None) -> int | None:
    """Return a number that fits `Int`, else None."""
    return None if value is None or value > INT_MAX else value


def repository(source: Any, info: Info, **_: object) -> Repository:
    """Return the repository that something belongs to."""
    name = source.repo if isinstance(source, Entry) else source.home.repo
    return world(info).repository(name) or stub_repository(name)


def head_repository(source: Entry, info: Info, **_: object) -> Repository | None:
    """Return the repository a pull request comes from, None when it was deleted."""
    name = source.pull.head_repo if source.pull else None
    return None if name is None else world(info).repository(name) or stub_repository(name)


def find_repository(source: object, info: Info, owner: str, name: str) -> Repository:
    """Find a repository by name."""
    result = world(info).repository(f"{owner}/{name}")
    if result is None or result.blocked:
        raise RefusedError(
            "NOT_FOUND", f"Could not resolve to a Repository with the name '{owner}/{name}'."
        )
    return result


def find_node(world: World, identity: str) -> object:
    """Find a node, or return (not raise) the error that takes its place in a list."""
    return world.node(identity) or RefusedError(
        "NOT_FOUND", f"Could not resolve to a node with the global id of '{identity}'"
    )


def numbered(kind: str, pull: bool | None) -> Resolver:
    """Return a resolver that finds an entry of one kind by number."""

    def resolve(source: Repository, info: Info, number: int) -> Entry:
        entry = source.entries.get(number)
        if entry is None or (pull is not None and pull is (entry.pull is None)):
            raise RefusedError(
                "NOT_FOUND", f"Could not resolve to {kind} with the number of {number}."
            )
        return entry

    return resolve


def entry_state(source: Entry, info: Info) -> str:
    """Return the state; MERGED only where the entry is seen as a pull request."""
    if info.parent_type.name == "PullRequest" and source.pull and source.pull.merged:
        return "MERGED"
    return source.state.upper()


def state_reason(source: Entry, info: Info, **options: bool) -> str | None:
    """Return why an issue is closed; DUPLICATE only where the query allows for it."""
    reason = source.state_reason
    if reason == "duplicate" and not options.get("enableDuplicate"):
        return "NOT_PLANNED"
    return reason.upper() if reason else None


def closer(source: Event, info: Info) -> Entry | Commit | None:
    """Return what closed an entry."""
    by = source.closer
    if isinstance(by, Ref):
        return world(info).entry(by)
    return None if by is None else commit(source, info, by)


def commit(source: Any, info: Info, sha: str | None = None) -> Commit | None:
    """Return a commit by hash, with empty texts where no timeline holds it."""
    sha = sha or source.commit_sha
    if sha is None:
        return None
    at = source.created_at or ""
    recorded = world(info).commit(sha)
    return recorded or Commit(
        home=source.home, sha=sha, message="", authored_at=at, committed_at=at
    )


def reply_to(source: ReviewComment, info: Info) -> ReviewComment | None:
    """Return the comment that a review comment answers."""
    entry = world(info).entry(source.home)
    if source.reply_to is None or entry is None:
        return None
    return next(
        (comment for comment in entry.review_comments() if comment.id == source.reply_to), None
    )


def own_review(source: ReviewComment, info: Info) -> Review | None:
    """Return the review that a comment belongs to."""
    entry = world(info).entry(source.home)
    reviews = entry.reviews if entry and source.review is not None else []
    return next((review for review in reviews if review.id == source.review), None)


def detail(*keys: str) -> Resolver:
    """Return a resolver that reads a REST-only key of an event."""

    def resolve(source: Event, info: Info) -> Any:
        value: Any = source.details
        for key in keys:
            value = value[key]
        return value

    return resolve


def event_label(source: Event, info: Info) -> Label:
    """Return the label that an event put on or took off."""
    label: Any = source.details["label"]
    return Label(label["name"], label["color"])


def event_assignee(source: Event, info: Info) -> Account | None:
    """Return whom an event made responsible, or no longer."""
    assignee: Any = source.details.get("assignee")
    if source.assignee is None and assignee:
        return Account(assignee["login"].removesuffix("[bot]"), assignee["id"], assignee["type"])
    return source.assignee


def pinned_comment(source: Entry, info: Info) -> Comment | None:
    """Return the comment that stands on top of an issue."""
    return next(
        (comment for comment in source.comments if comment.id == source.pinned_comment), None
    )


def last_edited_at(source: Any, info: Info) -> str | None:
    """Return when a text was last edited, None where it never was."""
    return source.edits[-1].at if source.edits else None


def edits(source: Any, info: Info, **arguments: Any) -> Page:
    """Return the versions of a text, the newest first."""
    return paginate(source.edits[::-1], f"{source.node_id}:edits", arguments)


def key(name: str) -> Resolver:
    """Return a resolver that reads a dictionary."""
    return lambda source, info: source[name]
