"""Parses the events of a timeline that GraphQL gave into rows."""

from __future__ import annotations

from importlib import resources
from typing import Any, NamedTuple

from goldpan.core.settings.file import read_toml
from goldpan.miners.tables.columns import UnreadableValue, actor, inner
from goldpan.miners.tables.rows import Rows, add_commit

SUBJECTS = {
    "labeled": "label",
    "unlabeled": "label",
    "milestoned": "milestone",
    "demilestoned": "milestone",
    "assigned": "assignee",
    "unassigned": "assignee",
    "renamed": "rename",
}
"""The field that holds the subject of each event in an entry's history."""
WITHOUT_ROWS = frozenset(
    read_toml(resources.files(__package__) / "events_without_rows.toml").values["events"]
)
"""Events of which no table has rows."""


class End(NamedTuple):
    """One end of a link: an entry, or only a repository where the number is null."""

    repo: Any
    number: Any = None


def add_link(
    rows: Rows,
    observed_on: int,
    signal: str,
    source: End,
    target: End,
    *,
    at: str | None = None,
    sha: str | None = None,
    part: str = "timeline",
) -> None:
    """Add a reference from `source` to `target` that the data of `observed_on` shows.

    `part` says what supersedes it: "timeline" a timeline that any path reads, "links" only an
    entry read over GraphQL, for what REST cannot tell, "entry" the entry itself; "sub_issues",
    "blocked_by" and "blocking" are lists of their own.
    """
    link = (*source, *target, sha, signal, observed_on, at)
    evidence = (part, None, None, None, None)
    rows.facets["links"].append((*link, None, None, None, *evidence, part, rows.sequence))


def add_relation(rows: Rows, number: int, part: str, other: End) -> None:
    """Add a relation of an issue: to one of its parts, to a blocker, or to an issue it blocks."""
    own = End(rows.repo, number)
    source, target = (other, own) if part == "blocking" else (own, other)
    signal = "sub_issue" if part == "sub_issues" else "blocked_by"
    add_link(rows, number, signal, source, target, part=part)


def subject_of(data: Any) -> End:
    """Return the entry that GraphQL names, or an end without one."""
    if not isinstance(data, dict):
        return End(None if data is None else UnreadableValue(data))
    if "number" not in data:
        return End(None)
    return End(inner(data.get("repository"), "nameWithOwner"), data["number"])


_COMMIT = ("oid", "message", "authoredDate", "committedDate")
EVENTS = {
    "LabeledEvent": "labeled",
    "UnlabeledEvent": "unlabeled",
    "MilestonedEvent": "milestoned",
    "DemilestonedEvent": "demilestoned",
    "AssignedEvent": "assigned",
    "UnassignedEvent": "unassigned",
    "ClosedEvent": "closed",
    "ReopenedEvent": "reopened",
    "RenamedTitleEvent": "renamed",
}
"""Names in the table of events, by GraphQL's type names."""


def parse_event(rows: Rows, number: int, item: dict[str, Any], *, is_pull: bool) -> None:
    """Parse one event: its references, its commit and its part in the entry's history."""
    kind, own, at = item["__typename"], End(rows.repo, number), item.get("createdAt")
    if kind in EVENTS:
        _history(rows, number, EVENTS[kind], item)
    match kind:
        case "CrossReferencedEvent":
            source = subject_of(item.get("source"))
            if source.number:
                add_link(rows, number, "cross_referenced", source, own, at=at)
                if item.get("willCloseTarget"):
                    add_link(rows, number, "will_close", source, own, at=at, part="links")
        case "ConnectedEvent" | "DisconnectedEvent":
            ends = [end for end in (item.get("source"), item.get("subject")) if end]
            ends.sort(key=lambda end: end["__typename"] != "PullRequest")
            if len(ends) == 2:
                signal = "connected" if kind == "ConnectedEvent" else "disconnected"
                source, target = map(subject_of, ends)
                add_link(rows, number, signal, source, target, at=at, part="links")
        case "ClosedEvent":
            closer = item.get("closer")
            if closer and closer["__typename"] == "PullRequest":
                add_link(rows, number, "closed_by", subject_of(closer), own, at=at, part="links")
            elif closer and closer["__typename"] == "Commit":
                source = End(rows.repo)
                add_link(rows, number, "closed_by", source, own, at=at, sha=closer["oid"])
        case "MarkedAsDuplicateEvent" | "UnmarkedAsDuplicateEvent":
            source, target = subject_of(item.get("duplicate")), subject_of(item.get("canonical"))
            if source.number and target.number:
                signal = "marked_as_duplicate"
                if kind == "UnmarkedAsDuplicateEvent":
                    signal = "unmarked_as_duplicate"
                add_link(rows, number, signal, source, target, at=at, part="links")
        case "TransferredEvent":
            source = End(inner(item.get("fromRepository"), "nameWithOwner"))
            add_link(rows, number, "transferred_from", source, own, at=at, part="links")
        case "PullRequestCommit":
            add_commit(rows, number, *map(item["commit"].get, _COMMIT))
        case _ if kind not in EVENTS:
            rows.facets["unknown"].append((number, kind, rows.sequence))


def _history(rows: Rows, number: int, event: str, item: dict[str, Any]) -> None:
    label, assignee = inner(item.get("label"), "name"), actor(item.get("assignee")).login
    titles = item.get("previousTitle"), item.get("currentTitle")
    subjects = (label, item.get("milestoneTitle"), assignee, *titles)
    happened = (number, event, item.get("createdAt"), *actor(item.get("actor")))
    rows.facets["events"].append((*happened, *subjects, rows.sequence))
