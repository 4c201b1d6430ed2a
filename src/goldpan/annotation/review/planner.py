"""What each voter is asked about each case, what that costs, and what is decided by the replies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from goldpan.annotation.review.answer import ReviewAnswer, ReviewItem, parse_answer
from goldpan.annotation.review.items import CaseFile
from goldpan.annotation.review.request import ReviewPrompt, Voter, load_prompt, make_request, voters
from goldpan.annotation.review.settings import ReviewSettings
from goldpan.annotation.review.subjects import PROMPTS
from goldpan.annotation.review.votes import ReviewDecision, Vote, decide
from goldpan.core.result import Block, Line, Result
from goldpan.filters.basis import Basis, basis_blocks
from goldpan.llm.budget import Budget, Estimate
from goldpan.llm.planner import Planner, Question
from goldpan.llm.response_store import ResponseStore

Texts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReviewEstimate(Estimate, Result):
    """What a review would send and cost, before anything is sent."""

    subjects: Mapping[str, int]
    """By prompt."""
    seconds: float | None
    """Expected, from how long replies took so far; None where nothing is known."""
    basis: tuple[Basis, ...] = ()
    """Which pairing rules and which profile stand behind each repository."""

    def blocks(self) -> Iterator[Block]:
        """Yield what would be sent, where to, and what it costs."""
        for prompt, count in self.subjects.items():
            yield Line(f"{prompt}: {count:,} subjects")
        yield Line(
            f"{self.requests:,} requests to send, about {self.input_tokens:,} tokens; "
            f"{self.answered:,} are answered from the archive"
        )
        yield Line(f"They go to {self.host}, with OPENAI_API_KEY if that is set")
        if self.cost is None:
            yield Line("The cost is unknown: give [prices] in the settings file")
        else:
            most = "" if self.cost_at_most is None else f", at most {self.cost_at_most:,.2f}"
            yield Line(f"Cost: about {self.cost:,.2f}{most}; {self.cost_before:,.2f} before")
        yield from basis_blocks(self.basis)


class ReviewPlanner(Planner[Texts, ReviewAnswer]):
    """Asks voters about cases and decides by what they said."""

    def __init__(self, store: ResponseStore, cases: CaseFile, settings: ReviewSettings) -> None:
        super().__init__(store, settings, self._all)
        self._cases = cases
        self._review = settings
        self._voters = voters(settings)

    def decisions(self) -> Iterator[tuple[ReviewItem, ReviewDecision]]:
        """Yield the decision on each case."""
        for case in self._cases:
            votes = []
            if case.obstacle is None:
                for voter in self._voters:
                    attempt = self.last(self._question(case, voter))
                    votes.append(Vote(voter, attempt.outcome, attempt.shown))
            yield case, decide(case, votes, self._review)

    def review_estimate(self, budget: Budget) -> ReviewEstimate:
        """Count subjects and requests, the costs of what the store answers in the budget."""
        planned = self.estimate(budget)
        subjects = Counter(prompt_of(case, self._review).name for case in self._cases)
        times = self.store.seconds()
        pace = sum(times) / len(times) / self._review.concurrency if times else None
        return ReviewEstimate(
            planned.requests,
            planned.answered,
            planned.input_tokens,
            planned.cost,
            planned.cost_at_most,
            planned.cost_before,
            planned.host,
            dict(sorted(subjects.items())),
            None if pace is None or self._review.batch else planned.requests * pace,
        )

    def _all(self) -> Iterator[Question[Texts, ReviewAnswer]]:
        """Yield what is asked about all cases, one voter after the other."""
        for voter in self._voters:
            for case in self._cases:
                if case.obstacle is None:
                    yield self._question(case, voter)

    def _question(self, case: ReviewItem, voter: Voter) -> Question[Texts, ReviewAnswer]:
        prompt = prompt_of(case, self._review)
        return Question(
            partial(make_request, case, prompt, voter, self._review),
            partial(parse_answer, reasons=prompt.reasons, names_reply=prompt.names_reply),
        )


def prompt_of(case: ReviewItem, settings: ReviewSettings) -> ReviewPrompt:
    """Return the prompt for a case; raises `UsageError` where no plugin brings the one named."""
    return load_prompt(settings.prompts.get(case.subject, PROMPTS[case.subject]))
