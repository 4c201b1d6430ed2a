"""Reads the gaps of a GraphQL reply: further pages, nulls, errors."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from goldpan.miners.connections import CONNECTIONS, EDITS, PART_OF, More
from goldpan.miners.github.queries import lists_by_summary
from goldpan.miners.replies import HttpReply, errors_of, is_forbidden, reason_of


@dataclass(slots=True)
class Problems:
    """The errors beside a reply's data, by the index of the node that they speak of."""

    nodes: dict[int, str] = field(default_factory=dict)
    hidden: dict[int, list[tuple[list[Any], str]]] = field(default_factory=dict)
    """Parts that the token may not see: path below the node, and reason."""
    loose: str = ""
    """An error that names no node: any of them may lack something."""


def read_problems(
    reply: HttpReply, count: int, index_of: Callable[[list[Any]], int | None]
) -> Problems:
    """Sort a reply's errors; `index_of` finds which of `count` nodes a path leads through."""
    problems = Problems()
    for error in errors_of(reply.data):
        path = error.get("path")
        path = path if isinstance(path, list) and path else None
        index = index_of(path) if path else None
        if index is None or index not in range(count):
            problems.loose = problems.loose or reason_of(error)
        elif is_forbidden(error):
            problems.hidden.setdefault(index, []).append((path or [], reason_of(error)))
        else:
            problems.nodes.setdefault(index, reason_of(error))
    return problems


def hidden_parts(parent: str, hidden: Iterable[tuple[list[Any], str]]) -> Iterator[tuple[str, str]]:
    """Yield part and reason of what a token may not see of an entry."""
    for path, reason in hidden:
        names = [PART_OF[parent, step] for step in path if (parent, step) in PART_OF]
        yield (names[0] if names else "entry"), reason


def entry_flaws(
    number: int, node: dict[str, Any] | None, problem: str | None, hidden: int
) -> Iterator[list[Any]]:
    """Yield [number, part, reason] for all data that an entry's reply lacks.

    `hidden` says how many of its parts the token may not see: as many nulls are no flaws.
    """
    if not node:
        yield [number, "entry", problem or "GitHub answered null"]
        return
    parent = node["__typename"]
    names = [name for owner, name in CONNECTIONS if owner == parent and name in node]
    flaws = {name: flaw for name in names if (flaw := list_flaw(node[name], hidden=hidden))}
    for name, flaw in flaws.items():
        yield [number, PART_OF[parent, name], problem or flaw]
    if problem and not flaws:
        yield [number, "entry", problem]


def list_flaw(page: dict[str, Any] | None, cursor: str | None = None, hidden: int = 0) -> str:
    """Return the flaw of a page of a list that was asked for at `cursor`, or nothing."""
    nodes = page.get("nodes") if isinstance(page, dict) else None
    if page is None or not isinstance(nodes, list):
        return "" if hidden else "GitHub answered null"
    if sum(not isinstance(node, dict) for node in nodes) > hidden:
        return "GitHub answered null"
    ids = ("databaseId" if "isAnswer" in (node or ()) else "fullDatabaseId" for node in nodes)
    if any(node and node.get(name, 0) is None for node, name in zip(nodes, ids, strict=True)):
        return "GitHub gave no id"
    info = page.get("pageInfo")
    if info and info["hasNextPage"] and info["endCursor"] in (None, cursor):
        return "GitHub's cursor does not move"
    return ""


def open_lists(
    number: int,
    owner: str,
    node: dict[str, Any],
    after: More | None = None,
    unread: Container[str] = (),
) -> Iterator[More]:
    """Yield the pages that are still to be fetched after those that `node` holds.

    `unread` names lists that were not asked for; their first pages are to be fetched too.
    """
    parent = node["__typename"]
    if after is None:
        for name in lists_by_summary(node):
            yield More(number, owner, node["id"], parent, name, None)
        yield from _open_edits(number, owner, [node])
    elif after.parent == EDITS.parent:
        parent = EDITS.parent  # whichever text it is
    for owner_type, name in CONNECTIONS:
        if owner_type != parent:
            continue
        if after is None and name not in node and name in unread:
            yield More(number, owner, node["id"], parent, name, None)
            continue
        page = node.get(name)
        if not page or "pageInfo" not in page:
            continue
        info = page["pageInfo"]
        stuck = after is not None and info["endCursor"] == after.cursor
        if info["hasNextPage"] and info["endCursor"] and not stuck:
            yield More(number, owner, node["id"], parent, name, info["endCursor"])
        items = [item for item in page["nodes"] or () if item]
        yield from _open_edits(number, owner, items)
        if name == "reviewThreads":
            for thread in items:
                yield More(number, owner, thread["id"], "PullRequestReviewThread", "comments", None)
        if parent == "Discussion" and name == "comments":
            yield from _open_replies(number, owner, items)


def _open_replies(number: int, owner: str, comments: Sequence[dict[str, Any]]) -> Iterator[More]:
    for comment in comments:
        replies = comment.get("replies") or {}
        info = replies.get("pageInfo")
        if info and info["hasNextPage"] and info["endCursor"]:
            yield More(
                number, owner, comment["id"], "DiscussionComment", "replies", info["endCursor"]
            )
        yield from _open_edits(number, owner, [item for item in replies.get("nodes") or () if item])


def _open_edits(number: int, owner: str, texts: Iterable[dict[str, Any]]) -> Iterator[More]:
    for text in texts:
        if text.get("lastEditedAt"):
            yield More(number, owner, text["id"], EDITS.parent, EDITS.name, None)
