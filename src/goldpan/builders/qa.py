"""Question answering out of issues (FAUN-Eval, sections 3.4.1 and 4.2, Figure 2a).

The issue's title and body are the question. The reference answer is one reply by a person other
than the asker: the earliest by somebody who speaks for the repository (owner, member,
collaborator), else by a contributor, else by anybody. A reply that only asks back gives way to
the next one of the same rank, if there is one. The whole dialogue is kept beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from goldpan.builders.context import BuildContext

EXPLAINED = {
    "answered": "the issue is open, or nobody but the asker and robots replied",
    "no-answer": "no reply holds any text",
}

_RANKS = {"owner": 0, "member": 0, "collaborator": 0, "contributor": 1}
_ASKS_BACK = re.compile(r"\?[\s)*_`]*\Z")

_DIALOGUES = """
SELECT i.number, i.title, i.body, i.author AS asker, i.author_association AS question_role,
       i.created_at, i.updated_at, i.closed_at, i.labels,
       t.comment_id, t.author, t.author_association AS role, t.created_at AS said_at, t.text
FROM kept k JOIN issues i ON i.number = k.issue
LEFT JOIN texts t ON t.number = i.number AND t.source = 'comment' AND NOT t.robot
ORDER BY i.number, t.created_at, t.comment_id
"""


def rows(stock: BuildContext) -> Iterator[dict[str, Any]]:
    """Yield an example for each kept issue that somebody answered."""
    shared = stock.repository()
    for number, group in groupby(stock.rows(_DIALOGUES), itemgetter("number")):
        said = list(group)
        issue = said[0]
        replies = [one for one in said if one["comment_id"] is not None and one["text"].strip()]
        answer = choose_answer(replies, issue["asker"])
        if answer is None:
            stock.dropped["no-answer"] += 1
            continue
        title, body = stock.text(issue["title"]), stock.text(issue["body"])
        dialogue = [_turn(issue["question_role"], f"{title}\n\n{body}", issue["created_at"], None)]
        for one in replies:
            text = stock.text(one["text"])
            dialogue.append(_turn(one["role"], text, one["said_at"], one["comment_id"]))
        yield {
            **shared,
            "id": f"qa:{shared['repo']}#{number}",
            "issue": number,
            "title": title,
            "body": body,
            "created_at": issue["created_at"],
            "updated_at": issue["updated_at"],
            "closed_at": issue["closed_at"],
            "labels": [stock.text(label) for label in issue["labels"] or ()],
            "question_role": issue["question_role"],
            "answer": dialogue[1 + replies.index(answer)]["content"],
            "answer_role": answer["role"],
            "answer_comment_id": answer["comment_id"],
            "answer_created_at": answer["said_at"],
            "dialogue": dialogue,
            "participants": len({one["author"] for one in replies} | {issue["asker"]}),
            "raw": stock.raw.get(number, ()),
        }


def choose_answer(replies: Sequence[dict[str, Any]], asker: str | None) -> dict[str, Any] | None:
    """Return the reply that answers, or None; `replies` are in order of time."""
    others = [one for one in replies if one["author"] is None or one["author"] != asker]
    if not others:
        return None
    best = min(_rank(one) for one in others)
    ranked = [one for one in others if _rank(one) == best]
    answering = [one for one in ranked if not _ASKS_BACK.search(one["text"])]
    return (answering or ranked)[0]


def _rank(reply: dict[str, Any]) -> int:
    return _RANKS.get(reply["role"] or "", 2)


def _turn(role: str | None, content: str, at: object, comment_id: int | None) -> dict[str, Any]:
    return {"role": role, "content": content, "created_at": at, "comment_id": comment_id}
