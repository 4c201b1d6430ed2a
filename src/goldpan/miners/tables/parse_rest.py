"""Parses REST replies, and metadata backups in REST's shape, into rows."""

from __future__ import annotations

import re
from typing import Any

from goldpan.miners.tables.links import End, add_link
from goldpan.miners.tables.people import user
from goldpan.miners.tables.rows import Rows, is_envelope
from goldpan.miners.tables.texts import add_commit, read_text

_NUMBER = re.compile(r"/(?:issues|pulls|pull)/(\d+)")


def parse_issues(rows: Rows, data: list[dict[str, Any]]) -> None:
    """Parse a page of the repository's issue list, which holds pull requests too."""
    for item in data:
        parse_entry(rows, item, is_pull="pull_request" in item)


def parse_entry(rows: Rows, item: dict[str, Any], *, is_pull: bool) -> None:
    """Parse what issues and pull requests share."""
    person = user(item.get("user"))
    number, row = int(item["number"]), rows.next_row()
    title, body, at = item["title"], item.get("body") or "", item["created_at"]
    rows.facets["entry"].append(
        (
            number,
            "pull" if is_pull else "issue",
            title,
            body,
            item["state"],
            None if is_pull else item.get("state_reason"),
            person.login,
            person.id,
            person.type,
            _lower(item.get("author_association")),
            at,
            item["updated_at"],
            item.get("closed_at"),
            item.get("locked"),
            sorted(label["name"] for label in item.get("labels") or ()),
            item.get("comments"),
            rows.sequence,
            row,
        )
    )
    read_text(rows, row, number, "title", None, at, title, of_pull=is_pull)
    read_text(rows, row, number, "body", None, at, body, of_pull=is_pull)


def parse_pull(rows: Rows, item: dict[str, Any]) -> None:
    """Parse what only pull requests have; totals only where the reply holds them."""
    head, base = item["head"], item["base"]
    number = int(item["number"])
    merged = item.get("merged_at") is not None
    rows.facets["pull"].append(
        (
            number,
            merged,
            item.get("merged_at"),
            item.get("draft"),
            base["ref"],
            base["sha"],
            head["ref"],
            head["sha"],
            (head.get("repo") or {}).get("full_name"),
            item.get("merge_commit_sha") if merged else None,
            rows.sequence,
        )
    )
    if "changed_files" in item:
        rows.facets["totals"].append(
            (number, item["additions"], item["deletions"], item["changed_files"], rows.sequence)
        )


def parse_comments(rows: Rows, data: list[dict[str, Any]]) -> None:
    """Parse a page of the repository's comments on issues and pull requests."""
    for item in data:
        address = item.get("html_url") or ""
        found = _NUMBER.search(item.get("issue_url") or "") or _NUMBER.search(address)
        if found:
            _comment(rows, int(found[1]), "comment", item, of_pull="/pull/" in address)


def parse_review_comments(rows: Rows, data: list[dict[str, Any]]) -> None:
    """Parse a page of the repository's review comments."""
    for item in data:
        address = item.get("pull_request_url") or item.get("html_url") or ""
        if found := _NUMBER.search(address):
            _comment(rows, int(found[1]), "review_comment", item, of_pull=True)


def parse_timeline(rows: Rows, number: int, data: list[dict[str, Any]], *, is_pull: bool) -> None:
    """Parse a page of one entry's timeline."""
    for item in data:
        _event(rows, number, item, is_pull=is_pull)
    rows.facets["timeline"].append((number, len(data), rows.sequence))


def parse_files(rows: Rows, number: int, data: list[dict[str, Any]]) -> None:
    """Parse a page of the files that a pull request changes."""
    for item in data:
        rows.facets["files"].append(
            (
                number,
                item["filename"],
                item.get("previous_filename"),
                item["status"],
                item["additions"],
                item["deletions"],
                rows.sequence,
            )
        )


def parse_backup(rows: Rows, data: dict[str, Any]) -> None:
    """Parse one entry of a metadata backup: the entry, its events and its review comments."""
    is_pull = data["type"] == "pull"
    item = data["pull"] if is_pull else data["issue"]
    parse_entry(rows, item, is_pull=is_pull)
    if is_pull:
        parse_pull(rows, item)
        for comment in data.get("comments") or ():
            _comment(rows, int(item["number"]), "review_comment", comment, of_pull=True)
    parse_timeline(rows, int(item["number"]), data.get("events") or [], is_pull=is_pull)


def _comment(rows: Rows, number: int, kind: str, item: dict[str, Any], *, of_pull: bool) -> None:
    if kind == "review" and is_envelope(item.get("state"), item.get("body")):
        return
    person = user(item.get("user"))
    at = item.get("submitted_at") or item.get("created_at")
    body = item.get("body") or ""
    row = rows.next_row()
    rows.facets["comments"].append(
        (
            number,
            item["id"],
            kind,
            person.login,
            person.id,
            person.type,
            _lower(item.get("author_association")),
            at,
            item.get("updated_at") or at,
            body,
            item.get("path"),
            item.get("pull_request_review_id"),
            item.get("in_reply_to_id"),
            _lower(item.get("state")) if kind == "review" else None,
            rows.sequence,
            row,
        )
    )
    read_text(rows, row, number, kind, str(item["id"]), at, body, of_pull=of_pull)


def _event(rows: Rows, number: int, item: dict[str, Any], *, is_pull: bool) -> None:
    own = End(rows.repo, number)
    at = item.get("created_at")
    match item.get("event"):
        case "commented":
            _comment(rows, number, "comment", item, of_pull=is_pull)
        case "reviewed":
            _comment(rows, number, "review", item, of_pull=True)
        case "committed" if is_pull:
            add_commit(
                rows,
                number,
                item["sha"],
                item.get("message") or "",
                (item.get("author") or {}).get("date"),
                (item.get("committer") or {}).get("date"),
            )
        case "cross-referenced":
            source = (item.get("source") or {}).get("issue")
            if source and source.get("number"):
                repo = (source.get("repository") or {}).get("full_name") or rows.repo
                add_link(rows, number, "cross_referenced", End(repo, source["number"]), own, at=at)
        case "closed" if item.get("commit_id"):
            add_link(rows, number, "closed_by", End(rows.repo), own, at=at, sha=item["commit_id"])


def _lower(text: str | None) -> str | None:
    return text.lower() if text is not None else None
