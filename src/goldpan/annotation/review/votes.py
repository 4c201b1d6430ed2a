"""Votes: the question to each model about a case, and the verdict that the votes make."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from goldpan.annotation.review.quotes import Shown, quotations
from goldpan.annotation.review.request import (
    ReviewAnswer,
    ReviewPrompt,
    ReviewSettings,
    load_prompt,
    make_request,
    parse_answer,
)
from goldpan.annotation.review.subjects import KINDS, ReviewItem, stored_cases
from goldpan.core.sanitize import line
from goldpan.filters.answers import comment_evidence
from goldpan.filters.criterion import KEYS, Subject
from goldpan.llm.answer_text import READING
from goldpan.llm.planner import Attempt, Planner, Question

STAGE = "llm"
NOT_ASKED = "not-asked"
"""The reason for a subject that was not sent: no money left, the limit, or a batch under way."""

Vote = Attempt[Shown, ReviewAnswer]
"""A model's judgment of a case, as far as it was asked."""
Decision = tuple[bool | None, str | None, float | None, str]
"""Keep or drop, or None for people; the reason; a single vote's confidence, or the share of
several that agree; the evidence."""


def questions(
    files: Iterable[Path], settings: ReviewSettings
) -> Iterator[Question[Shown, ReviewAnswer]]:
    """Yield the questions about all cases in files, one model after the other."""
    for model in settings.models:
        for case in stored_cases(*files):
            if case.obstacle is None:
                yield _question(case, model, settings)


def votes_on(
    case: ReviewItem, planner: Planner[Shown, ReviewAnswer], settings: ReviewSettings
) -> list[Vote]:
    """Return the votes on a case; none where it is not sent to models."""
    models = settings.models if case.obstacle is None else ()
    return [planner.last(_question(case, model, settings)) for model in models]


def verdict_on(
    case: ReviewItem, votes: Sequence[Vote], settings: ReviewSettings, profile: str
) -> dict[str, Any]:
    """Return the verdict on a case in the columns of `verdicts`."""
    prompt = prompt_of(case.subject, settings)
    keep, reason, value, evidence = _decide(case, votes, settings)
    return {
        **{name: getattr(case, name) for name in ("repo", "subject", *KEYS["pair"])},
        "stage": STAGE,
        "criterion": prompt.name,
        "decides": False,
        "keep": keep,
        "reason": reason,
        "value": value,
        "evidence": evidence or None,
        "profile": profile,
        "settings": settings_digest(prompt, settings),
    }


def _question(
    case: ReviewItem, model: str, settings: ReviewSettings
) -> Question[Shown, ReviewAnswer]:
    prompt = prompt_of(case.subject, settings)
    return Question(
        partial(make_request, case, prompt, model, settings),
        partial(parse_answer, reasons=prompt.reasons, names_reply=prompt.names_reply),
        partial(_complaint, case),
    )


def _decide(case: ReviewItem, votes: Sequence[Vote], settings: ReviewSettings) -> Decision:
    """Return the verdict on a case.

    People decide where a text tries to steer the model, where a vote is missing, where a quote
    stands in no text, where a reply is named that does not exist, and where fewer than
    `agreement` of the votes are the same. Votes that name different replies are not the same.
    """
    if case.obstacle:
        return None, case.obstacle, None, ""
    counted = [_said(vote, settings.confidence) for vote in votes]
    answers = [
        (vote.shown, vote.outcome.answer, verdict, vote.request.model)
        for vote, verdict in zip(votes, counted, strict=True)
        if vote.outcome and vote.outcome.answer
    ]
    counts = Counter(counted)
    # Where the prompt asks for no reply, the number is 0.
    replies = Counter(answer.reply or 0 for _, answer, verdict, _ in answers if verdict == "keep")
    reply = max(replies, key=lambda number: (replies[number], -number), default=0)
    agreeing = {"keep": replies[reply], "drop": counts["drop"]}
    winner = max(agreeing, key=agreeing.__getitem__)
    share = agreeing[winner] / len(votes)
    value: float | None = share
    if len(votes) == 1:
        value = answers[0][1].confidence if answers else None
    if case.suspicions:
        return None, "injection", value, line("; ".join(case.suspicions))
    failed = [str(vote.outcome.failure) for vote in votes if vote.outcome and vote.outcome.failure]
    if NOT_ASKED in counts or len(failed) == len(votes):
        return None, NOT_ASKED if NOT_ASKED in counts else failed[0], None, _told(votes)
    for shown, answer, _, model in answers:
        if problem := _lacks_evidence(shown, answer):
            return None, "quote-not-found", value, line(f"{model} {problem}")
    if unknown := [number for number in replies if not 0 <= number <= len(case.comment_ids)]:
        return None, "reply-not-found", value, f"reply {unknown[0]}"
    if share < settings.agreement or share <= 0.5:
        differ = (counts["keep"] and counts["drop"]) or len(replies) > 1
        why = "unsure" if counts["unsure"] or not failed else failed[0]
        return None, "disagreement" if differ else why, value, _told(votes)
    winners = [(shown, answer) for shown, answer, verdict, _ in answers if verdict == winner]
    if winner == "drop":
        shown, answer = winners[0]
        codes = Counter(answer.reasons[0] for _, answer in winners if answer.reasons)
        reason = min(codes, key=lambda code: (-codes[code], code), default="unexplained")
        return False, reason, value, line(quotations(answer.evidence, shown)[0] or "")
    shown, answer = next(each for each in winners if (each[1].reply or 0) == reply)
    quote = line(quotations(answer.evidence, shown)[0] or "")
    evidence = comment_evidence(case.comment_ids[reply - 1], quote) if reply else quote
    return True, None, value, evidence


def _said(vote: Vote, least: float = 0.0) -> str:
    """Return the verdict of a vote, or why there is none; one of less confidence is unsure."""
    if vote.outcome is None:
        return NOT_ASKED
    answer = vote.outcome.answer
    if answer is None:
        return str(vote.outcome.failure)
    return answer.verdict if answer.confidence >= least else "unsure"


def _told(votes: Sequence[Vote]) -> str:
    """Return what each model said, in one line."""
    notes = []
    for vote in votes:
        detail = vote.outcome.detail if vote.outcome else ""
        if vote.outcome and vote.outcome.answer:
            detail = f"{vote.outcome.answer.confidence:.2f}"
        notes.append(f"{vote.request.model}: {_said(vote)} {detail}".rstrip())
    return line("; ".join(notes))


def _lacks_evidence(shown: Shown, answer: ReviewAnswer) -> str | None:
    """Return what is wrong with the evidence of an answer: it is in no text, or there is none."""
    if answer.verdict == "unsure":
        return None
    if not answer.evidence:
        return "quotes nothing"
    found = zip(answer.evidence, quotations(answer.evidence, shown), strict=True)
    missing = [each for each, quote in found if quote is None]
    return f"quotes: {missing[0]}" if missing else None


def _complaint(case: ReviewItem, shown: Shown, answer: ReviewAnswer) -> str | None:
    """Return what to tell a model whose answer cannot stand."""
    if problem := _lacks_evidence(shown, answer):
        wanted = "numbers of sentences" if shown.sentences else "passages copied word for word"
        return f"it {problem}, and evidence must be {wanted} of the data"
    if not 0 <= (answer.reply or 0) <= len(case.comment_ids):
        return f"reply {answer.reply} does not exist: the last one is {len(case.comment_ids)}"
    return None


def prompt_of(subject: Subject, settings: ReviewSettings) -> ReviewPrompt:
    """Return the prompt for a subject; raises `UsageError` where no plugin brings the one named."""
    return load_prompt(settings.prompts.get(subject, KINDS[subject].prompt))


def settings_digest(prompt: ReviewPrompt, settings: ReviewSettings) -> str:
    """Return a digest that differs for other prompts, models or rules."""
    names = (
        *("models", "temperature", "seed", "max_tokens", "bounded_schema", "evidence"),
        *("max_characters", "agreement", "confidence"),
    )
    parts = [prompt.label, READING, *(getattr(settings, name) for name in names)]
    return hashlib.sha256(orjson.dumps(parts)).hexdigest()[:16]
