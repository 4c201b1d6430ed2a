"""Makes one verdict of several votes; where they do not agree, people decide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from goldpan.annotation.review.answer import ReviewAnswer, ReviewItem, missing_quotes
from goldpan.annotation.review.request import Voter
from goldpan.annotation.review.settings import ReviewSettings
from goldpan.core.sanitize import line
from goldpan.filters.answers import of_comment
from goldpan.llm.outcome import Outcome

NOT_ASKED = "not-asked"
"""The reason of a subject that the money, the limit or a batch under way left over."""


@dataclass(frozen=True, slots=True)
class Vote:
    """What one voter made of a case; no outcome where it was not asked yet."""

    voter: Voter
    outcome: Outcome[ReviewAnswer] | None
    texts: tuple[str, ...] = ()
    """The texts as the voter saw them."""

    @property
    def verdict(self) -> str:
        """The verdict, or why there is none."""
        if self.outcome is None:
            return NOT_ASKED
        return self.outcome.answer.verdict if self.outcome.answer else str(self.outcome.failure)


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
    counts = Counter(_counted(vote, settings) for vote in votes)
    replies = Counter(_reply(vote) for vote in votes if _counted(vote, settings) == "keep")
    reply = max(replies, key=lambda number: (replies[number], -number), default=0)
    decided = {"keep": replies[reply], "drop": counts["drop"]}
    winner = max(decided, key=lambda name: decided[name])
    share = decided[winner] / len(votes)
    value = share if len(votes) > 1 else _confidence(votes[0])
    if case.suspicions:
        return ReviewDecision(None, "injection", value, line("; ".join(case.suspicions)))
    if any(vote.outcome is None for vote in votes):
        return ReviewDecision(None, NOT_ASKED, None, _votes_line(votes))
    failed = [vote for vote in votes if vote.outcome and vote.outcome.failure]
    if len(failed) == len(votes):
        return ReviewDecision(None, failed[0].verdict, None, _votes_line(votes))
    if missing := _missing(votes):
        return ReviewDecision(None, "quote-not-found", value, line(missing))
    if beyond := [number for number in replies if number > len(case.comment_ids)]:
        return ReviewDecision(None, "reply-not-found", value, f"reply {beyond[0]}")
    if share < settings.agreement or share <= 0.5:
        return ReviewDecision(None, _why(counts, replies, failed), value, _votes_line(votes))
    if winner == "keep":
        quote = _quote(votes, winner)
        return ReviewDecision(
            True, None, value, of_comment(case.comment_ids[reply - 1], quote) if reply else quote
        )
    return ReviewDecision(False, _reason(votes), value, _quote(votes, winner))


def _counted(vote: Vote, settings: ReviewSettings) -> str:
    answer = vote.outcome.answer if vote.outcome else None
    if answer and answer.verdict != "unsure" and answer.confidence < settings.confidence:
        return "unsure"
    return vote.verdict


def _reply(vote: Vote) -> int:
    """Return the number of the reply that a vote names; 0 where its prompt asks for none."""
    return (vote.outcome and vote.outcome.answer and vote.outcome.answer.reply) or 0


def _why(counts: Counter[str], replies: Counter[int], failed: Sequence[Vote]) -> str:
    if (counts["keep"] and counts["drop"]) or len(replies) > 1:
        return "disagreement"
    return "unsure" if counts["unsure"] or not failed else failed[0].verdict


def _missing(votes: Sequence[Vote]) -> str | None:
    """Return the first quote that stands in no text, or that a verdict rests on none."""
    for vote in votes:
        answer = vote.outcome.answer if vote.outcome else None
        if answer is None or answer.verdict == "unsure":
            continue
        if not answer.evidence:
            return f"{vote.voter.name} quotes nothing"
        if missing := missing_quotes(answer.evidence, vote.texts):
            return f"{vote.voter.name} quotes: {missing[0]}"
    return None


def _reason(votes: Sequence[Vote]) -> str:
    codes = Counter(
        vote.outcome.answer.reasons[0]
        for vote in votes
        if vote.outcome
        and vote.outcome.answer
        and vote.outcome.answer.verdict == "drop"
        and vote.outcome.answer.reasons
    )
    return min(codes, key=lambda code: (-codes[code], code), default="unexplained")


def _quote(votes: Sequence[Vote], winner: str) -> str:
    answers = [vote.outcome.answer for vote in votes if vote.outcome and vote.outcome.answer]
    quotes = [reply.evidence[0] for reply in answers if reply.verdict == winner]
    return line(quotes[0])


def _confidence(vote: Vote) -> float | None:
    return vote.outcome.answer.confidence if vote.outcome and vote.outcome.answer else None


def _votes_line(votes: Sequence[Vote]) -> str:
    """Return what each voter said, in one line."""
    notes = []
    for vote in votes:
        confidence = _confidence(vote)
        detail = vote.outcome.detail if vote.outcome else ""
        if confidence is not None:
            detail = f"{confidence:.2f}"
        notes.append(f"{vote.voter.name}: {vote.verdict} {detail}".rstrip())
    return line("; ".join(notes))
