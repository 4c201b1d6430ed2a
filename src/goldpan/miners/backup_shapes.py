"""The shapes in which backup tools write an entry, brought into one.

That one is ``{"type": "issue" | "pull", "issue" or "pull": {...}, "events": [...],
"comments": [...]}``: the events are the entry's timeline, the comments a pull request's review
comments. python-github-backup instead adds lists to the object that REST gives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import orjson

from goldpan.text.keywords import LARGEST_NUMBER

_OBJECT = {"number", "title", "user", "state", "created_at"}


@dataclass(frozen=True, slots=True)
class Glance:
    """What must be known of an entry to archive it."""

    kind: str
    number: int
    base: Any
    """The name of the repository that a pull request is for, where it tells."""


def glance(body: bytes) -> Glance | None:
    """Read an entry of the one shape without unpacking all of it; None where one must look closer.

    The whole text is known to be JSON then, for a quarter of the time that parsing it takes.
    """
    try:
        document = parser()(body)
        kind = document["type"]
        if kind not in ("issue", "pull"):
            return None
        entry = document[kind]
        number = entry["number"]
        if type(number) is not int or not 0 < number <= LARGEST_NUMBER:
            return None
        base = entry.get("base") if kind == "pull" else None
        repo = base.get("repo") if base is not None else None
        return Glance(kind, number, repo.get("full_name") if repo is not None else None)
    except (ValueError, KeyError, TypeError, AttributeError, RuntimeError):
        return None


@cache
def parser() -> Callable[[bytes], Any]:
    """Return simdjson's parser, which makes no Python objects, or orjson's where it is not."""
    try:
        parse: Callable[[bytes], Any] = import_module("simdjson").Parser().parse
    except ImportError:
        return orjson.loads
    return parse


def read_shape(data: Any) -> dict[str, Any] | None:
    """Return an entry in the one shape; None for JSON that means to be no entry."""
    if not isinstance(data, dict):
        return None
    if data.get("type") in ("issue", "pull"):
        return data
    if not data.keys() >= _OBJECT:
        return None
    if "head" in data and "base" in data:
        return {
            "type": "pull",
            "pull": data,
            "events": [
                *_as_events(data.get("comment_regular_data"), "commented"),
                *_as_events(data.get("review_data"), "reviewed"),
                *map(_as_commit, data.get("commit_data") or ()),
            ],
            "comments": data.get("comment_data"),
        }
    if "pull_request" in data:  # only a pull request's half: without branches and commits
        return None
    comments = _as_events(data.get("comment_data"), "commented")
    events = data.get("timeline_data") or data.get("event_data") or []
    return {"type": "issue", "issue": data, "events": [*comments, *events]}


def _as_events(items: list[dict[str, Any]] | None, name: str) -> list[dict[str, Any]]:
    return [{**item, "event": name} for item in items or ()]


def _as_commit(item: dict[str, Any]) -> dict[str, Any]:
    """Bring a commit of a pull request's list into the shape of the timeline."""
    return {"event": "committed", "sha": item["sha"], **item["commit"]}
