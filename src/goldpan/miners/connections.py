"""The lists of issues, pull requests and discussions that GraphQL has in pages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

_ACTOR = """
fragment actor on Actor {
  __typename
  login
  ... on User { databaseId }
  ... on Bot { databaseId }
  ... on Mannequin { databaseId }
  ... on Organization { databaseId }
}
"""


def _subject(name: str, kind: str) -> str:
    return f"""
fragment {name} on {kind} {{
  __typename
  ... on Issue {{ number repository {{ nameWithOwner }} }}
  ... on PullRequest {{ number repository {{ nameWithOwner }} }}
}}
"""


_EVENT_FIELDS = """
      __typename
      ... on CrossReferencedEvent { createdAt willCloseTarget source { ...subject } }
      ... on ConnectedEvent { createdAt source { ...subject } subject { ...subject } }
      ... on DisconnectedEvent { createdAt source { ...subject } subject { ...subject } }
      ... on ClosedEvent {
        createdAt actor { ...actor }
        closer {
          __typename
          ... on Commit { oid }
          ... on PullRequest { number repository { nameWithOwner } }
        }
      }
      ... on MarkedAsDuplicateEvent {
        createdAt canonical { ...duplicate } duplicate { ...duplicate }
      }
      ... on UnmarkedAsDuplicateEvent {
        createdAt canonical { ...duplicate } duplicate { ...duplicate }
      }
      ... on TransferredEvent { createdAt fromRepository { nameWithOwner } }
      ... on LabeledEvent { createdAt actor { ...actor } label { name } }
      ... on UnlabeledEvent { createdAt actor { ...actor } label { name } }
      ... on MilestonedEvent { createdAt actor { ...actor } milestoneTitle }
      ... on DemilestonedEvent { createdAt actor { ...actor } milestoneTitle }
      ... on AssignedEvent { createdAt actor { ...actor } assignee { ...actor } }
      ... on UnassignedEvent { createdAt actor { ...actor } assignee { ...actor } }
      ... on ReopenedEvent { createdAt actor { ...actor } }
      ... on RenamedTitleEvent { createdAt actor { ...actor } previousTitle currentTitle }
"""
ISSUE_EVENTS = tuple(
    re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind).upper()
    for kind in re.findall(r"\.\.\. on (\w+Event) ", _EVENT_FIELDS)
)
"""The events of those fields, as arguments name them."""
PULL_EVENTS = (*ISSUE_EVENTS, "PULL_REQUEST_COMMIT")

_COMMIT = "... on PullRequestCommit { commit { oid message authoredDate committedDate } }"
_COMMENT = (
    "id fullDatabaseId author { ...actor } authorAssociation createdAt updatedAt lastEditedAt body "
    "isMinimized minimizedReason"
)
PAGE = "pageInfo { hasNextPage endCursor }"
LINKED = "number repository { nameWithOwner }"


@dataclass(frozen=True, slots=True)
class Connection:
    """One nested list of an entry (or of a review) that may need further pages."""

    name: str
    parent: str
    first: int
    arguments: str
    body: str
    parent_fields: str = ""
    """Fields of the parent that are requested with each page of the list."""
    most: int = 100
    """The most items of a page."""
    per_item: int = 0
    """How many connections each item asks for, which count as much as the list itself."""
    part: str = ""
    """The part of an entry that the list belongs to, where it is not called the same."""

    def select(self, first: int, after: str | None = None) -> str:
        """Return the selection of one page, `after` naming the cursor's variable."""
        cursor = f", after: ${after}" if after else ""
        arguments = f", {self.arguments}" if self.arguments else ""
        length = min(first, self.most)
        page = f"{self.name}(first: {length}{cursor}{arguments}) {{ {self.body} }}"
        return f"{self.parent_fields} {page}" if self.parent_fields else page


def _timeline(parent: str, events: Sequence[str], extra: str, counts: str) -> Connection:
    return Connection(
        "timelineItems",
        parent,
        100,
        f"itemTypes: [{', '.join(events)}]",
        f"filteredCount {PAGE} nodes {{ {_EVENT_FIELDS} {extra} }}",
        counts,
        part="timeline",
    )


def _list(
    name: str, parent: str, first: int, item: str, arguments: str = "", part: str = ""
) -> Connection:
    body = f"totalCount {PAGE} nodes {{ {item} }}"
    return Connection(name, parent, first, arguments, body, part=part)


def _lists_of_both(parent: str) -> tuple[Connection, ...]:
    return (
        _list("comments", parent, 50, _COMMENT),
        _list("labels", parent, 100, "name"),
        _list("assignedActors", parent, 10, "...actor", part="entry"),
        _list("assignees", parent, 10, "...actor", part="entry"),
    )


# The whole timeline's length; the page itself only counts what it asks for.
_LENGTH = "timeline: timelineItems { totalCount }"
ISSUE_CONNECTIONS = (
    *_lists_of_both("Issue"),
    _timeline("Issue", ISSUE_EVENTS, "", _LENGTH),
    _list("closedByPullRequestsReferences", "Issue", 20, LINKED, "includeClosedPrs: true", "links"),
)
PULL_CONNECTIONS = (
    *_lists_of_both("PullRequest"),
    _timeline("PullRequest", PULL_EVENTS, _COMMIT, f"{_LENGTH} commits {{ totalCount }}"),
    _list("closingIssuesReferences", "PullRequest", 20, LINKED, part="links"),
    _list("files", "PullRequest", 100, "path changeType additions deletions"),
    _list("reviews", "PullRequest", 50, f"{_COMMENT} state submittedAt"),
    _list("reviewThreads", "PullRequest", 100, "id", part="review_comments"),
)
_DISCUSSION_COMMENT = (
    "id databaseId author { ...actor } authorAssociation createdAt updatedAt lastEditedAt "
    "deletedAt body isAnswer isMinimized minimizedReason upvoteCount reactions { totalCount }"
)
_FIRST_REPLIES = 4
# Each comment asks for two connections and each reply for one, whether or not they are there.
DISCUSSION_CONNECTIONS = (
    Connection(
        "comments",
        "Discussion",
        5,
        "",
        f"totalCount {PAGE} nodes {{ {_DISCUSSION_COMMENT} replies(first: {_FIRST_REPLIES}) "
        f"{{ totalCount {PAGE} nodes {{ {_DISCUSSION_COMMENT} }} }} }}",
        "reactions { totalCount }",
        most=20,
        per_item=2 + _FIRST_REPLIES,
    ),
    _list("labels", "Discussion", 100, "name"),
)
REPLIES = Connection(
    "replies",
    "DiscussionComment",
    _FIRST_REPLIES,
    "",
    f"totalCount {PAGE} nodes {{ {_DISCUSSION_COMMENT} }}",
    "databaseId",
    per_item=1,
)
LIGHT = {"labels": 100, "assignedActors": 10, "assignees": 10, "comments": 1}
"""The short lists from which an entry's own columns come, and the length of the page of each.

An entry that is too heavy for all lists is read with these.
"""


# Few issues have any of these, so a first page of them would be paid for in vain.
RELATIONS = tuple(
    _list(name, "Issue", 100, LINKED, part="relations")
    for name in ("subIssues", "blockedBy", "blocking")
)
# Through threads, not reviews: comments from before GitHub had reviews belong to none.
REVIEW_COMMENTS = _list(
    "comments",
    "PullRequestReviewThread",
    100,
    f"{_COMMENT} path replyTo {{ fullDatabaseId }} pullRequestReview {{ fullDatabaseId }}",
    part="review_comments",
)

# Few texts were edited, so their edits are asked for where `lastEditedAt` says that there are some.
EDITS = Connection(
    "userContentEdits",
    "Comment",
    20,
    "",
    f"totalCount {PAGE} nodes {{ id editedAt deletedAt diff editor {{ ...actor }} }}",
    "... on IssueComment { fullDatabaseId } ... on PullRequestReview { fullDatabaseId } "
    "... on PullRequestReviewComment { fullDatabaseId } ... on DiscussionComment { databaseId }",
    most=20,
    part="edits",
)
"""The versions of any text; `Comment` is what GitHub calls whatever has one."""


CONNECTIONS: dict[tuple[str, str], Connection] = {
    (connection.parent, connection.name): connection
    for connection in (
        *ISSUE_CONNECTIONS,
        *PULL_CONNECTIONS,
        *DISCUSSION_CONNECTIONS,
        *RELATIONS,
        REVIEW_COMMENTS,
        REPLIES,
        EDITS,
    )
}
"""Every list that there is, by its parent's type and its name."""
PART_OF = {key: connection.part or key[1] for key, connection in CONNECTIONS.items()}
"""The part of an entry that each of them belongs to."""


class More(NamedTuple):
    """A further page of one nested list, wanted for one version of an entry.

    In a record's meta it stands as the list of its members.
    """

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


def fragments(body: str) -> str:
    """Return the fragments that a selection names."""
    selections = {
        "actor": _ACTOR,
        "subject": _subject("subject", "ReferencedSubject"),
        "duplicate": _subject("duplicate", "IssueOrPullRequest"),
    }
    return "".join(text for name, text in selections.items() if f"...{name}" in body)
