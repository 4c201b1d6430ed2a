"""Question answering out of issues (FAUN-Eval, sections 3.4.1 and 4.2, Figure 2a) and discussions.

The title and the body are the question. The reference answer is one reply: of an issue chosen as
the criterion `answer` of the profile says, of a discussion the one that was accepted. The whole
dialogue is kept beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from goldpan.builders.context import REASONS, BuildContext
from goldpan.builders.label_facts import tier_of
from goldpan.filters.answers import Answer, AskedQuestion, IssueReply, choose, rated_answers
from goldpan.filters.criterion import Subject
from goldpan.filters.issues.answer import AnswerSettings, discussion_of

REVIEW = "question-answer"
"""The review that names the reply that answers."""

EXPLAINED: dict[str, str] = {
    "answered": "the issue is open, or nobody but the asker and bots replied",
    "answer": "no reply answers, by the rules of the criterion",
    "no-answer": "no reply is taken as the answer",
    "another-reply": "the review names another reply as the answer than the rules do",
    "no-reply-named": "the review confirms an answer and does not name the reply",
    "accepted": (
        "no answer to the discussion was accepted, or it was deleted, minimized or is a bot's"
    ),
    **REASONS,
}

_DIALOGUES = """
SELECT i.number, i.title, i.body, i.author AS asker, i.author_association AS question_role,
       i.created_at, i.updated_at, i.closed_at, i.labels, c.actor AS closed_by,
       'issues' AS source, NULL AS category, NULL AS answer_accepted_by, NULL AS answer_chosen_at,
       t.comment_id, t.author, t.author_association AS role, t.created_at AS said_at, t.text
FROM kept k JOIN issues i ON i.number = k.issue LEFT JOIN closings c USING (number)
LEFT JOIN texts t ON t.number = i.number AND t.source = 'comment' AND NOT t.robot
ORDER BY i.number, t.created_at, t.comment_id
"""

ACCEPTED_BY = """
CASE WHEN d.answer_chosen_by = i.author THEN 'asker'
     WHEN m.author IS NOT NULL THEN 'maintainer' ELSE 'other' END
"""
"""SQL for the role of whoever accepted an answer; that of a deleted account is `other`."""
_DISCUSSIONS = f"""
WITH maintainers AS (
  SELECT DISTINCT author FROM (
    SELECT author, author_association FROM entries
    UNION ALL SELECT author, author_association FROM comments
  ) WHERE author_association IN ('owner', 'member', 'collaborator')
)
SELECT i.number, i.title, i.body, i.author AS asker, i.author_association AS question_role,
       i.created_at, i.updated_at, i.closed_at, i.labels, NULL AS closed_by,
       t.comment_id, t.author, t.author_association AS role, t.created_at AS said_at, t.text,
       'discussions' AS source, d.answer_id, d.category, d.answer_chosen_at,
       {ACCEPTED_BY} AS answer_accepted_by
FROM kept k JOIN issues i ON i.number = k.issue JOIN discussions d USING (number)
LEFT JOIN maintainers m ON m.author = d.answer_chosen_by
LEFT JOIN texts t ON t.number = i.number AND t.source = 'comment' AND NOT t.robot
ORDER BY i.number, t.created_at, t.comment_id
"""  # noqa: S608 - no value is part of it
_AS_STORED = (
    *("created_at", "updated_at", "closed_at", "question_role"),
    *("source", "category", "answer_accepted_by", "answer_chosen_at"),
)
_SUBJECTS: dict[str, Subject] = {"issues": "issue", "discussions": "discussion"}


def subjects_of(sources: Sequence[str]) -> tuple[Subject, ...]:
    """Return the subjects of sources: issues where none is named."""
    return tuple(_SUBJECTS[source] for source in sorted(set(sources), reverse=True)) or ("issue",)


def rows(context: BuildContext) -> Iterator[dict[str, Any]]:
    """Yield an example for each kept issue or discussion with a reply that answers."""
    shared = context.repository()
    settings: AnswerSettings = context.profile.settings["answer"]
    of_discussions = context.subject == "discussion"
    query = _DISCUSSIONS if of_discussions else _DIALOGUES
    earlier = context.earlier()
    for _, group in groupby(context.rows(query), itemgetter("number")):
        comments = list(group)
        issue = comments[0]
        number, question, replies = discussion_of(comments)
        answers: Sequence[Answer]
        if of_discussions:
            chosen = [reply for reply in replies if reply.comment_id == issue["answer_id"]]
            answers, reason = [Answer(reply, None, ()) for reply in chosen], "accepted"
        else:
            answers, reason = _answers(context, settings, number, question, replies)
        if not answers:
            context.dropped[reason] += 1
            continue
        turns = [
            _turn(reply.role, context.text(reply.text), reply.created_at, reply.comment_id)
            for reply in replies
        ]
        of_all = settings.choice == "all" and not of_discussions
        by_review = context.request.answer == "reviewed"
        by_points = settings.choice == "best" and not by_review
        for answer in answers:
            texts: tuple[str, str] | str = issue["title"], issue["body"]
            if earlier:
                texts = earlier.question(number, answer.reply.created_at)
            if isinstance(texts, str):
                context.dropped[texts] += 1
                continue
            title, body = map(context.text, texts)
            opening = f"{title}\n\n{body}"
            first = _turn(issue["question_role"], opening, issue["created_at"], None)
            dialogue = [first, *turns]
            name = f"qa:{shared['repo']}#{number}"
            yield {
                **shared,
                "id": f"{name}:{answer.reply.comment_id}" if of_all else name,
                **{name: issue[name] for name in _AS_STORED},
                "issue": number,
                "title": title,
                "body": body,
                "labels": [context.text(label) for label in issue["labels"] or ()],
                "answer": dialogue[1 + replies.index(answer.reply)]["content"],
                "answer_role": answer.reply.role,
                "answer_comment_id": answer.reply.comment_id,
                "answer_created_at": answer.reply.created_at,
                "answer_tier": tier_of(answer.points) if by_points else None,
                "answer_points": answer.points,
                "answer_because": list(answer.because),
                "dialogue": dialogue,
                "participants": len({reply.author for reply in replies} | {issue["asker"]}),
                "raw": context.raw.get(number, ()),
            }


def _answers(
    context: BuildContext,
    settings: AnswerSettings,
    number: int,
    question: AskedQuestion,
    replies: Sequence[IssueReply],
) -> tuple[Sequence[Answer], str]:
    """Return the replies that are taken as answers, and why there are none if so."""
    if context.request.answer == "reviewed":
        answers = {reply.comment_id: Answer(reply, None, ()) for reply in replies}
        rated = rated_answers(question, replies)
        answers |= {answer.reply.comment_id: answer for answer in rated}
        named = (context.named or {}).get(number)
        return [answers[named]] if named in answers else [], "no-reply-named"
    chosen = choose(question, replies, settings.choice, settings.least)
    named = (context.named or {}).get(number)
    if named is None or not chosen:
        return chosen, "no-answer"
    return [answer for answer in chosen if answer.reply.comment_id == named], "another-reply"


def _turn(role: str | None, content: str, at: object, comment_id: int | None) -> dict[str, Any]:
    return {"role": role, "content": content, "created_at": at, "comment_id": comment_id}
