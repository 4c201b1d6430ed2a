"""Parses the versions of an edited text, as GraphQL gives them, into rows."""

from __future__ import annotations

from typing import Any

from goldpan.miners.github.connections import EDITS
from goldpan.miners.tables.columns import integer
from goldpan.miners.tables.rows import Rows, actor

_KINDS = {
    "Issue": "issue",
    "PullRequest": "pull",
    "Discussion": "discussion",
    "IssueComment": "comment",
    "PullRequestReview": "review",
    "PullRequestReviewComment": "review_comment",
    "DiscussionComment": "discussion_comment",
}
"""What the tables call the things that have a text."""


def parse_edits(rows: Rows, number: int, node: dict[str, Any]) -> None:
    """Parse a page of the edits of one text."""
    page = node[EDITS.name]
    if page is None:
        return
    items = [item for item in page["nodes"] or () if item]
    kind = _KINDS[node["__typename"]]
    comment = node.get("databaseId") if kind == "discussion_comment" else node.get("fullDatabaseId")
    for item in items:
        rows.attempt(number, "edits", _version, number, kind, integer(comment), item)
    rows.page(number, "edits", page.get("totalCount"), len(items), str(node.get("id", "")))


def _version(rows: Rows, number: int, kind: str, comment: Any, item: dict[str, Any]) -> None:
    person = actor(item.get("editor"))
    rows.facets["edits"].append(
        (
            number,
            kind,
            comment,
            item.get("editedAt"),
            person.login,
            person.type,
            item.get("diff"),
            item.get("deletedAt"),
            item.get("id"),
            rows.sequence,
        )
    )
