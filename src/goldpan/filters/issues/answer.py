"""Criteria on answers: a reply that answers, any reply, or an accepted answer to a discussion."""

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
    comment_evidence,
    rated_answers,
)
from goldpan.filters.criterion import Criterion, NoSettings, answer_table, query_judge
from goldpan.filters.repo_view import RepoView


@dataclass(frozen=True, slots=True)
class AnswerSettings:
    """The reply that is the answer."""

    choice: Choice = "best"
    """`best`: the reply that the rules find best; `first`: the first of another person, of those
    who speak for the repository if there are any, else of contributors, where one that ends with a
    question gives way to the next; `all`: every reply of another that is no note."""
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
    evidence = comment_evidence(answer.reply.comment_id, ", ".join(answer.because))
    return {**row, "value": answer.points, "evidence": evidence}


ANSWER = Criterion(
    name="answer",
    subject="issue",
    definition="Keeps issues with a reply that answers, by rules that say why.",
    source="Goldpan: a quarter of first replies only mention, triage, thank or close",
    settings=AnswerSettings,
    judge=_judge,
    uses=("bots",),
    version=3,
)


@dataclass(frozen=True, slots=True)
class AnsweredSettings:
    """The conditions of an answered issue."""

    closed: bool = True
    """True where the issue must be closed: an open one may still wait for its answer."""


_ANSWERED = """
SELECT i.number AS issue, (NOT $closed OR i.state = 'closed') AND n > 0 AS keep,
       CASE WHEN n = 0 THEN 'no-reply'
            WHEN $closed AND i.state <> 'closed' THEN 'still-open' END AS reason,
       n AS value
FROM issues i JOIN (
  SELECT t.number,
         count(*) FILTER (t.source = 'comment' AND NOT t.robot
                          AND t.author IS DISTINCT FROM e.author) AS n
  FROM texts t JOIN entries e USING (number) GROUP BY t.number
) USING (number)
"""


ANSWERED = Criterion(
    name="answered",
    subject="issue",
    definition="Keeps closed issues with a reply by a person other than the asker.",
    source="Goldpan: a question without a reply has no reference answer",
    settings=AnsweredSettings,
    judge=query_judge(_ANSWERED),
    uses=("bots",),
)


_ACCEPTED = """
SELECT issue, reason IS NULL AS keep, reason,
       CASE WHEN answer_id IS NOT NULL THEN 'comment ' || answer_id || ': ' ELSE '' END ||
       CASE WHEN reason = 'answer-minimized'
              THEN 'minimized' || coalesce(' as ' || minimized_reason, '')
            WHEN answer_chosen_at IS NOT NULL
              THEN 'accepted by ' || coalesce(answer_chosen_by, 'a deleted account')
            ELSE 'category ' || coalesce(category, 'unknown') END AS evidence
FROM (
  SELECT i.number AS issue, d.answer_id, d.answer_chosen_at, d.answer_chosen_by, d.category,
         c.minimized_reason,
         CASE WHEN d.number IS NULL THEN 'not-mined'
              WHEN d.answer_id IS NULL AND (d.answer_chosen_at IS NOT NULL OR d.is_answered)
                THEN 'answer-deleted'
              WHEN d.answer_id IS NULL AND NOT d.is_answerable THEN 'category-without-answers'
              WHEN d.answer_id IS NULL THEN 'not-accepted'
              WHEN c.comment_id IS NULL THEN 'answer-not-mined'
              WHEN e.deleted_at IS NOT NULL THEN 'answer-deleted'
              WHEN c.minimized THEN 'answer-minimized'
              WHEN t.robot THEN 'answer-by-bot'
              WHEN coalesce(trim(c.body), '') = '' THEN 'answer-empty' END AS reason
  FROM issues i
  LEFT JOIN discussions d USING (number)
  LEFT JOIN comments c ON c.number = i.number AND c.kind = 'discussion_comment'
                      AND c.comment_id = d.answer_id
  LEFT JOIN discussion_comments e ON e.number = i.number AND e.comment_id = d.answer_id
  LEFT JOIN texts t ON t.number = i.number AND t.source = 'comment' AND t.comment_id = d.answer_id
)
"""


ACCEPTED = Criterion(
    name="accepted",
    subject="discussion",
    definition="Keeps discussions whose accepted answer is there, open to readers and a person's.",
    source="Goldpan: the asker or a maintainer says which reply answers, so nobody has to judge",
    settings=NoSettings,
    judge=query_judge(_ACCEPTED),
    uses=("bots",),
)
