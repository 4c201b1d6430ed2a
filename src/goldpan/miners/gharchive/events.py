"""The events of GH Archive, in all shapes that it holds, as rows.

One Parquet file an hour holds the requested types of events; `hours.parquet` holds the state of
each hour. A null stands for a value that the event does not hold, never for zero.

Since 2015 an event holds its `actor`, its `repo` and, in its payload, all of the issue.
From 2012 to 2014 it names people by login and issues by number, with the repository as
`repository`; in 2011 both shapes come, with other dates. From October 2025 on a pull request
has neither title nor texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib import resources
from typing import Any

from goldpan.core.errors import UsageError
from goldpan.core.plugins.registry import unknown_name
from goldpan.core.schemas.table import count, table, text, texts, time
from goldpan.core.settings.file import read_toml
from goldpan.miners.replies import names_pull
from goldpan.miners.tables.columns import user

ARCHIVE_EVENTS = table(
    "archive_events",
    "",
    time("hour"),  # of the file; events lie up to some hours beside it until 2014
    count("line"),  # in the hour's file, from 1; objects joined on a line count each
    text("event_id"),  # null from 2012 to 2014
    text("type"),
    text("action"),  # lower case
    time("at"),
    text("repo"),
    count("repo_id"),
    count("number"),
    count("issue_id"),
    text("kind"),  # issue | pull
    text("title"),
    text("body"),
    text("state"),  # open | closed
    texts("labels"),
    text("author"),  # who wrote the issue; who wrote the comment is the actor
    text("author_type"),
    text("author_association"),
    text("actor"),
    time("created_at"),
    time("updated_at"),
    time("closed_at"),
    count("comment_id"),
    text("comment_body"),
    order=("hour", "line"),
)

ARCHIVE_HOURS = table(
    "archive_hours",
    "",
    time("hour"),
    text("file"),
    text("state"),  # whole | truncated | damaged | unreadable | missing | failed
    text("reason"),  # why it is not whole
    count("bytes"),  # of the file as it is on the server or disk
    text("sha256"),
    count("lines"),
    count("events"),  # kept
    count("corrupt"),  # lines that are no event
    texts("types"),  # the events that were asked for
    count("reader"),  # the version of the reader
    order=("hour",),
)

ISSUES = "IssuesEvent"
COMMENTS = "IssueCommentEvent"

TYPES: tuple[str, ...] = tuple(
    read_toml(resources.files(__package__) / "event_types.toml").values["types"]
)
"""Every type of event that GH Archive holds or once held."""


def event_types(names: Iterable[str]) -> tuple[str, ...]:
    """Return the named types, each once and sorted; raises `UsageError` for unknown ones."""
    types = sorted({name.strip() for name in names if name.strip()})
    if not types:
        raise UsageError("--event names no type of event", f"Give --event {ISSUES}")
    for name in types:
        if name not in TYPES:
            raise unknown_name("event", name, TYPES)
    return tuple(types)


_LARGEST = 2**63 - 1
_OLD_TIME = "%Y/%m/%d %H:%M:%S %z"
_ADDRESS = re.compile(r"/([\w.-]{1,100})/([\w.-]{1,100})/(?:issues|pull|pulls)/(\d{1,18})(?!\d)")
_REPO = re.compile(r"[^/\s]{1,100}/[^/\s]{1,200}")

Row = dict[str, object]


def read_event(event: dict[str, Any]) -> Row:
    """Return an event's row without `hour` and `line`; fields of another kind are null."""
    payload = _object(event.get("payload"))
    kind = event["type"]
    row: Row = {
        "event_id": _text(event.get("id")),
        "type": kind,
        "action": _lower(payload.get("action")),
        "at": _time(event.get("created_at")),
        "repo": _repo(event, payload),
        "repo_id": _number(_object(event.get("repo") or event.get("repository")).get("id")),
        "actor": _actor(event),
    }
    match kind:
        case "IssuesEvent" | "IssueCommentEvent":
            issue = _object(payload.get("issue"))
            row |= _entry(issue, event, payload)
            row["issue_id"] = (
                _number(issue.get("id"))
                or _number(payload.get("issue_id"))
                or _number(payload.get("issue"))
            )
            row["kind"] = "pull" if names_pull(issue) else "issue"
            if kind == COMMENTS:
                comment = _object(payload.get("comment"))
                id_ = comment.get("id") or payload.get("comment_id")
                row |= {"comment_id": _number(id_), "comment_body": _text(comment.get("body"))}
        case "PullRequestEvent":
            pull = _object(payload.get("pull_request"))
            row |= _entry(pull, event, payload)
            row |= {"issue_id": _number(pull.get("id")), "kind": "pull"}
    return row


def _entry(entry: dict[str, Any], event: dict[str, Any], payload: dict[str, Any]) -> Row:
    """Return the columns that an issue or a pull request fills."""
    person = user(_person(entry.get("user")))
    return {
        "number": _number(entry.get("number"))
        or _number(payload.get("number"))
        or _number_in(event.get("url")),
        "title": _text(entry.get("title")),
        "body": _text(entry.get("body")),
        "state": _lower(entry.get("state")),
        "labels": _labels(entry.get("labels")),
        "author": person.login,
        "author_type": person.type,
        "author_association": _lower(entry.get("author_association")),
        "created_at": _time(entry.get("created_at")),
        "updated_at": _time(entry.get("updated_at")),
        "closed_at": _time(entry.get("closed_at")),
    }


def _person(value: object) -> dict[str, Any] | None:
    person = _object(value)
    fields = {key: person.get(key) for key in ("login", "type")}
    is_readable = all(value is None or isinstance(value, str) for value in fields.values())
    return {**fields, "id": person.get("id")} if is_readable else None


def _labels(value: object) -> list[str] | None:
    if not isinstance(value, list):
        return None
    names = (_text(_object(label).get("name")) for label in value)
    return sorted(name for name in names if name is not None)


def _actor(event: dict[str, Any]) -> str | None:
    actor = event.get("actor")
    return _text(actor) or _text(user(_person(actor)).login)


def _repo(event: dict[str, Any], payload: dict[str, Any]) -> str | None:
    """Return OWNER/NAME, where the event lacks it, from an address within."""
    repository = _object(event.get("repository"))
    names = [_text(_object(event.get("repo")).get("name"))]
    if "owner" in repository:
        names.append(f"{repository.get('owner')}/{repository.get('name')}")
    for name in names:
        if name is not None and _REPO.fullmatch(name):
            return name
    entry = _object(payload.get("issue")) or _object(payload.get("pull_request"))
    for address in (entry.get("url"), event.get("url")):
        if match := _ADDRESS.search((_text(address) or "")[:1_000]):
            return f"{match[1]}/{match[2]}"
    return None


def _number_in(address: object) -> int | None:
    match = _ADDRESS.search((_text(address) or "")[:1_000])
    return int(match[3]) if match else None


def _time(value: object) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        if value[4:5] == "/":
            moment = datetime.strptime(value, _OLD_TIME)
        else:
            moment = datetime.fromisoformat(value)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _number(value: object) -> int | None:
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value <= _LARGEST else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _lower(value: object) -> str | None:
    return value.lower() if isinstance(value, str) else None


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
