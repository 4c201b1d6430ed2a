"""Goes through cases and voters by what the archive knows: what is asked, and what was said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from goldpan.annotation.review.answer import Answer, parse_answer
from goldpan.annotation.review.item import ReviewItem
from goldpan.annotation.review.items import CaseFile
from goldpan.annotation.review.prompt import Prompt, load_prompt
from goldpan.annotation.review.request import Voter, make_request, voters
from goldpan.annotation.review.settings import ReviewSettings
from goldpan.annotation.review.subjects import PROMPTS
from goldpan.annotation.review.votes import Decision, Vote, decide
from goldpan.llm.budget import BYTES_A_TOKEN, Budget
from goldpan.llm.executor import PendingRequest
from goldpan.llm.outcome import Outcome, understand
from goldpan.llm.request import CUTS, Request
from goldpan.llm.response_store import ResponseStore


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a review would send and cost, before anything is sent."""

    subjects: Mapping[str, int]
    """By prompt."""
    requests: int
    """Still to be sent."""
    answered: int
    """Answered by the archive, at no cost."""
    input_tokens: int
    """Expected, from the characters: about four a token."""
    cost: float | None
    """Expected; None where a price is missing."""
    cost_at_most: float | None
    """Whatever the texts are: a token for each byte."""
    cost_before: float
    """What the archive's answers cost when they were asked."""
    seconds: float | None
    """Expected, from how long replies took so far; None where nothing is known."""


class Walk:
    """Goes through cases and voters by what the archive knows."""

    def __init__(self, memory: ResponseStore, settings: ReviewSettings) -> None:
        self.memory = memory
        self._settings = settings
        self._voters = voters(settings)

    @staticmethod
    def prompt(case: ReviewItem) -> Prompt:
        """Return the prompt for a case."""
        return load_prompt(PROMPTS[case.subject])

    def open(self, cases: CaseFile) -> Iterator[PendingRequest]:
        """Yield what is still to be asked, each request once, one voter after the other."""
        seen: set[str] = set()
        for voter in self._voters:
            for case in cases:
                if case.obstacle is None:
                    request, outcome = self._last(case, voter)
                    if outcome is None and request.key not in seen:
                        seen.add(request.key)
                        read = partial(parse_answer, reasons=self.prompt(case).reasons)
                        yield PendingRequest(request, read)

    def decisions(self, cases: CaseFile) -> Iterator[tuple[ReviewItem, Decision]]:
        """Yield the decision on each case."""
        for case in cases:
            votes = []
            if case.obstacle is None:
                for voter in self._voters:
                    request, outcome = self._last(case, voter)
                    votes.append(Vote(voter, outcome, request.texts))
            yield case, decide(case, votes, self._settings)

    def estimate(self, cases: CaseFile, ledger: Budget) -> Estimate:
        """Count requests by whether the archive answers them, its costs in the ledger."""
        subjects = Counter(self.prompt(case).name for case in cases)
        answered = set()
        for voter in self._voters:
            for case in cases:
                if case.obstacle is None:
                    request, outcome = self._last(case, voter)
                    known = self.memory.usage(request.key)
                    if outcome is not None and known and request.key not in answered:
                        answered.add(request.key)
                        usage, batch = known
                        ledger.add(request.model, usage, batch=batch, before=True)
        expected = at_most = 0.0
        count = tokens = 0
        for asked in self.open(cases):
            request = asked.request
            count += 1
            tokens += len(request.data) // BYTES_A_TOKEN
            expected += ledger.expected(request)
            at_most += ledger.most(request)
        priced = all(model in self._settings.prices for model in self._settings.models)
        times = self.memory.seconds()
        pace = sum(times) / len(times) / self._settings.concurrency if times else None
        return Estimate(
            dict(sorted(subjects.items())),
            count,
            len(answered),
            tokens,
            expected if priced else None,
            at_most if priced else None,
            ledger.paid_before,
            None if pace is None or self._settings.batch else count * pace,
        )

    def _last(self, case: ReviewItem, voter: Voter) -> tuple[Request, Outcome[Answer] | None]:
        """Return the last request that a voter was or is to be sent, and what became of it."""
        prompt = self.prompt(case)
        for cuts in range(CUTS):
            request = make_request(case, prompt, voter, self._settings, cuts)
            reply = self.memory.reply(request.key)
            if reply is None:
                return request, None
            outcome = understand(reply, partial(parse_answer, reasons=prompt.reasons))
            if outcome.failure != "context-overflow":
                break
        return request, outcome
