"""Parses the events of a timeline that GraphQL gave into rows."""

from __future__ import annotations

from typing import Any

from goldpan.miners.tables.api_references import End, add_link, subject_of
from goldpan.miners.tables.columns import inner
from goldpan.miners.tables.people import actor
from goldpan.miners.tables.rows import Rows
from goldpan.miners.tables.texts import add_commit

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
"""What the table of events holds, by GraphQL's names."""


def parse_event(rows: Rows, number: int, item: dict[str, Any], *, is_pull: bool) -> None:
    """Parse one event: what it says of references, commits and the entry's history."""
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
                add_link(
                    rows,
                    number,
                    signal,
                    subject_of(ends[0]),
                    subject_of(ends[1]),
                    at=at,
                    part="links",
                )
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
            commit = item["commit"]
            add_commit(
                rows,
                number,
                commit.get("oid"),
                commit.get("message"),
                commit.get("authoredDate"),
                commit.get("committedDate"),
            )
        case _ if kind not in EVENTS:
            rows.facets["unknown"].append((number, kind, rows.sequence))


def _history(rows: Rows, number: int, event: str, item: dict[str, Any]) -> None:
    person = actor(item.get("actor"))
    rows.facets["events"].append(
        (
            number,
            event,
            item.get("createdAt"),
            person.login,
            person.id,
            person.type,
            inner(item.get("label"), "name"),
            item.get("milestoneTitle"),
            actor(item.get("assignee")).login,
            item.get("previousTitle"),
            item.get("currentTitle"),
            rows.sequence,
        )
    )
