"""Parses GraphQL replies into rows."""

from __future__ import annotations

from typing import Any

from goldpan.miners.tables.links import End, add_link
from goldpan.miners.tables.people import actor
from goldpan.miners.tables.rows import Rows, is_envelope
from goldpan.miners.tables.texts import add_commit, read_text

_FILE_STATUS = {"deleted": "removed"}


def parse_entries(rows: Rows, data: dict[str, Any], nodes: list[list[Any]]) -> None:
    """Parse the listed nodes of an `entries` reply."""
    found = data["data"]["nodes"]
    for index, number, _ in nodes:
        _entry(rows, int(number), found[index])


def parse_more(rows: Rows, data: dict[str, Any], nodes: list[list[Any]]) -> None:
    """Parse the listed nodes of a reply that continues nested lists."""
    for index, number, _, parent, connection in nodes:
        node = data["data"][f"n{index}"]
        if node:
            _list(rows, int(number), parent, connection, node)


def _entry(rows: Rows, number: int, node: dict[str, Any]) -> None:
    is_pull = node["__typename"] == "PullRequest"
    person = actor(node["author"])
    row = rows.next_row()
    title, body, at = node["title"], node["body"] or "", node["createdAt"]
    comments = node.get("comments")
    rows.facets["entry"].append(
        (
            number,
            "pull" if is_pull else "issue",
            title,
            body,
            "open" if node["state"] == "OPEN" else "closed",
            _lower(node.get("stateReason")),
            person.login,
            person.id,
            person.type,
            _lower(node["authorAssociation"]),
            at,
            node["updatedAt"],
            node["closedAt"],
            node["locked"],
            sorted(label["name"] for label in _nodes(node.get("labels"))),
            comments["totalCount"] if comments else None,
            rows.sequence,
            row,
        )
    )
    read_text(rows, row, number, "title", None, at, title, of_pull=is_pull)
    read_text(rows, row, number, "body", None, at, body, of_pull=is_pull)
    timeline = node.get("timeline")
    rows.facets["timeline"].append(
        (number, timeline["totalCount"] if timeline else None, rows.sequence)
    )
    if is_pull:
        _pull(rows, number, node)
    parent = node["__typename"]
    names = _PULL_LISTS if is_pull else _ISSUE_LISTS
    for name in names:
        _list(rows, number, parent, name, node)


_ISSUE_LISTS = ("comments", "timelineItems", "closedByPullRequestsReferences")
_PULL_LISTS = ("comments", "reviews", "files", "timelineItems", "closingIssuesReferences")


def _pull(rows: Rows, number: int, node: dict[str, Any]) -> None:
    head, merge = node["headRepository"], node["mergeCommit"]
    merged = node["merged"]
    rows.facets["pull"].append(
        (
            number,
            merged,
            node["mergedAt"],
            node["isDraft"],
            node["baseRefName"],
            node["baseRefOid"],
            node["headRefName"],
            node["headRefOid"],
            head["nameWithOwner"] if head else None,
            merge["oid"] if merge and merged else None,
            rows.sequence,
        )
    )
    rows.facets["totals"].append(
        (number, node["additions"], node["deletions"], node["changedFiles"], rows.sequence)
    )


def _list(rows: Rows, number: int, parent: str, name: str, node: dict[str, Any]) -> None:
    items = _nodes(node.get(name))
    is_pull = parent != "Issue"
    match parent, name:
        case "PullRequestReviewThread", "comments":
            for item in items:
                _comment(rows, number, "review_comment", item, of_pull=True)
        case _, "comments":
            for item in items:
                _comment(rows, number, "comment", item, of_pull=is_pull)
        case _, "reviews":
            for item in items:
                _comment(rows, number, "review", item, of_pull=True)
        case _, "files":
            for item in items:
                status = item["changeType"].lower()
                rows.facets["files"].append(
                    (
                        number,
                        item["path"],
                        None,
                        _FILE_STATUS.get(status, status),
                        item["additions"],
                        item["deletions"],
                        rows.sequence,
                    )
                )
        case _, "timelineItems":
            for item in items:
                _event(rows, number, item, is_pull=is_pull)
        case _, "closingIssuesReferences" | "closedByPullRequestsReferences":
            for item in items:
                ends = End(rows.repo, number), _subject(item)
                source, target = ends if is_pull else ends[::-1]
                add_link(rows, number, "closing_reference", source, target, part="links")


def _comment(
    rows: Rows,
    number: int,
    kind: str,
    item: dict[str, Any],
    *,
    of_pull: bool,
) -> None:
    if kind == "review" and is_envelope(item["state"], item["body"]):
        return
    person = actor(item["author"])
    identity = _integer(item["fullDatabaseId"])
    at = item.get("submittedAt") or item["createdAt"]
    reply, review = item.get("replyTo"), item.get("pullRequestReview")
    row = rows.next_row()
    rows.facets["comments"].append(
        (
            number,
            identity,
            kind,
            person.login,
            person.id,
            person.type,
            _lower(item["authorAssociation"]),
            at,
            item["updatedAt"],
            item["body"] or "",
            item.get("path"),
            _integer(review["fullDatabaseId"]) if review else None,
            _integer(reply["fullDatabaseId"]) if reply else None,
            _lower(item.get("state")) if kind == "review" else None,
            rows.sequence,
            row,
        )
    )
    read_text(rows, row, number, kind, str(identity), at, item["body"] or "", of_pull=of_pull)


def _event(rows: Rows, number: int, item: dict[str, Any], *, is_pull: bool) -> None:
    own = End(rows.repo, number)
    at = item.get("createdAt")
    match item["__typename"]:
        case "CrossReferencedEvent":
            source = _subject(item["source"])
            if source.number:
                add_link(rows, number, "cross_referenced", source, own, at=at)
                if item["willCloseTarget"]:
                    add_link(rows, number, "will_close", source, own, at=at, part="links")
        case "ConnectedEvent" | "DisconnectedEvent" as kind:
            ends = [end for end in (item["source"], item["subject"]) if end]
            ends.sort(key=lambda end: end["__typename"] != "PullRequest")
            if len(ends) == 2:
                signal = "connected" if kind == "ConnectedEvent" else "disconnected"
                add_link(
                    rows, number, signal, _subject(ends[0]), _subject(ends[1]), at=at, part="links"
                )
        case "ClosedEvent":
            closer = item["closer"]
            if closer and closer["__typename"] == "PullRequest":
                add_link(rows, number, "closed_by", _subject(closer), own, at=at, part="links")
            elif closer and closer["__typename"] == "Commit":
                source = End(rows.repo)
                add_link(rows, number, "closed_by", source, own, at=at, sha=closer["oid"])
        case "MarkedAsDuplicateEvent" | "UnmarkedAsDuplicateEvent" as kind:
            source, target = _subject(item["duplicate"]), _subject(item["canonical"])
            if source.number and target.number:
                signal = "marked_as_duplicate"
                if kind == "UnmarkedAsDuplicateEvent":
                    signal = "unmarked_as_duplicate"
                add_link(rows, number, signal, source, target, at=at, part="links")
        case "TransferredEvent":
            origin = item["fromRepository"]
            source = End(origin["nameWithOwner"] if origin else None)
            add_link(rows, number, "transferred_from", source, own, at=at, part="links")
        case "PullRequestCommit":
            commit = item["commit"]
            add_commit(
                rows,
                number,
                commit["oid"],
                commit["message"],
                commit["authoredDate"],
                commit["committedDate"],
            )


def _subject(data: dict[str, Any] | None) -> End:
    if not data or "number" not in data:
        return End(None)
    return End(data["repository"]["nameWithOwner"], data["number"])


def _nodes(connection: dict[str, Any] | None) -> list[dict[str, Any]]:
    return [node for node in (connection or {}).get("nodes") or () if node]


def _lower(text: str | None) -> str | None:
    return text.lower() if text is not None else None


def _integer(text: str | int | None) -> int | None:
    return int(text) if text is not None else None
