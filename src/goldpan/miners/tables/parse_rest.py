"""Parses REST replies, and metadata backups in REST's shape, into rows."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from goldpan.miners.replies import names_pull
from goldpan.miners.tables.columns import UnreadableValue, inner, lower, names, texts, user
from goldpan.miners.tables.parse_timeline import (
    EVENTS,
    SUBJECTS,
    WITHOUT_ROWS,
    End,
    add_link,
    add_relation,
)
from goldpan.miners.tables.rows import (
    PART_OF_KIND,
    Rows,
    add_comment,
    add_commit,
    is_envelope,
    read_text,
)

_NUMBER = re.compile(r"/(?:issues|pulls|pull)/(\d+)")
_ADDRESS = re.compile(r"/repos/([^/]+/[^/]+)/(?:issues|pulls)/(\d+)")
_FILE = ("filename", "previous_filename", "status", "additions", "deletions")
_EVENTS = set(EVENTS.values())
_PASSED_OVER = WITHOUT_ROWS - {"commented", "reviewed", "committed", "cross-referenced", "closed"}


def parse_entry(rows: Rows, item: dict[str, Any], *, is_pull: bool | None = None) -> None:
    """Parse what issues and pull requests share."""
    is_pull = names_pull(item) if is_pull is None else is_pull
    number, row = int(item["number"]), rows.next_row()
    title, body, at = item.get("title"), item.get("body") or "", item.get("created_at")
    parent = _address(item.get("parent_issue_url"))
    ties = item.get("issue_dependencies_summary")
    kind, reason = ("pull", None) if is_pull else ("issue", item.get("state_reason"))
    entry = (number, kind, title, body, item.get("state"), reason)
    author = (*user(item.get("user")), lower(item.get("author_association")))
    times = (at, item.get("updated_at"), None, item.get("closed_at"), item.get("locked"))
    labels, assignees = names(item.get("labels"), "name"), _logins(item.get("assignees"))
    milestone, issue_type = inner(item.get("milestone"), "title"), inner(item.get("type"), "name")
    parts, pinned = inner(item.get("sub_issues_summary"), "total"), item.get("pinned_comment")
    blocking = inner(ties, "total_blocked_by"), inner(ties, "total_blocking")
    duplicate_of = None, None
    tied = (*parent, parts, *blocking, inner(pinned, "id"), *duplicate_of, item.get("comments"))
    sorted_by = (labels, assignees, milestone, issue_type)
    rows.facets["entry"].append((*entry, *author, *times, *sorted_by, *tied, rows.sequence, row))
    read_text(rows, row, number, "title", None, at, title, of_pull=is_pull)
    read_text(rows, row, number, "body", None, at, body, of_pull=is_pull)
    if parent.number:
        add_link(rows, number, "sub_issue", parent, End(rows.repo, number), part="entry")


def parse_pull(rows: Rows, item: dict[str, Any]) -> None:
    """Parse what only pull requests have; totals only where the reply holds them."""
    head, base = item.get("head"), item.get("base")
    number = int(item["number"])
    merged = item.get("merged_at") is not None
    branches = [inner(branch, key) for branch in (base, head) for key in ("ref", "sha")]
    head_repo = inner(inner(head, "repo"), "full_name")
    merge = item.get("merge_commit_sha") if merged else None
    state = (number, merged, item.get("merged_at"), item.get("draft"))
    rows.facets["pull"].append((*state, *branches, head_repo, merge, rows.sequence))
    if "changed_files" in item:
        files, lines = item["changed_files"], (item.get("additions"), item.get("deletions"))
        rows.facets["totals"].append((number, *lines, files, rows.sequence))
        rows.page(number, "files", files, 0, "pull")
        rows.page(number, "commits", item.get("commits"), 0, "pull")
        rows.page(number, "review_comments", item.get("review_comments"), 0, "pull")


def parse_whole_pull(rows: Rows, item: dict[str, Any]) -> None:
    """Parse all that a pull request tells of itself; lists of them count no comments."""
    parse_entry(rows, {**item, "comments": None}, is_pull=True)
    parse_pull(rows, item)


def _listed_comment(rows: Rows, item: dict[str, Any], *, kind: str) -> None:
    address = item.get("html_url") or ""
    holder = item.get("issue_url" if kind == "comment" else "pull_request_url") or ""
    match = _NUMBER.search(holder) or _NUMBER.search(address)
    if match is None:
        raise ValueError(f"{kind} {item.get('id')} names no entry")
    of_pull = kind == "review_comment" or "/pull/" in address
    parse_comment(rows, int(match[1]), item, kind, of_pull=of_pull)


def parse_timeline(rows: Rows, number: int, data: list[dict[str, Any]], *, is_pull: bool) -> None:
    """Parse a page of one entry's timeline."""
    rows.attempt_each(number, "timeline", data, _event, is_pull=is_pull)
    rows.page(number, "timeline", None, len(data))
    rows.page(number, "items", None, len(data))


def _file(rows: Rows, number: int, item: dict[str, Any], _: str) -> None:
    rows.facets["files"].append((number, *map(item.get, _FILE), rows.sequence))


def _relation(rows: Rows, number: int, item: dict[str, Any], part: str) -> None:
    add_relation(rows, number, part, _address(item["url"]))


_OF_REPOSITORY: dict[str, tuple[str, Callable[[Rows, dict[str, Any]], None]]] = {
    "issues": ("entry", parse_entry),  # with pull requests
    "pulls": ("entry", parse_pull),
    "comments": ("comments", partial(_listed_comment, kind="comment")),
    "review_comments": ("review_comments", partial(_listed_comment, kind="review_comment")),
    "pull_comments": ("review_comments", partial(_listed_comment, kind="review_comment")),
}
"""Lists whose items tell of which entry they are: its part, and what parses an item."""


def parse_list(rows: Rows, name: str, data: list[dict[str, Any]]) -> None:
    """Parse a page of a list of the repository, or of a pull request's review comments."""
    part, parse = _OF_REPOSITORY[name]
    for item in data:
        rows.attempt(inner(item, "number"), part, parse, item)


def parse_own_list(rows: Rows, number: int, part: str, data: list[dict[str, Any]]) -> None:
    """Parse a page of an entry's files, parts, of what blocks it, or of what it blocks."""
    rows.attempt_each(number, part, data, _file if part == "files" else _relation, part)
    rows.page(number, part, None, len(data))


def parse_backup(rows: Rows, data: dict[str, Any]) -> None:
    """Parse one entry of a metadata backup: the entry, its events and its review comments."""
    is_pull = data["type"] == "pull"
    item = data["pull"] if is_pull else data["issue"]
    number = int(item["number"])
    parse_entry(rows, item, is_pull=is_pull)
    rows.page(number, "unlisted", None, 0)
    events, comments = data.get("events"), data.get("comments")
    if is_pull:
        is_half = "base" not in item and "head" not in item
        rows.attempt(number, "entry", _half if is_half else parse_pull, item, *([events] * is_half))
        part, kind = "review_comments", "review_comment"
        rows.attempt_each(number, part, comments or (), parse_comment, kind, of_pull=True)
    if events is not None or comments is not None:
        parse_timeline(rows, number, events or [], is_pull=is_pull)


def _half(rows: Rows, item: dict[str, Any], events: list[dict[str, Any]] | None) -> None:
    """Parse what the lists of issues tell of a pull request, where they tell it."""
    holders = (item.get("pull_request") or {}, item)
    holder: dict[str, Any] = next((part for part in holders if "merged_at" in part), {})
    merged_at = holder.get("merged_at") or next(
        (event.get("created_at") for event in events or () if event.get("event") == "merged"), None
    )
    merged = True if merged_at else False if holder or item.get("state") == "open" else None
    rows.facets["half"].append(
        (item["number"], merged, merged_at, item.get("draft"), rows.sequence)
    )


def _attempt_comment(
    rows: Rows, number: int, item: dict[str, Any], kind: str, *, of_pull: bool
) -> None:
    rows.attempt(number, PART_OF_KIND[kind], parse_comment, number, item, kind, of_pull=of_pull)


def parse_comment(
    rows: Rows, number: int, item: dict[str, Any], kind: str, *, of_pull: bool
) -> None:
    """Parse a comment, review or review comment."""
    if kind == "review" and is_envelope(item.get("state"), item.get("body")):
        rows.facets["envelopes"].append((number, item.get("id"), rows.sequence))
        return
    at = (item.get("submitted_at") if kind == "review" else None) or item.get("created_at")
    of_code = kind == "review_comment"
    minimized = item.get("minimized")  # an object, or null; newer servers alone tell
    hidden = minimized is not None if "minimized" in item else None, inner(minimized, "reason")
    add_comment(
        rows,
        number,
        (item.get("id"), kind, *user(item.get("user")), lower(item.get("author_association"))),
        (at, item.get("updated_at") or at, None, item.get("body") or ""),
        (
            item.get("path") if of_code else None,
            item.get("pull_request_review_id") if of_code else None,
            item.get("in_reply_to_id") if of_code else None,
            lower(item.get("state")) if kind == "review" else None,
            *hidden,
        ),
        of_pull=of_pull,
    )


def _event(rows: Rows, number: int, item: dict[str, Any], *, is_pull: bool) -> None:
    kind = item["event"]
    if kind in _PASSED_OVER:
        return
    if kind in _EVENTS:
        _history(rows, number, kind, item)
    match kind:
        case "commented":
            _attempt_comment(rows, number, item, "comment", of_pull=is_pull)
        case "reviewed":
            _attempt_comment(rows, number, item, "review", of_pull=True)
        case "committed" if is_pull:
            times = [inner(item.get(role), "date") for role in ("author", "committer")]
            add_commit(rows, number, item.get("sha"), item.get("message"), *times)
        case "cross-referenced":
            source = inner(item.get("source"), "issue")
            if source and source.get("number"):
                repo = inner(source.get("repository"), "full_name") or rows.repo
                end, own = End(repo, source["number"]), End(rows.repo, number)
                add_link(rows, number, "cross_referenced", end, own, at=item.get("created_at"))
        case "closed" if item.get("commit_id"):
            own, at = End(rows.repo, number), item.get("created_at")
            add_link(rows, number, "closed_by", End(rows.repo), own, at=at, sha=item["commit_id"])
        case _ if kind not in _EVENTS and kind not in WITHOUT_ROWS:
            rows.facets["unknown"].append((number, kind, rows.sequence))


def _history(rows: Rows, number: int, event: str, item: dict[str, Any]) -> None:
    of = SUBJECTS.get(event)
    of_person = of == "assignee"
    person = user((item.get("assigner") if of_person else None) or item.get("actor"))
    rename = item.get("rename") if of == "rename" else None
    label = inner(item.get("label"), "name") if of == "label" else None
    milestone = inner(item.get("milestone"), "title") if of == "milestone" else None
    assignee = user(item.get("assignee")).login if of_person else None
    subjects = (label, milestone, assignee, inner(rename, "from"), inner(rename, "to"))
    happened = (number, event, item.get("created_at"), *person)
    rows.facets["events"].append((*happened, *subjects, rows.sequence))


def _logins(values: Any) -> Any:
    if not isinstance(values, list):
        return [] if values is None else UnreadableValue(values, [])
    return texts(values, [user(value).login for value in values])


def _address(url: Any) -> End:
    """Return the entry that an address of the API names."""
    if url is None:
        return End(None)
    match = _ADDRESS.search(url) if isinstance(url, str) else None
    return End(match[1], int(match[2])) if match else End(UnreadableValue(url))
