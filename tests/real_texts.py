"""The texts of a real repository's issues, pull requests and comments, for measuring against."""

from __future__ import annotations

import json
import lzma
from dataclasses import dataclass
from functools import cache

from tests.places import SECP256K1, needs_data

SOURCE = SECP256K1 / "entries.jsonl.xz"
needs_real_texts = needs_data(SOURCE)


@dataclass(frozen=True, slots=True)
class Entry:
    """What people wrote in one issue or pull request."""

    number: int
    is_issue: bool
    title: str
    body: str
    comments: tuple[str, ...]


@cache
def real_entries() -> tuple[Entry, ...]:
    """Return all entries of bitcoin-core/secp256k1."""
    with lzma.open(SOURCE) as lines:
        return tuple(_entry(json.loads(line)) for line in lines)


def real_texts() -> list[str]:
    """Return all titles, bodies and comments that say something."""
    return [
        text
        for entry in real_entries()
        for text in (entry.title, entry.body, *entry.comments)
        if text.strip()
    ]


def _entry(record: dict[str, object]) -> Entry:
    written = record["issue"] if record["type"] == "issue" else record["pull"]
    assert isinstance(written, dict)
    comments = [*_list(record.get("events")), *_list(record.get("comments"))]
    return Entry(
        number=written["number"],
        is_issue=record["type"] == "issue",
        title=written["title"],
        body=written.get("body") or "",
        comments=tuple(comment.get("body") or "" for comment in comments),
    )


def _list(value: object) -> list[dict[str, str]]:
    return value if isinstance(value, list) else []
