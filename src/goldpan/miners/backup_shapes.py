"""Shapes of a backup's entries: the one shape, those that are brought into it, and others' names.

The one shape is ``{"type": "issue" | "pull", "issue" or "pull": {...}, "events": [...],
"comments": [...]}``: the events are the entry's timeline, the comments a pull request's review
comments. python-github-backup and Perceval instead add lists to the object that REST gives, and the
lists of REST's API hold the object alone, pull requests among issues without their branches.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from goldpan.miners.replies import names_pull
from goldpan.text.keywords import LARGEST_NUMBER

RIGHT_ONE = "gh api 'repos/{repo}/issues?state=all&per_page=100' --paginate > issues.json"
"""The command that writes what can be read."""

_OBJECT = {"number", "title", "user", "state", "created_at"}
_LISTS = (
    *("comment_data", "comment_regular_data", "event_data", "timeline_data"),
    *("review_data", "commit_data", "comments_data", "review_comments_data", "reviews_data"),
)
_ADDRESS = re.compile(
    r"https?://(?:api\.)?([^/]+)/(?:api/v3/)?(?:repos/)?([^/]+/[^/]+)/(?:issues|pull|pulls)/\d+"
)


class Place(NamedTuple):
    """The repository that an entry names as its own, with the host, as far as it does."""

    host: str | None
    repo: str | None
    identity: int | None
    """GitHub's id of the repository, which a new name does not change."""


@dataclass(frozen=True, slots=True)
class About:
    """What an entry says of itself."""

    kind: str
    number: int
    updated: str
    """In UTC, so that texts compare as times do; empty where it does not tell."""
    place: Place
    identity: int | None
    """GitHub's id of the entry."""
    is_half: bool
    """True for a pull request as the lists of issues have it: without branches."""
    is_bare: bool
    """True where its lists (timeline, comments) are not there, be they empty or not."""
    tells_repository: bool
    """True for a pull request that describes the repository that it is for."""


def about(shaped: Any) -> About | None:
    """Return what an entry that `read_shape` gave says of itself; None where it is none."""
    if not isinstance(shaped, dict) or not isinstance(shaped.get(shaped["type"]), dict):
        return None
    kind, entry = shaped["type"], shaped[shaped["type"]]
    number = _integer(entry.get("number"))
    if number is None or not 0 < number <= LARGEST_NUMBER:
        return None
    is_half = kind == "pull" and "base" not in entry and "head" not in entry
    described = (base_repository(entry) if kind == "pull" else None) or {}
    host, shown = _shown(entry)
    name = described.get("full_name")
    place = Place(host, name if isinstance(name, str) else shown, _integer(described.get("id")))
    is_bare = shaped.get("events") is None and shaped.get("comments") is None
    updated = _stamp(entry.get("updated_at"))
    identity = _integer(entry.get("id"))
    return About(kind, number, updated, place, identity, is_half, is_bare, name is not None)


def _shown(entry: Any) -> tuple[str | None, str | None]:
    """Return the host and the repository in an entry's address, for people or of the API."""
    for name in ("html_url", "url"):
        address = entry.get(name)
        match = _ADDRESS.match(address) if isinstance(address, str) else None
        if match is not None:
            return match[1].lower(), match[2]
    return None, None


def _stamp(time: Any) -> str:
    try:
        moment = datetime.fromisoformat(time)
    except (TypeError, ValueError):
        return ""
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _integer(value: object) -> int | None:
    return value if type(value) is int else None


def read_shape(data: Any) -> dict[str, Any] | None:
    """Return an entry in the one shape; None for JSON that is no entry."""
    if isinstance(data, dict) and "backend_name" in data:  # an item of Perceval's
        data = data.get("data")
    if not isinstance(data, dict):
        return None
    if data.get("type") in ("issue", "pull"):
        entry = data.get(data["type"])
        if data["type"] == "issue" and isinstance(entry, dict) and names_pull(entry):
            return {**data, "type": "pull", "pull": entry}
        return data if data["type"] in data else None
    if not data.keys() >= _OBJECT:
        return None
    is_whole = "head" in data and "base" in data
    kind = "pull" if is_whole or names_pull(data) else "issue"
    if is_whole:
        events = [
            *_as_events(data.get("comment_regular_data"), "commented"),
            *_as_events(data.get("review_data") or data.get("reviews_data"), "reviewed"),
            *map(_as_commit, data.get("commit_data") or ()),
        ]
    else:
        remarks = _as_events(data.get("comment_data") or data.get("comments_data"), "commented")
        events = [*remarks, *(data.get("timeline_data") or data.get("event_data") or ())]
    is_bare = all(data.get(name) is None for name in _LISTS)
    return {
        "type": kind,
        kind: data,
        "events": None if is_bare else events,
        "comments": data.get("comment_data", data.get("review_comments_data"))
        if is_whole
        else None,
    }


def base_repository(entry: dict[str, Any]) -> dict[str, Any] | None:
    """Return the repository that a pull request is for, as it describes it."""
    base = entry.get("base")
    repository = base.get("repo") if isinstance(base, dict) else None
    return repository if isinstance(repository, dict) else None


def _as_events(items: list[dict[str, Any]] | None, name: str) -> list[dict[str, Any]]:
    return [{**item, "event": name} for item in items or () if item]


def _as_commit(item: dict[str, Any]) -> dict[str, Any]:
    """Bring a commit of a pull request's list into the shape of the timeline."""
    return {"event": "committed", "sha": item["sha"], **item["commit"]}


def named_shape(data: Any) -> str:
    """Return what JSON is that is no entry, as a message says it; empty where nobody knows."""
    if not isinstance(data, dict):
        return ""
    keys = data.keys()
    for name, value in () if {"title", "total_count"} & keys else data.items():
        if isinstance(value, list) and any(map(read_shape, value[:1])):
            return f"holds its entries in a list, {name!r}: save that list alone (jq .{name})"
    if "message" in keys and ("documentation_url" in keys or "status" in keys):
        return f"is GitHub's answer to a request that failed ({str(data['message'])[:80]})"
    if "backend_name" in keys:
        return f"is an item of Perceval's category {data.get('category')}"
    if "data" in keys or "nodes" in keys or "edges" in keys or "__typename" in keys:
        return "is a reply of GraphQL, not of REST"
    if ("number" in keys and "createdAt" in keys) or {"number", "title"} <= keys <= _OF_GH:
        return "is what gh issue list --json or gh pr list --json writes"
    if "items" in keys and "total_count" in keys:
        return "is a result of GitHub's search, which lists 1,000 at most"
    if "payload" in keys and "actor" in keys:
        return "is an event, as of GH Archive: read it with goldpan mine gharchive"
    if "action" in keys and ("issue" in keys or "pull_request" in keys):
        return "is what a webhook was sent"
    if "issue_url" in keys or "pull_request_url" in keys:
        return "is a comment, which belongs in its entry"
    if data.get("type") in ("issue", "pull_request") and "url" in keys:
        return "is of GitHub's migration archive, which numbers nothing"
    if "iid" in keys:
        return "is of GitLab"
    return ""


_OF_GH = {
    *("number", "title", "body", "state", "url", "author", "labels", "assignees", "comments", "id"),
    *("milestone", "stateReason", "closed", "isPinned", "reactionGroups", "projectItems", "files"),
    *("commits", "reviews", "headRefName", "baseRefName"),
}
"""Members that gh writes with --json, those aside that end in `At`."""
