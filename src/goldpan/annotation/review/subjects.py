"""Subjects that models review: issues with an answer, fix pairs (FAUN-Eval, section 3.3.3)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import Any, Literal

from goldpan.filters.criterion import Subject
from goldpan.filters.repo_view import RepoView
from goldpan.git.trees import patches
from goldpan.llm.parts import Part

ReviewSubject = Literal["issue", "pair", "label"]
"""The subjects of the filters, and the labels of classification examples."""


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """A subject as a model sees it."""

    repo: str
    subject: ReviewSubject
    issue: int | None = None
    pull_repo: str | None = None
    pull: int | None = None
    parts: tuple[Part, ...] = ()
    obstacle: str | None = None
    """Why nobody needs to be asked: the texts to judge by are not there."""
    example: str | None = None
    """The id of the example whose label is judged."""
    suspicions: tuple[str, ...] = ()
    """Possible attempts to steer the model, a line each."""
    comment_ids: tuple[int, ...] = ()
    """The ids of all replies, in the order of their numbers, by which models name them."""


@dataclass(frozen=True, slots=True)
class SubjectKind:
    """A kind of subject that models can review."""

    subject: Literal["issue", "pair"]
    prompt: str
    """The name of its prompt, which is the criterion's name in the verdicts."""
    required: tuple[str, ...]
    """Criteria that a subject has to pass, whether or not the profile lets them decide."""
    read: Callable[[RepoView], Iterator[ReviewItem]]
    """Yields a case for each row of the view `kept`: issue, pull_repo, pull."""


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
_ISSUES_AT_ONCE = 256


def _read_issues(view: RepoView) -> Iterator[ReviewItem]:
    """Yield each kept issue with its discussion; who is named by role alone."""
    rows = (
        row
        for batch in view.connection.sql(_DISCUSSIONS).to_arrow_reader(_ISSUES_AT_ONCE)
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
            (*_question(comments[0]), *_reply_parts(replies, comments[0]["asker"])),
            comment_ids=tuple(row["comment_id"] for row in replies),
        )


def _question(issue: dict[str, Any]) -> tuple[Part, Part]:
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


_ISSUE = SubjectKind("issue", "question-answer", ("answered",), _read_issues)


_PAIRS_AT_ONCE = 64
_FILES = 30
"""Changed files that are shown."""
_LONGEST = 200_000
"""Characters of one file's diff that are looked at: a diff, unlike other texts, has no limit."""
_FILE = re.compile(r"^(?=diff --git )", re.M)
_PAIRS = """
SELECT k.issue, k.pull_repo, k.pull, i.title, i.body, p.title AS pull_title, p.body AS pull_body,
       r.merge_base, r.after_sha
FROM kept k JOIN issues i ON i.number = k.issue
LEFT JOIN pulls p ON p.number = k.pull AND lower(k.pull_repo) = lower($repo)
LEFT JOIN revisions r ON r.number = p.number
ORDER BY k.issue, k.pull_repo, k.pull
"""


def _read_pairs(view: RepoView) -> Iterator[ReviewItem]:
    """Yield each kept pair with its diff; without a diff nobody can judge it."""
    relation = view.connection.sql(_PAIRS, params={"repo": view.repo})
    clone = view.workspace.clone(view.repo)
    cloned = clone.exists()
    for batch in relation.to_arrow_reader(_PAIRS_AT_ONCE):
        rows = batch.to_pylist()
        cloned_rows = [row for row in rows if cloned and row["merge_base"] and row["after_sha"]]
        spans = [(row["pull"], row["merge_base"], row["after_sha"]) for row in cloned_rows]
        diffs = patches(clone, spans) if spans else iter(())
        for row in rows:
            yield _case(view.repo, row, next(diffs).text if row in cloned_rows else None)


def _case(repo: str, row: dict[str, Any], patch: str | None) -> ReviewItem:
    case = ReviewItem(repo, "pair", row["issue"], row["pull_repo"], row["pull"])
    if not patch:
        return replace(case, obstacle="no-diff")
    files = [file for file in _FILE.split(patch) if file.strip()]
    return replace(
        case,
        parts=(
            *_question(row),
            Part("pull request title", row["pull_title"] or ""),
            Part("pull request body", row["pull_body"] or ""),
            *(
                Part(f"change {number} of {len(files)}", file[:_LONGEST], "code")
                for number, file in enumerate(files[:_FILES], 1)
            ),
        ),
    )


_PAIR = SubjectKind("pair", "problem-solution", (), _read_pairs)

KINDS: dict[Subject, SubjectKind] = {kind.subject: kind for kind in (_ISSUE, _PAIR)}
PROMPTS: dict[ReviewSubject, str] = {
    **{kind.subject: kind.prompt for kind in KINDS.values()},
    "label": "label",
}
"""The prompt by which each kind of case is judged."""
