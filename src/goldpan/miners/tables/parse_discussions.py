"""Parses GraphQL's discussions, their comments and replies into rows."""

from __future__ import annotations

from typing import Any

from goldpan.miners.github.graphql_lists import PART_OF
from goldpan.miners.tables.columns import inner, lower, names, nodes
from goldpan.miners.tables.rows import Rows, actor
from goldpan.miners.tables.texts import read_text

_KIND = "discussion_comment"


def parse_discussion(rows: Rows, number: int, node: dict[str, Any]) -> None:
    """Parse a discussion with the first pages of its lists."""
    person, chooser = actor(node.get("author")), actor(node.get("answerChosenBy"))
    row = rows.next_row()
    title, body, at = node.get("title"), node.get("body") or "", node.get("createdAt")
    closed = node.get("closed")
    rows.facets["entry"].append(
        (
            number,
            "discussion",
            title,
            body,
            closed if not isinstance(closed, bool) else "closed" if closed else "open",
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
            names(nodes(node.get("labels")), "name"),
            [],
            *(None,) * 10,
            inner(node.get("comments"), "totalCount"),
            rows.sequence,
            row,
        )
    )
    if "lastEditedAt" in node:
        rows.page(number, "edits", 0, 0)  # unless a text announces some
    category = node.get("category")
    rows.facets["discussions"].append(
        (
            number,
            inner(category, "id"),
            inner(category, "name"),
            inner(category, "slug"),
            inner(category, "isAnswerable"),
            node.get("isAnswered"),
            inner(node.get("answer"), "databaseId"),
            node.get("answerChosenAt"),
            chooser.login,
            chooser.type,
            node.get("upvoteCount"),
            inner(node.get("reactions"), "totalCount"),
            rows.sequence,
        )
    )
    read_text(rows, row, number, "title", None, at, title, of_pull=False)
    read_text(rows, row, number, "body", None, at, body, of_pull=False)
    for name in ("comments", "labels"):
        if name in node:
            part = PART_OF["Discussion", name]
            rows.attempt(number, part, parse_said, number, "Discussion", name, node)


def parse_said(rows: Rows, number: int, parent: str, name: str, node: dict[str, Any]) -> None:
    """Parse a page of a discussion's comments or labels, or of a comment's replies."""
    page = node[name]
    if page is None:
        return
    part = PART_OF[parent, name]
    items = [item for item in page["nodes"] or () if item]
    is_reply = part == "replies"
    if name != "labels":
        to = node.get("databaseId") if is_reply else None
        for item in items:
            rows.attempt(number, part, _said, number, item, to)
    unit = str(node.get("id", "")) if is_reply else ""
    rows.page(number, part, page.get("totalCount"), len(items), unit)
    if part == "comments":
        rows.page(number, "replies", 0, 0)  # unless a comment announces some


def _said(rows: Rows, number: int, item: dict[str, Any], to: object) -> None:
    person, identity = actor(item.get("author")), item.get("databaseId")
    at, body = item.get("createdAt"), item.get("body") or ""
    row = rows.next_row()
    rows.facets["comments"].append(
        (
            number,
            identity,
            _KIND,
            person.login,
            person.id,
            person.type,
            lower(item.get("authorAssociation")),
            at,
            item.get("updatedAt"),
            item.get("lastEditedAt"),
            body,
            None,
            None,
            to,
            None,
            rows.sequence,
            row,
        )
    )
    rows.facets["discussion_comments"].append(
        (
            number,
            identity,
            item.get("isAnswer"),
            item.get("isMinimized"),
            lower(item.get("minimizedReason")),
            item.get("deletedAt"),
            item.get("upvoteCount"),
            inner(item.get("reactions"), "totalCount"),
            rows.sequence,
        )
    )
    read_text(rows, row, number, _KIND, str(identity), at, body, of_pull=False)
    if "replies" in item:
        rows.attempt(number, "replies", parse_said, number, "DiscussionComment", "replies", item)
