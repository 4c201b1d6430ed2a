"""Keeps issues with a reply that answers."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

import pyarrow as pa

from goldpan.filters.answers import (
    LEAST,
    Answer,
    AskedQuestion,
    Choice,
    IssueReply,
    choose,
    choose_rated,
    of_comment,
    rated_answers,
)
from goldpan.filters.criterion import Criterion, answer_table
from goldpan.filters.repo_view import RepoView


@dataclass(frozen=True, slots=True)
class AnswerSettings:
    """Which reply is the answer."""

    choice: Choice = "best"
    """`best`: the reply that the rules find best; `first`: the first of another person, of those
    who speak for the repository if there are any; `all`: every reply of another that is no note."""
    least: int = LEAST
    """The points that the best reply needs."""


_DISCUSSIONS = """
SELECT i.number, i.author AS asker, i.title, i.body, i.closed_at, c.actor AS closed_by,
       t.comment_id, t.author, t.author_association AS role, t.created_at AS said_at, t.text
FROM issues i LEFT JOIN closings c USING (number)
LEFT JOIN texts t ON t.number = i.number AND t.source = 'comment' AND NOT t.robot
                  AND length(trim(t.text)) > 0
ORDER BY i.number, t.created_at, t.comment_id
"""


def _judge(view: RepoView, settings: AnswerSettings) -> pa.Table:
    verdicts = [
        _verdict(*discussion_of(list(group)), settings)
        for _, group in groupby(view.rows(_DISCUSSIONS), itemgetter("number"))
    ]
    return answer_table(verdicts, "issue")


def discussion_of(rows: list[dict[str, Any]]) -> tuple[int, AskedQuestion, list[IssueReply]]:
    """Return an issue's number, what it asks and its replies from rows of a query.

    A row is a reply, or an issue without one: number, asker, title, body, closed_at, closed_by and
    comment_id, author, role, said_at, text.
    """
    issue = rows[0]
    question = AskedQuestion(
        issue["asker"],
        issue["title"] or "",
        issue["closed_at"],
        issue["closed_by"],
        issue["body"] or "",
    )
    replies = [
        IssueReply(row["comment_id"], row["author"], row["role"], row["said_at"], row["text"])
        for row in rows
        if row["comment_id"] is not None and row["text"].strip()
    ]
    return issue["number"], question, replies


def _verdict(
    number: int, question: AskedQuestion, replies: list[IssueReply], settings: AnswerSettings
) -> dict[str, Any]:
    rated: list[Answer] = []
    if settings.choice == "first":
        answers = choose(question, replies, settings.choice)
    else:  # rating is what takes the time
        rated = rated_answers(question, replies)
        answers = choose_rated(question, rated, settings.choice, settings.least)
    if answers:
        return _row(number, True, None, max(answers, key=_points))
    if not any(reply.author is None or reply.author != question.author for reply in replies):
        return _row(number, False, "no-reply", None)
    best = max(rated, key=_points, default=None)
    return _row(number, False, "only-notes" if best is None else "no-clear-answer", best)


def _points(answer: Answer) -> int:
    return answer.points or 0


def _row(number: int, keep: bool, reason: str | None, answer: Answer | None) -> dict[str, Any]:
    row = {"issue": number, "keep": keep, "reason": reason}
    if answer is None:
        return row
    evidence = of_comment(answer.reply.comment_id, ", ".join(answer.because))
    return {**row, "value": answer.points, "evidence": evidence}


CRITERION = Criterion(
    name="answer",
    subject="issue",
    definition="Keeps issues with a reply that answers, by rules that say why.",
    source="Goldpan: of the first replies a quarter only mention, triage, thank or close",
    settings=AnswerSettings,
    judge=_judge,
    uses=("bots",),
    version=2,
)
