"""Parses GraphQL replies into rows."""

from __future__ import annotations

from typing import Any

from goldpan.miners.github.connections import EDITS
from goldpan.miners.github.graphql_lists import PART_OF
from goldpan.miners.tables.columns import UnreadableValue, inner, integer, lower, names
from goldpan.miners.tables.columns import nodes as nodes_of
from goldpan.miners.tables.parse_discussions import parse_discussion, parse_said
from goldpan.miners.tables.parse_edits import parse_edits
from goldpan.miners.tables.parse_timeline import (
    End,
    add_link,
    add_relation,
    parse_event,
    subject_of,
)
from goldpan.miners.tables.rows import Rows, actor, is_envelope, login_of
from goldpan.miners.tables.texts import read_text

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
    if node and connection == EDITS.name:
        parse_edits(rows, int(number), node)
    elif node and parent in ("Discussion", "DiscussionComment"):
        parse_said(rows, int(number), parent, connection, node)
    elif node:
        _list(rows, int(number), parent, connection, node)


def _entry(rows: Rows, number: int, node: dict[str, Any]) -> None:
    parent = node["__typename"]
    is_pull = parent == "PullRequest"
    person = actor(node.get("author"))
    row = rows.next_row()
    title, body, at = node.get("title"), node.get("body") or "", node.get("createdAt")
    state = lower(node.get("state"))
    holder, canonical = subject_of(node.get("parent")), subject_of(node.get("duplicateOf"))
    pinned = inner(inner(node.get("pinnedIssueComment"), "issueComment"), "fullDatabaseId")
    ties = node.get("issueDependenciesSummary")
    rows.facets["entry"].append(
        (
            number,
            "pull" if is_pull else "issue",
            title,
            body,
            _STATE.get(state, state) if isinstance(state, str) else state,
            lower(node.get("stateReason")),
            person.login,
            person.id,
            person.type,
            lower(node.get("authorAssociation")),
            at,
            node.get("updatedAt"),
            node.get("lastEditedAt"),
            node.get("closedAt"),
            node.get("locked"),
            names(nodes_of(node.get("labels")), "name"),
            _assignees(node),
            inner(node.get("milestone"), "title"),
            inner(node.get("issueType"), "name"),
            holder.repo,
            holder.number,
            inner(node.get("subIssuesSummary"), "total"),
            inner(ties, "totalBlockedBy"),
            inner(ties, "totalBlocking"),
            integer(pinned),
            canonical.repo,
            canonical.number,
            inner(node.get("comments"), "totalCount"),
            rows.sequence,
            row,
        )
    )
    read_text(rows, row, number, "title", None, at, title, of_pull=is_pull)
    read_text(rows, row, number, "body", None, at, body, of_pull=is_pull)
    if "lastEditedAt" in node:
        rows.page(number, "edits", 0, 0)  # unless a text announces some
    if holder.number:
        add_link(rows, number, "sub_issue", holder, End(rows.repo, number), part="entry")
    if is_pull:
        _pull(rows, number, node)
    for name in _PULL_LISTS if is_pull else _ISSUE_LISTS:
        if name in node:
            rows.attempt(number, PART_OF[parent, name], _list, number, parent, name, node)


_ISSUE_LISTS = ("comments", "labels", "timelineItems", "closedByPullRequestsReferences")
_PULL_LISTS = (
    "comments",
    "labels",
    "reviews",
    "reviewThreads",
    "files",
    "timelineItems",
    "closingIssuesReferences",
)


def _assignees(node: dict[str, Any]) -> Any:
    """Return the logins of those who are assigned; null where the server does not tell."""
    name = "assignedActors" if "assignedActors" in node else "assignees"
    if name not in node:
        return None
    people = nodes_of(node[name])
    if not isinstance(people, list):
        return people
    logins = [login_of(person) for person in people]
    readable = sorted(login for login in logins if isinstance(login, str))
    return readable if len(readable) == len(people) else UnreadableValue(people, readable)


def _pull(rows: Rows, number: int, node: dict[str, Any]) -> None:
    merged = node.get("merged")
    rows.facets["pull"].append(
        (
            number,
            merged,
            node.get("mergedAt"),
            node.get("isDraft"),
            node.get("baseRefName"),
            node.get("baseRefOid"),
            node.get("headRefName"),
            node.get("headRefOid"),
            inner(node.get("headRepository"), "nameWithOwner"),
            inner(node.get("mergeCommit"), "oid") if merged else None,
            rows.sequence,
        )
    )
    files = node.get("changedFiles")
    rows.facets["totals"].append(
        (number, node.get("additions"), node.get("deletions"), files, rows.sequence)
    )
    rows.page(number, "files", files, 0, "pull")


def _list(rows: Rows, number: int, parent: str, name: str, node: dict[str, Any]) -> None:
    part: str = PART_OF[parent, name]
    page = node[name]
    if page is None:
        return
    items = [item for item in page["nodes"] or () if item]
    is_pull = parent != "Issue"
    unit = str(node.get("id", "")) if parent == "PullRequestReviewThread" else ""
    announced = page.get("totalCount")
    match parent, name:
        case "PullRequestReviewThread", "comments":
            _parse_items(rows, number, part, items, _comment, "review_comment", of_pull=True)
        case _, "comments":
            _parse_items(rows, number, part, items, _comment, "comment", of_pull=is_pull)
        case _, "reviews":
            _parse_items(rows, number, part, items, _comment, "review", of_pull=True)
        case _, "reviewThreads":
            part = "threads"
        case _, "files":
            _parse_items(rows, number, part, items, _file)
        case _, "timelineItems":
            _parse_items(rows, number, part, items, parse_event, is_pull=is_pull)
            announced = page.get("filteredCount")
            rows.page(number, "length", inner(node.get("timeline"), "totalCount"), 0)
            if is_pull:
                rows.page(number, "commits", inner(node.get("commits"), "totalCount"), 0)
        case _, "closingIssuesReferences" | "closedByPullRequestsReferences":
            _parse_items(rows, number, part, items, _closing, is_pull=is_pull)
        case _, "subIssues" | "blockedBy" | "blocking":
            part = RELATIONS[name]
            _parse_items(rows, number, part, items, _relation, part)
    rows.page(number, part, announced, len(items), unit)


def _parse_items(
    rows: Rows, number: int, part: str, items: list[Any], parse: Any, *more: Any, **named: Any
) -> None:
    if not rows.is_careful:  # items are many, and a call of `attempt` takes half as long as one
        for item in items:
            parse(rows, number, item, *more, **named)
        return
    for item in items:
        rows.attempt(number, part, parse, number, item, *more, **named)


def _file(rows: Rows, number: int, item: dict[str, Any]) -> None:
    status = lower(item.get("changeType"))
    rows.facets["files"].append(
        (
            number,
            item.get("path"),
            None,
            _FILE_STATUS.get(status, status) if isinstance(status, str) else status,
            item.get("additions"),
            item.get("deletions"),
            rows.sequence,
        )
    )


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
    person = actor(item.get("author"))
    at = item.get("submittedAt") or item.get("createdAt")
    body = item.get("body") or ""
    row = rows.next_row()
    rows.facets["comments"].append(
        (
            number,
            identity,
            kind,
            person.login,
            person.id,
            person.type,
            lower(item.get("authorAssociation")),
            at,
            item.get("updatedAt"),
            item.get("lastEditedAt"),
            body,
            item.get("path"),
            integer(inner(item.get("pullRequestReview"), "fullDatabaseId")),
            integer(inner(item.get("replyTo"), "fullDatabaseId")),
            lower(item.get("state")) if kind == "review" else None,
            rows.sequence,
            row,
        )
    )
    read_text(rows, row, number, kind, str(identity), at, body, of_pull=of_pull)
