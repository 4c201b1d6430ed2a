"""Question answering out of issues (FAUN-Eval, sections 3.4.1 and 4.2, Figure 2a).

The issue's title and body are the question. The reference answer is one reply, chosen as the
criterion `answer` of the profile says; the whole dialogue is kept beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from goldpan.builders.context import BuildContext
from goldpan.filters.answers import Answer, Question, Reply, choose, rated_answers
from goldpan.filters.issues.answer import Settings, discussion_of

REVIEW = "question-answer"
"""The review that names the reply that answers."""

EXPLAINED: dict[str, str] = {
    "answered": "the issue is open, or nobody but the asker and bots replied",
    "answer": "no reply answers, by the rules of the criterion",
    "no-answer": "no reply is taken as the answer",
    "another-reply": "the review names another reply as the answer than the rules do",
    "no-reply-named": "the review confirms an answer and does not name the reply",
}

_DIALOGUES = """
SELECT i.number, i.title, i.body, i.author AS asker, i.author_association AS question_role,
       i.created_at, i.updated_at, i.closed_at, i.labels, c.actor AS closed_by,
       t.comment_id, t.author, t.author_association AS role, t.created_at AS said_at, t.text
FROM kept k JOIN issues i ON i.number = k.issue LEFT JOIN closings c USING (number)
LEFT JOIN texts t ON t.number = i.number AND t.source = 'comment' AND NOT t.robot
ORDER BY i.number, t.created_at, t.comment_id
"""


def rows(stock: BuildContext) -> Iterator[dict[str, Any]]:
    """Yield an example for each kept issue with a reply that answers."""
    shared = stock.repository()
    settings: Settings = stock.profile.settings["answer"]
    for _, group in groupby(stock.rows(_DIALOGUES), itemgetter("number")):
        comments = list(group)
        issue = comments[0]
        number, question, replies = discussion_of(comments)
        answers, reason = _answers(stock, settings, number, question, replies)
        if not answers:
            stock.dropped[reason] += 1
            continue
        title, body = stock.text(issue["title"]), stock.text(issue["body"])
        dialogue = [_turn(issue["question_role"], f"{title}\n\n{body}", issue["created_at"], None)]
        for reply in replies:
            text = stock.text(reply.text)
            dialogue.append(_turn(reply.role, text, reply.created_at, reply.comment_id))
        for answer in answers:
            name = f"qa:{shared['repo']}#{number}"
            yield {
                **shared,
                "id": f"{name}:{answer.reply.comment_id}" if settings.choice == "all" else name,
                "issue": number,
                "title": title,
                "body": body,
                "created_at": issue["created_at"],
                "updated_at": issue["updated_at"],
                "closed_at": issue["closed_at"],
                "labels": [stock.text(label) for label in issue["labels"] or ()],
                "question_role": issue["question_role"],
                "answer": dialogue[1 + replies.index(answer.reply)]["content"],
                "answer_role": answer.reply.role,
                "answer_comment_id": answer.reply.comment_id,
                "answer_created_at": answer.reply.created_at,
                "answer_points": answer.points,
                "answer_because": list(answer.because),
                "dialogue": dialogue,
                "participants": len({reply.author for reply in replies} | {issue["asker"]}),
                "raw": stock.raw.get(number, ()),
            }


def _answers(
    stock: BuildContext,
    settings: Settings,
    number: int,
    question: Question,
    replies: Sequence[Reply],
) -> tuple[Sequence[Answer], str]:
    """Return the replies that are taken as answers, and why there are none if so."""
    if stock.by_review:
        answers = {reply.comment_id: Answer(reply, None, ()) for reply in replies}
        rated = rated_answers(question, replies)
        answers |= {answer.reply.comment_id: answer for answer in rated}
        named = (stock.named or {}).get(number)
        return [answers[named]] if named in answers else [], "no-reply-named"
    chosen = choose(question, replies, settings.choice, settings.least)
    named = (stock.named or {}).get(number)
    if named is None or not chosen:
        return chosen, "no-answer"
    return [answer for answer in chosen if answer.reply.comment_id == named], "another-reply"


def _turn(role: str | None, content: str, at: object, comment_id: int | None) -> dict[str, Any]:
    return {"role": role, "content": content, "created_at": at, "comment_id": comment_id}
