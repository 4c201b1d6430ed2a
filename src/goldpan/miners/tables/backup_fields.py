"""Reads of a backup's entry only the fields that tables are made of.

Nine bytes of ten are addresses and the like. simdjson unpacks nothing that is not asked for, so
reading the rest takes less than half of what parsing all of it does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from goldpan.miners.backup_shapes import parser
from goldpan.miners.tables.rest_events import SUBJECTS

try:
    from simdjson import Array, Object
except ImportError:  # which has no build for this Python
    Array = Object = None  # type: ignore[misc, assignment]

Reader = Callable[[Any], Any]
Field = tuple[bytes, str, Reader | None]
"""A key, its name, and what reads its value where that is an object or a list."""

_EVENT: Any = b"event"
_NOBODY = ("", "ghost")  # who deleted their account


def read_fields(body: bytes) -> dict[str, Any] | None:
    """Return the fields of an entry of the one shape; None where it must be parsed as a whole.

    Each field is what parsing all of it gives, except where a key stands twice in an object: the
    first one is read then. Fields that are not there are not in the result either.
    """
    if Object is None:
        return None
    try:
        document = parser()(body)
        kind = document[b"type"]
        if kind not in ("issue", "pull"):
            return None
        fields = _sparse(document, _DOCUMENT)
        entry = fields.get(kind)
    except (ValueError, KeyError, TypeError, AttributeError, RuntimeError):
        return None
    return fields if isinstance(entry, dict) else None


def _fields(*names: str, **inner: Reader) -> tuple[Field, ...]:
    plain = [(name.encode(), name, None) for name in names]
    return (*plain, *((name.encode(), name, read) for name, read in inner.items()))


def _dense(value: Any, fields: tuple[Field, ...]) -> dict[str, Any]:
    """Read fields that are nearly always there: asking for one that is not takes long."""
    read = {}
    for key, name, inside in fields:
        try:
            item = value[key]
        except KeyError:
            continue
        if inside is not None:
            item = inside(item)
        elif type(item) in (Object, Array):
            item = _whole(item)
        read[name] = item
    return read


def _sparse(value: Any, fields: tuple[Field, ...]) -> dict[str, Any]:
    """Read fields of which many are not there."""
    there = set(value)
    return _dense(value, tuple(field for field in fields if field[1] in there))


def _whole(value: Any) -> Any:
    if type(value) is Object:
        return value.as_dict()
    return value.as_list() if type(value) is Array else value


def _object(*names: str, **inner: Reader) -> Reader:
    fields = _fields(*names, **inner)
    return lambda value: _dense(value, fields) if type(value) is Object else _whole(value)


def _sparse_object(*names: str, **inner: Reader) -> Reader:
    fields = _fields(*names, **inner)
    return lambda value: _sparse(value, fields) if type(value) is Object else _whole(value)


def _list(read: Reader) -> Reader:
    return lambda value: list(map(read, value)) if type(value) is Array else _whole(value)


def _list_of(texts: tuple[str, ...], *names: str) -> Reader:
    """Read a list of objects with some `texts`; all of it where one lacks: messages quote it."""
    read = _object(*texts, *names)

    def is_sound(item: Any) -> bool:
        return type(item) is dict and all(
            type(item.get(name)) is str and item[name] not in _NOBODY for name in texts
        )

    def read_list(value: Any) -> Any:
        if type(value) is not Array:
            return _whole(value)
        items = [read(item) for item in value]
        return items if all(map(is_sound, items)) else value.as_list()

    return read_list


def _event(value: Any) -> Any:
    if type(value) is not Object:
        return _whole(value)
    try:
        kind = value[_EVENT]
    except KeyError:
        return value.as_dict()
    if type(kind) is not str:
        return value.as_dict()
    fields = _OF_EVENT.get(kind)
    return {"event": kind} if fields is None else _dense(value, fields)


_PERSON = _object("login", "id", "type")
_NAME = _object("name")
_TITLE = _object("title")
_DATE = _object("date")
_BRANCH = _object("ref", "sha", repo=_object("full_name"))
_COMMENT = ("id", "author_association", "created_at", "updated_at", "body")

_ISSUE = (
    *("number", "title", "body", "state", "state_reason", "author_association", "created_at"),
    *("updated_at", "closed_at", "locked", "comments", "parent_issue_url"),
)
_PULL = (
    *("merged_at", "draft", "merge_commit_sha", "changed_files", "additions", "deletions"),
    *("commits", "review_comments"),
)
_INSIDE_ISSUE = {
    "user": _PERSON,
    "labels": _list_of(("name",)),
    "assignees": _list_of(("login", "type"), "id"),
    "milestone": _TITLE,
    "type": _NAME,
    "sub_issues_summary": _object("total"),
    "issue_dependencies_summary": _object("total_blocked_by", "total_blocking"),
    "pinned_comment": _object("id"),
}
_SUBJECT = {
    "label": _NAME,
    "milestone": _TITLE,
    "assignee": _PERSON,
    "rename": _object("from", "to"),
}
_OF_EVENT: dict[str, tuple[Field, ...]] = {
    **{
        kind: _fields("event", "created_at", actor=_PERSON, **{subject: _SUBJECT[subject]})
        for kind, subject in SUBJECTS.items()
    },
    **dict.fromkeys(
        ("assigned", "unassigned"),
        _fields("event", "created_at", actor=_PERSON, assigner=_PERSON, assignee=_PERSON),
    ),
    "reopened": _fields("event", "created_at", actor=_PERSON),
    "closed": _fields("event", "created_at", "commit_id", actor=_PERSON),
    "commented": _fields("event", *_COMMENT, user=_PERSON),
    "reviewed": _fields("event", *_COMMENT, "submitted_at", "state", user=_PERSON),
    "committed": _fields("event", "sha", "message", author=_DATE, committer=_DATE),
    "cross-referenced": _fields(
        "event",
        "created_at",
        source=_object(issue=_object("number", repository=_object("full_name"))),
    ),
}
"""What is read of an event; of all others only what they are."""

_ENTRY = _sparse_object(*_ISSUE, *_PULL, head=_BRANCH, base=_BRANCH, **_INSIDE_ISSUE)
_REVIEW_COMMENT = _object(
    *_COMMENT, "path", "pull_request_review_id", "in_reply_to_id", user=_PERSON
)
_DOCUMENT = _fields(
    "type",
    issue=_ENTRY,
    pull=_ENTRY,
    events=_list(_event),
    comments=_list(_REVIEW_COMMENT),
)
