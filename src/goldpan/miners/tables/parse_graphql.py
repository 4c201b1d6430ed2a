"""Parses GraphQL replies into rows."""

from __future__ import annotations

from typing import Any

from goldpan.miners.connections import EDITS, PART_OF
from goldpan.miners.tables.columns import actor, inner, integer, login_of, lower, names, texts
from goldpan.miners.tables.columns import nodes as nodes_of
from goldpan.miners.tables.parse_timeline import (
    End,
    add_link,
    add_relation,
    parse_event,
    subject_of,
)
from goldpan.miners.tables.rows import Rows, add_comment, is_envelope, read_text

_FILE_STATUS = {"deleted": "removed"}
_STATE = {"merged": "closed"}
RELATIONS = {"subIssues": "sub_issues", "blockedBy": "blocked_by", "blocking": "blocking"}


def parse_entries(rows: Rows, data: dict[str, Any], nodes: list[list[Any]]) -> None:
    """Parse the listed nodes of an `entries` reply."""
    for index, number, _ in nodes:
        rows.attempt(number, "entry", _numbered_entry, data, index, number)


def parse_more(rows: Rows, data: dict[str, Any], nodes: list[list[Any]]) -> None:
    """Parse the listed nodes of a reply that continues nested lists."""
    for index, number, _, parent, connection in nodes:
        part = PART_OF[parent, connection]
        rows.attempt(number, part, _further_page, data, f"n{index}", number, parent, connection)


def _numbered_entry(rows: Rows, data: dict[str, Any], index: int, number: int) -> None:
    node = data["data"]["nodes"][index]
    parse = parse_discussion if node["__typename"] == "Discussion" else _entry
    parse(rows, int(number), node)


def _further_page(
    rows: Rows, data: dict[str, Any], alias: str, number: int, parent: str, connection: str
) -> None:
    node = data["data"][alias]
    if node:
        _list(rows, int(number), parent, connection, node)


def _entry(rows: Rows, number: int, node: dict[str, Any]) -> None:
    parent = node["__typename"]
    is_pull = parent == "PullRequest"
    state = lower(node.get("state"))
    holder, canonical = subject_of(node.get("parent")), subject_of(node.get("duplicateOf"))
    pinned = inner(inner(node.get("pinnedIssueComment"), "issueComment"), "fullDatabaseId")
    ties = node.get("issueDependenciesSummary")
    state = _STATE.get(state, state) if isinstance(state, str) else state
    blocking = inner(ties, "totalBlockedBy"), inner(ties, "totalBlocking")
    milestone, kind = inner(node.get("milestone"), "title"), inner(node.get("issueType"), "name")
    parts = inner(node.get("subIssuesSummary"), "total")
    tied = (milestone, kind, *holder, parts, *blocking, integer(pinned), *canonical)
    kind_of_entry = "pull" if is_pull else "issue"
    _add_entry(rows, number, kind_of_entry, node, state, (_assignees(node), *tied))
    if holder.number:
        add_link(rows, number, "sub_issue", holder, End(rows.repo, number), part="entry")
    if is_pull:
        _pull(rows, number, node)
    _lists(rows, number, parent, node)


def _add_entry(
    rows: Rows, number: int, kind: str, node: dict[str, Any], state: Any, ties: tuple[Any, ...]
) -> None:
    """Add an entry and the references in its texts; `ties` are its columns from `assignees` on."""
    row = rows.next_row()
    title, body, at = node.get("title"), node.get("body") or "", node.get("createdAt")
    entry = (number, kind, title, body, state, lower(node.get("stateReason")))
    author = (*actor(node.get("author")), lower(node.get("authorAssociation")))
    times = map(node.get, ("createdAt", "updatedAt", "lastEditedAt", "closedAt", "locked"))
    labels = names(nodes_of(node.get("labels")), "name")
    comments = inner(node.get("comments"), "totalCount")
    columns = (*entry, *author, *times, labels, *ties, comments, rows.sequence, row)
    rows.facets["entry"].append(columns)
    read_text(rows, row, number, "title", None, at, title, of_pull=kind == "pull")
    read_text(rows, row, number, "body", None, at, body, of_pull=kind == "pull")
    if "lastEditedAt" in node:
        rows.page(number, "edits", 0, 0)  # unless a text announces some


_LISTS = {
    "Issue": ("comments", "labels", "timelineItems", "closedByPullRequestsReferences"),
    "PullRequest": (
        *("comments", "labels", "reviews", "reviewThreads", "files", "timelineItems"),
        "closingIssuesReferences",
    ),
    "Discussion": ("comments", "labels"),
    "DiscussionComment": ("replies",),
}
"""The lists whose first pages come with a node, by its type."""
_PULL = ("mergedAt", "isDraft", "baseRefName", "baseRefOid", "headRefName", "headRefOid")
_TOTALS = ("additions", "deletions", "changedFiles")


def _assignees(node: dict[str, Any]) -> Any:
    """Return the logins of those who are assigned; null where the server does not tell."""
    name = "assignedActors" if "assignedActors" in node else "assignees"
    if name not in node:
        return None
    people = nodes_of(node[name])
    if not isinstance(people, list):
        return people
    return texts(people, [login_of(person) for person in people])


def _pull(rows: Rows, number: int, node: dict[str, Any]) -> None:
    merged = node.get("merged")
    head_repo = inner(node.get("headRepository"), "nameWithOwner")
    merge = inner(node.get("mergeCommit"), "oid") if merged else None
    pull = (number, merged, *map(node.get, _PULL), head_repo, merge, rows.sequence)
    rows.facets["pull"].append(pull)
    totals = (*map(node.get, _TOTALS), rows.sequence)
    rows.facets["totals"].append((number, *totals))
    files = node.get("changedFiles")
    rows.page(number, "files", files, 0, "pull")


def _lists(rows: Rows, number: int, parent: str, node: dict[str, Any]) -> None:
    """Parse the first pages that came with a node."""
    for name in _LISTS[parent]:
        if name in node:
            rows.attempt(number, PART_OF[parent, name], _list, number, parent, name, node)


def _list(rows: Rows, number: int, parent: str, name: str, node: dict[str, Any]) -> None:
    """Parse a page of a list of `node`, which is of the type `parent`."""
    part = PART_OF[parent, name]
    page = node[name]
    if page is None:
        return
    items = [item for item in page["nodes"] or () if item]
    is_pull = parent != "Issue"
    of_text = parent in ("PullRequestReviewThread", "DiscussionComment", EDITS.parent)
    unit = str(node.get("id", "")) if of_text else ""
    announced = page.get("totalCount")
    match parent, name:
        case "Discussion", "comments":
            rows.attempt_each(number, part, items, _discussion_comment, None)
            rows.page(number, "replies", 0, 0)  # unless a comment announces some
        case _, "replies":
            rows.attempt_each(number, part, items, _discussion_comment, node.get("databaseId"))
        case "PullRequestReviewThread", "comments":
            rows.attempt_each(number, part, items, _comment, "review_comment", of_pull=True)
        case _, "comments":
            rows.attempt_each(number, part, items, _comment, "comment", of_pull=is_pull)
        case _, "reviews":
            rows.attempt_each(number, part, items, _comment, "review", of_pull=True)
        case _, "reviewThreads":
            part = "threads"
        case _, "files":
            rows.attempt_each(number, part, items, _file)
        case _, "timelineItems":
            rows.attempt_each(number, part, items, parse_event, is_pull=is_pull)
            announced = page.get("filteredCount")
            rows.page(number, "length", inner(node.get("timeline"), "totalCount"), 0)
            if is_pull:
                rows.page(number, "commits", inner(node.get("commits"), "totalCount"), 0)
        case _, "closingIssuesReferences" | "closedByPullRequestsReferences":
            rows.attempt_each(number, part, items, _closing, is_pull=is_pull)
        case _, "subIssues" | "blockedBy" | "blocking":
            part = RELATIONS[name]
            rows.attempt_each(number, part, items, _relation, part)
        case EDITS.parent, _:
            kind = _KINDS[node["__typename"]]
            of_discussion = kind == "discussion_comment"
            comment = node.get("databaseId" if of_discussion else "fullDatabaseId")
            rows.attempt_each(number, part, items, _version, kind, integer(comment))
    rows.page(number, part, announced, len(items), unit)


def _file(rows: Rows, number: int, item: dict[str, Any]) -> None:
    status = lower(item.get("changeType"))
    status = _FILE_STATUS.get(status, status) if isinstance(status, str) else status
    lines = item.get("additions"), item.get("deletions")
    rows.facets["files"].append((number, item.get("path"), None, status, *lines, rows.sequence))


def _closing(rows: Rows, number: int, item: dict[str, Any], *, is_pull: bool) -> None:
    ends = End(rows.repo, number), subject_of(item)
    source, target = ends if is_pull else ends[::-1]
    add_link(rows, number, "closing_reference", source, target, part="links")


def _relation(rows: Rows, number: int, item: dict[str, Any], part: str) -> None:
    add_relation(rows, number, part, subject_of(item))


def _comment(rows: Rows, number: int, item: dict[str, Any], kind: str, *, of_pull: bool) -> None:
    identity = integer(item.get("fullDatabaseId"))
    if kind == "review" and is_envelope(item.get("state"), item.get("body")):
        rows.facets["envelopes"].append((number, identity, rows.sequence))
        return
    at = item.get("submittedAt") or item.get("createdAt")
    add_comment(
        rows,
        number,
        (identity, kind, *actor(item.get("author")), lower(item.get("authorAssociation"))),
        (at, item.get("updatedAt"), item.get("lastEditedAt"), item.get("body") or ""),
        (
            item.get("path"),
            integer(inner(item.get("pullRequestReview"), "fullDatabaseId")),
            integer(inner(item.get("replyTo"), "fullDatabaseId")),
            lower(item.get("state")) if kind == "review" else None,
            *_hidden(item),
        ),
        of_pull=of_pull,
    )


def _hidden(item: dict[str, Any]) -> tuple[Any, Any]:
    return item.get("isMinimized"), lower(item.get("minimizedReason"))


_KIND = "discussion_comment"


def parse_discussion(rows: Rows, number: int, node: dict[str, Any]) -> None:
    """Parse a discussion with the first pages of its lists."""
    closed, chooser = node.get("closed"), actor(node.get("answerChosenBy"))
    state = closed if not isinstance(closed, bool) else "closed" if closed else "open"
    _add_entry(rows, number, "discussion", node, state, ([], *(None,) * 10))
    category = [inner(node.get("category"), key) for key in ("id", "name", "slug", "isAnswerable")]
    answer = node.get("isAnswered"), inner(node.get("answer"), "databaseId")
    choice = node.get("answerChosenAt"), chooser.login, chooser.type
    votes = node.get("upvoteCount"), inner(node.get("reactions"), "totalCount")
    discussion = (number, *category, *answer, *choice, *votes, rows.sequence)
    rows.facets["discussions"].append(discussion)
    _lists(rows, number, "Discussion", node)


def _discussion_comment(rows: Rows, number: int, item: dict[str, Any], parent: object) -> None:
    identity = item.get("databaseId")
    person, at, body = actor(item.get("author")), item.get("createdAt"), item.get("body") or ""
    edited = item.get("lastEditedAt")
    add_comment(
        rows,
        number,
        (identity, _KIND, *person, lower(item.get("authorAssociation"))),
        (at, item.get("updatedAt"), edited, body),
        (None, None, parent, None, *_hidden(item)),
        of_pull=False,
    )
    votes = item.get("upvoteCount"), inner(item.get("reactions"), "totalCount")
    display = item.get("isAnswer"), item.get("deletedAt")
    comment = (number, identity, *display, *votes, rows.sequence)
    rows.facets["discussion_comments"].append(comment)
    _lists(rows, number, "DiscussionComment", item)


_KINDS = {
    "Issue": "issue",
    "PullRequest": "pull",
    "Discussion": "discussion",
    "IssueComment": "comment",
    "PullRequestReview": "review",
    "PullRequestReviewComment": "review_comment",
    "DiscussionComment": "discussion_comment",
}
"""Kinds in the tables for the GraphQL types that have a text."""


def _version(rows: Rows, number: int, item: dict[str, Any], kind: str, comment: Any) -> None:
    person = actor(item.get("editor"))
    edited = (number, kind, comment, item.get("editedAt"), person.login, person.type)
    text = map(item.get, ("diff", "deletedAt", "id"))
    rows.facets["edits"].append((*edited, *text, rows.sequence))
