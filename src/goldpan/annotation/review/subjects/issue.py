"""Issues as question and answer (FAUN-Eval, section 3.3.3)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

from goldpan.annotation.review.answer import ReviewItem, SubjectKind
from goldpan.filters.repo_view import RepoView
from goldpan.llm.parts import Part

_FIRST, _LAST = 40, 24
"""Replies that are shown of a long discussion, from its beginning and its end."""
_ROLES = frozenset(("owner", "member", "collaborator", "contributor", "first_time_contributor"))
_DISCUSSIONS = """
SELECT i.number, i.title, i.body, i.author AS asker, t.comment_id, t.author,
       t.author_association AS role, t.text
FROM kept k JOIN issues i ON i.number = k.issue
LEFT JOIN texts t ON t.number = i.number AND t.source = 'comment' AND NOT t.robot
ORDER BY i.number, t.created_at, t.comment_id
"""
_BATCH = 256


def read(view: RepoView) -> Iterator[ReviewItem]:
    """Yield each kept issue with its discussion; who is named by role alone."""
    rows = (
        row
        for batch in view.connection.sql(_DISCUSSIONS).to_arrow_reader(_BATCH)
        for row in batch.to_pylist()
    )
    for number, group in groupby(rows, itemgetter("number")):
        comments = list(group)
        replies = [row for row in comments if row["comment_id"] is not None]
        yield ReviewItem(
            view.repo,
            "issue",
            number,
            None,
            None,
            (*question(comments[0]), *_reply_parts(replies, comments[0]["asker"])),
            comment_ids=tuple(row["comment_id"] for row in replies),
        )


def question(issue: dict[str, Any]) -> tuple[Part, Part]:
    """Return an issue's title and body as parts."""
    return Part("issue title", issue["title"] or ""), Part("issue body", issue["body"] or "")


def _reply_parts(replies: list[dict[str, Any]], asker: str | None) -> list[Part]:
    parts = []
    for number, reply in enumerate(replies, 1):
        if _FIRST < number <= len(replies) - _LAST:
            continue
        who = reply["role"] if reply["role"] in _ROLES else "somebody else"
        if reply["author"] is not None and reply["author"] == asker:
            who = "the asker"
        parts.append(Part(f"reply {number} of {len(replies)} by {who}", reply["text"]))
    return parts


KIND = SubjectKind("issue", "question-answer", ("answered",), read)
