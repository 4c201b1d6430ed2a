"""Votes: the question to each model about a case, and the verdict that the votes make."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson

from goldpan.annotation.review.quotes import Shown, missing_evidence, quotations
from goldpan.annotation.review.request import (
    ReviewAnswer,
    ReviewPrompt,
    ReviewSettings,
    load_prompt,
    make_request,
    parse_answer,
)
from goldpan.annotation.review.subjects import KINDS, CaseFile, ReviewItem
from goldpan.core.sanitize import line
from goldpan.filters.answers import comment_evidence
from goldpan.filters.criterion import KEYS
from goldpan.llm.answer_text import READING
from goldpan.llm.exchange import RequestOutcome
from goldpan.llm.planner import Planner, Question
from goldpan.llm.response_store import ResponseStore

STAGE = "llm"
NOT_ASKED = "not-asked"
"""The reason for a subject that was not sent: no money left, the limit, or a batch under way."""


@dataclass(frozen=True, slots=True)
class Vote:
    """A model's judgment of a case; no outcome where it was not asked yet."""

    model: str
    outcome: RequestOutcome[ReviewAnswer] | None
    shown: Shown

    @property
    def answer(self) -> ReviewAnswer | None:
        """The answer, where there is a valid one."""
        return self.outcome.answer if self.outcome else None

    @property
    def verdict(self) -> str:
        """The verdict, or why there is none."""
        if self.outcome is None:
            return NOT_ASKED
        return self.answer.verdict if self.answer else str(self.outcome.failure)

    @property
    def quotes(self) -> tuple[str, ...]:
        """The passages that the answer rests on, empty where it points at none."""
        return quotations(self.answer.evidence, self.shown) if self.answer else ()


@dataclass(frozen=True, slots=True)
class ReviewDecision:
    """The columns of a verdict that votes decide."""

    keep: bool | None
    """None sends the subject to people."""
    reason: str | None
    value: float | None
    """The confidence of a single vote, the share of several that agree with the verdict."""
    evidence: str


def decide(case: ReviewItem, votes: Sequence[Vote], settings: ReviewSettings) -> ReviewDecision:
    """Return the verdict on a case.

    People decide where a text tries to steer the model, where a vote is missing, where a quote
    stands in no text, where a reply is named that does not exist, and where fewer than
    `agreement` of the votes are the same. Votes that name different replies are not the same.
    """
    if case.obstacle:
        return ReviewDecision(None, case.obstacle, None, "")
    counted = [_counted(vote, settings) for vote in votes]
    counts = Counter(counted)
    # Where the prompt asks for no reply, the number is 0.
    replies = Counter(
        (vote.answer and vote.answer.reply) or 0
        for vote, verdict in zip(votes, counted, strict=True)
        if verdict == "keep"
    )
    reply = max(replies, key=lambda number: (replies[number], -number), default=0)
    agreeing = {"keep": replies[reply], "drop": counts["drop"]}
    winner = max(agreeing, key=agreeing.__getitem__)
    share = agreeing[winner] / len(votes)
    value: float | None = share
    if len(votes) == 1:
        value = votes[0].answer.confidence if votes[0].answer else None
    if case.suspicions:
        return ReviewDecision(None, "injection", value, line("; ".join(case.suspicions)))
    if any(vote.outcome is None for vote in votes):
        return ReviewDecision(None, NOT_ASKED, None, _votes_line(votes))
    failed = [vote for vote in votes if vote.outcome and vote.outcome.failure]
    if len(failed) == len(votes):
        return ReviewDecision(None, failed[0].verdict, None, _votes_line(votes))
    if missing := _missing(votes):
        return ReviewDecision(None, "quote-not-found", value, line(missing))
    if unknown := [number for number in replies if not 0 <= number <= len(case.comment_ids)]:
        return ReviewDecision(None, "reply-not-found", value, f"reply {unknown[0]}")
    if share < settings.agreement or share <= 0.5:
        return ReviewDecision(None, _why(counts, replies, failed), value, _votes_line(votes))
    winners = [
        (vote.answer, vote.quotes)
        for vote, verdict in zip(votes, counted, strict=True)
        if vote.answer and verdict == winner
    ]
    if winner == "drop":
        reason = _reason([answer for answer, _ in winners])
        return ReviewDecision(False, reason, value, line(winners[0][1][0]))
    quote = line(next(quotes for each, quotes in winners if (each.reply or 0) == reply)[0])
    evidence = comment_evidence(case.comment_ids[reply - 1], quote) if reply else quote
    return ReviewDecision(True, None, value, evidence)


def _counted(vote: Vote, settings: ReviewSettings) -> str:
    answer = vote.answer
    if answer and answer.verdict != "unsure" and answer.confidence < settings.confidence:
        return "unsure"
    return vote.verdict


def _why(counts: Counter[str], replies: Counter[int], failed: Sequence[Vote]) -> str:
    if (counts["keep"] and counts["drop"]) or len(replies) > 1:
        return "disagreement"
    return "unsure" if counts["unsure"] or not failed else failed[0].verdict


def _missing(votes: Sequence[Vote]) -> str | None:
    """Return the first quote that is in no text, or that a model quotes nothing."""
    for vote in votes:
        if vote.answer and (problem := _lacks_evidence(vote.shown, vote.answer)):
            return f"{vote.model} {problem}"
    return None


def _lacks_evidence(shown: Shown, answer: ReviewAnswer) -> str | None:
    """Return what is wrong with the evidence of an answer."""
    if answer.verdict == "unsure":
        return None
    if not answer.evidence:
        return "quotes nothing"
    missing = missing_evidence(answer.evidence, shown)
    return f"quotes: {missing[0]}" if missing else None


def _complaint(case: ReviewItem, shown: Shown, answer: ReviewAnswer) -> str | None:
    """Return what to tell a model whose answer cannot stand."""
    if problem := _lacks_evidence(shown, answer):
        wanted = "numbers of sentences" if shown.sentences else "passages copied word for word"
        return f"it {problem}, and evidence must be {wanted} of the data"
    if not 0 <= (answer.reply or 0) <= len(case.comment_ids):
        return f"reply {answer.reply} does not exist: the last one is {len(case.comment_ids)}"
    return None


def _reason(answers: Sequence[ReviewAnswer]) -> str:
    codes = Counter(answer.reasons[0] for answer in answers if answer.reasons)
    return min(codes, key=lambda code: (-codes[code], code), default="unexplained")


def _votes_line(votes: Sequence[Vote]) -> str:
    notes = []
    for vote in votes:
        detail = vote.outcome.detail if vote.outcome else ""
        if vote.answer:
            detail = f"{vote.answer.confidence:.2f}"
        notes.append(f"{vote.model}: {vote.verdict} {detail}".rstrip())
    return line("; ".join(notes))


class ReviewPlanner(Planner[Shown, ReviewAnswer]):
    """Asks models about cases and decides by their answers."""

    def __init__(self, store: ResponseStore, cases: CaseFile, settings: ReviewSettings) -> None:
        super().__init__(store, settings, self._all)
        self._cases = cases
        self._review = settings
        self.answered = 0
        """Votes in the verdicts so far."""
        self.failed: Counter[tuple[str, str]] = Counter()
        """Votes that failed in them, with the endpoint's or the model's own words."""

    def verdicts(self, profile: str) -> Iterator[dict[str, Any]]:
        """Yield the decision on each case in the columns of a verdict."""
        for case in self._cases:
            votes = []
            for model in self._review.models if case.obstacle is None else ():
                attempt = self.last(self._question(case, model))
                votes.append(Vote(model, attempt.outcome, attempt.shown))
                if attempt.outcome and attempt.outcome.failure:
                    self.failed[attempt.outcome.failure, attempt.outcome.detail] += 1
                elif attempt.outcome:
                    self.answered += 1
            prompt = prompt_of(case, self._review)
            decision = decide(case, votes, self._review)
            yield {
                **{name: getattr(case, name) for name in ("repo", "subject", *KEYS["pair"])},
                "stage": STAGE,
                "criterion": prompt.name,
                "decides": False,
                "keep": decision.keep,
                "reason": decision.reason,
                "value": decision.value,
                "evidence": decision.evidence or None,
                "profile": profile,
                "settings": settings_digest(prompt, self._review),
            }

    def subjects(self) -> dict[str, int]:
        """Return how many cases each prompt judges."""
        counts = Counter(prompt_of(case, self._review).name for case in self._cases)
        return dict(sorted(counts.items()))

    def _all(self) -> Iterator[Question[Shown, ReviewAnswer]]:
        """Yield the questions about all cases, one model after the other."""
        for model in self._review.models:
            for case in self._cases:
                if case.obstacle is None:
                    yield self._question(case, model)

    def _question(self, case: ReviewItem, model: str) -> Question[Shown, ReviewAnswer]:
        prompt = prompt_of(case, self._review)
        return Question(
            partial(make_request, case, prompt, model, self._review),
            partial(parse_answer, reasons=prompt.reasons, names_reply=prompt.names_reply),
            partial(_complaint, case),
        )


def prompt_of(case: ReviewItem, settings: ReviewSettings) -> ReviewPrompt:
    """Return the prompt for a case; raises `UsageError` where no plugin brings the one named."""
    return load_prompt(settings.prompts.get(case.subject, KINDS[case.subject].prompt))


def settings_digest(prompt: ReviewPrompt, settings: ReviewSettings) -> str:
    """Return a digest that differs for other prompts, models or rules."""
    names = (
        *("models", "temperature", "seed", "max_tokens", "bounded_schema", "evidence"),
        *("max_characters", "agreement", "confidence"),
    )
    parts = [prompt.label, READING, *(getattr(settings, name) for name in names)]
    return hashlib.sha256(orjson.dumps(parts)).hexdigest()[:16]
