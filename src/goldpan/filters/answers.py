"""The reply that answers an issue, chosen by rules that give their reasons.

A reply that only mentions people, triages, closes, thanks, announces or asks back is no answer.
The others earn points for traits of answers: the first reply of another person, by somebody who
knows the repository, with steps, reasons and code, with words of the title, thanked for or
confirmed, or closing the issue; and lose points for traits of discussions. The best reply answers
if it reaches the threshold. The weights come from `tests/gold`; docs/labels.md says how often the
choice is right.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import dropwhile
from typing import Literal

from goldpan.text.remarks import Remarks, read_remarks

Choice = Literal["best", "first", "all"]
"""The replies that are answers: the `best` by the rules above, if it is good enough; the `first` of
another person, of those who speak for the repository if there are any; `all` that are no notes."""

LEAST = 9
"""The points from which on a reply is taken as the answer."""

_FEWEST_WORDS = 5  # with fewer a reply without code is a note
_RANKS = {"owner": 0, "member": 0, "collaborator": 0, "contributor": 1}
_ASKS_BACK = re.compile(r"\?[\s)*_`]*\Z")
_KNOWS = frozenset({"owner", "member", "collaborator", "contributor"})
_AT_CLOSE = timedelta(minutes=2)
_LATE = 3  # replies before it from which on a reply is late in the discussion
_LONG = 4  # replies after it
_TERM = re.compile(r"[a-z_]{4,}")
_PLAN = re.compile(
    r"\b(?:discussion|track(?:er|ing)|meta|design|rfc|roadmap|checklist|to-?do|ideas?|proposal"
    r"|umbrella|follow-?ups?|brainstorm\w*)\b",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"\W*(?:questions?|how|why|what|who|(?:is|are|does|do|did|can|could|should|would)"
    r"(?!['’]|n't| not))\b",
    re.IGNORECASE,
)
_WISHES = re.compile(
    r"\W*(?:[\w/-]{1,30}: )?(?:add|allow|avoid|bring|change|clean|consider|document|drop|enable"
    r"|expose|feature|implement|improve|include|increase|introduce|make|merge|move|policy|propos\w{1,4}"
    r"|provide|publish|reduce|refactor|release|remove|rename|replace|request|split|suggest\w{0,4}"
    r"|support|switch|update|use|write)\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"^[ \t]{0,3}(?:>[ \t]?)+(\S.{15,})$", re.MULTILINE)
_COMMENT = re.compile(r"comment ([0-9]{1,18})(?::|\Z)")
_ALIKE = 40  # characters by which a quoted line is known again


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """The parts of an issue that tell which reply answers it."""

    author: str | None
    title: str
    closed_at: datetime | None
    closed_by: str | None
    body: str = ""


@dataclass(frozen=True, slots=True)
class IssueReply:
    """A comment on an issue, not by a bot; replies are in order of time."""

    comment_id: int
    author: str | None
    role: str | None
    created_at: datetime
    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply with its points, and why it has them; none where the rule is to take the first."""

    reply: IssueReply
    points: int | None
    because: tuple[str, ...]


def choose(
    question: AskedQuestion, replies: Sequence[IssueReply], choice: Choice, least: int = LEAST
) -> tuple[Answer, ...]:
    """Return the replies that are taken as answers, in order of time; none where none is."""
    if choice == "first":
        reply = first_answer(question, replies)
        return (Answer(reply, None, ()),) if reply else ()
    return choose_rated(question, rated_answers(question, replies), choice, least)


def choose_rated(
    question: AskedQuestion, answers: Sequence[Answer], choice: Choice, least: int = LEAST
) -> tuple[Answer, ...]:
    """Return the rated replies that are taken as answers, by any choice but `first`."""
    if choice == "all":
        return tuple(
            answer
            for answer in answers
            if answer.reply.author is None or answer.reply.author != question.author
        )
    best = max(answers, key=lambda answer: answer.points or 0, default=None)
    return (best,) if best and best.points is not None and best.points >= least else ()


def comment_evidence(comment_id: int, text: str) -> str:
    """Return the evidence of a verdict that a reply answers: its id, and a text."""
    return f"comment {comment_id}: {text}" if text else f"comment {comment_id}"


def named_comment(evidence: str | None) -> int | None:
    """Return the id of the reply that `comment_evidence` names, if the evidence names one."""
    named = _COMMENT.match(evidence or "")
    return int(named[1]) if named else None


def first_answer(question: AskedQuestion, replies: Sequence[IssueReply]) -> IssueReply | None:
    """Return the earliest reply by who speaks for the repository, else a contributor, else anybody.

    A reply that ends with a question gives way to the next of the same rank, if there is one.
    """
    others = [reply for reply in replies if reply.author is None or reply.author != question.author]
    if not others:
        return None
    best = min(_rank(reply) for reply in others)
    ranked = [reply for reply in others if _rank(reply) == best]
    return next(dropwhile(lambda reply: _ASKS_BACK.search(reply.text), ranked), ranked[0])


def _rank(reply: IssueReply) -> int:
    return _RANKS.get(reply.role or "", 2)


def rated_answers(question: AskedQuestion, replies: Sequence[IssueReply]) -> list[Answer]:
    """Return the replies that are no notes, in order of time, with their points."""
    remarks = [read_remarks(reply.text) for reply in replies]
    title = set(_TERM.findall(question.title.lower()))
    question_points = _question_points(question)
    quotes = [_quotes(reply.text) for reply in replies]
    texts: set[str] = set()
    rated = []
    for index, reply in enumerate(replies):
        if not is_note(remarks[index]):
            points = {**_reply_points(question, replies, remarks, index, title), **question_points}
            points["to another reply"] = -1 if quotes[index] & texts else 0
            because = tuple(reason for reason, count in points.items() if count > 0)
            rated.append(Answer(reply, sum(points.values()), because))
        if any(quotes[index + 1 :]):
            texts.update(line.strip()[:_ALIKE] for line in reply.text.split("\n"))
    return rated


def _quotes(text: str) -> set[str]:
    """Return the beginnings of the lines that a reply quotes."""
    return {line.strip()[:_ALIKE] for line in _QUOTED.findall(text)} if ">" in text else set()


def _question_points(question: AskedQuestion) -> dict[str, int]:
    """Return the points of every reply for the kind of issue.

    A question has an answer more often than a report, and a wish has opinions.
    """
    asks = (
        question.title.rstrip().endswith("?")
        or question.body.rstrip().endswith("?")
        or _ASKS.match(question.title) is not None
    )
    wish = not asks and _WISHES.match(question.title) is not None
    return {
        "a question": 2 if asks else 0,
        "a wish, no question": -2 if wish else 0,
        "a plan, no question": -2 if _PLAN.search(question.title) else 0,
    }


def is_note(remarks: Remarks) -> bool:
    """Return whether a reply says nothing of its own, or mostly asks."""
    if remarks.question_words * 2 > remarks.words:
        return True
    return remarks.statement_words < _FEWEST_WORDS and not remarks.code and not remarks.solved


def _reply_points(
    question: AskedQuestion,
    replies: Sequence[IssueReply],
    remarks: Sequence[Remarks],
    index: int,
    title: set[str],
) -> dict[str, int]:
    """Return the points of a reply by their reasons."""
    reply, remark = replies[index], remarks[index]
    asker = reply.author is not None and reply.author == question.author
    earlier = any(
        before.author != question.author and not is_note(note)
        for before, note in zip(replies[:index], remarks, strict=False)
    )
    shared = len(title & set(_TERM.findall(reply.text.lower())))
    closes = (
        question.closed_at is not None
        and reply.author is not None
        and reply.author == question.closed_by
        and abs(question.closed_at - reply.created_at) < _AT_CLOSE
        and remark.words >= 10
    )
    third = remark.addressed is not None and remark.addressed != (question.author or "").lower()
    return {
        "first reply of another": 2 if not asker and not earlier else 0,
        "knows the repository": 2 if (reply.role or "") in _KNOWS else 0,
        "closes the issue with it": 2 if closes else 0,
        "code": 2 if remark.code else 1 if remark.spans else 0,
        "steps": 2 if remark.steps else 0,
        "reasons": 1 if remark.reasons else 0,
        "says what solved it": 1 if remark.solved else 0,
        "length": (remark.statement_words >= 10) + (remark.statement_words >= 25),
        "words of the title": min(shared, 2),
        "confirmed": 2 if _confirmed(question, replies, remarks, index) else 0,
        "by the asker": -2 if asker and not remark.solved else 0,
        "thanks": -2 if remark.thanks else 0,
        "asks": -1 if remark.question_words else 0,
        "addressed to a third": -1 if third else 0,
        "quotes much": -1 if remark.quotes >= 3 else 0,
        "late": -1 if index >= _LATE else 0,
        "long discussion": -2 if len(replies) - index - 1 >= _LONG else 0,
        "unsure": -1 if remark.unsure else 0,
    }


def _confirmed(
    question: AskedQuestion, replies: Sequence[IssueReply], remarks: Sequence[Remarks], index: int
) -> bool:
    """Return whether the asker, in the replies right after, thanks or says that it helped."""
    if question.author is None or replies[index].author == question.author:
        return False
    for later in range(index + 1, len(replies)):
        if replies[later].author != question.author:
            return False
        if remarks[later].solved or remarks[later].thanks:
            return True
    return False
