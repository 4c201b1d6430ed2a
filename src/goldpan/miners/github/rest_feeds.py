"""The lists that REST has for a whole repository, and the facts read off their items."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from goldpan.text.keywords import find_mentions

RELATIONS = {
    "sub_issues": "sub_issues",
    "blocked_by": "dependencies/blocked_by",
    "blocking": "dependencies/blocking",
}
"""Lists of an issue that are asked for only where the issue says that they hold something."""


@dataclass(frozen=True, slots=True)
class Feed:
    """A repo-level list: its part name, path, fixed parameters and how to summarize an item."""

    part: str
    path: str
    fixed: dict[str, str]
    item: Callable[[dict[str, Any]], list[Any]]
    takes_since: bool = True

    def can_list(self, item: Any) -> bool:
        """Tell whether an item can be listed; the archive keeps others as they came."""
        try:
            identity, updated, *_ = self.item(item)
        except (KeyError, TypeError):
            return False
        return isinstance(identity, int) and isinstance(updated, str)


ISSUES = Feed(
    "issues",
    "issues",
    {"state": "all"},
    lambda item: [item["number"], item["updated_at"], "pull_request" in item],
)
PULLS = Feed(
    "pulls",
    "pulls",
    {"state": "all"},
    lambda item: [item["number"], item["updated_at"], item["head"]["sha"], item["base"]["sha"]],
    takes_since=False,
)
COMMENTS = Feed("comments", "issues/comments", {}, lambda item: [item["id"], item["updated_at"]])
REVIEW_COMMENTS = Feed(
    "review_comments", "pulls/comments", {}, lambda item: [item["id"], item["updated_at"]]
)
FEEDS = (ISSUES, PULLS, COMMENTS, REVIEW_COMMENTS)


def relations_of(items: list[Any]) -> dict[str, list[str]]:
    """Return, by entry number, the lists of relations that issues say hold something."""
    relations: dict[str, list[str]] = {}
    for item in items:
        if not isinstance(item, dict):
            continue
        dependencies = item.get("issue_dependencies_summary") or {}
        counts = {
            "sub_issues": (item.get("sub_issues_summary") or {}).get("total"),
            "blocked_by": dependencies.get("total_blocked_by") or dependencies.get("blocked_by"),
            "blocking": dependencies.get("total_blocking") or dependencies.get("blocking"),
        }
        parts = [part for part, count in counts.items() if count]
        if parts and isinstance(item.get("number"), int):
            relations[str(item["number"])] = parts
    return relations


def mentions_of(items: list[Any], repo: str) -> dict[int, str]:
    """Return the entries of this repository that items name, with the time of the newest item."""
    updated_at: dict[int, str] = {}
    for item in items:
        if not isinstance(item, dict):
            continue
        updated = str(item.get("updated_at") or "")
        for text in (item.get("title"), item.get("body")):
            for mention in find_mentions(text) if isinstance(text, str) else ():
                if mention.repo is None or mention.repo.lower() == repo.lower():
                    updated_at[mention.number] = max(updated, updated_at.get(mention.number, ""))
    return updated_at
