"""Asks models about cases and judges by what the archive then holds, whatever the cases are of."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass

import orjson

from goldpan.annotation.review.items import CaseFile
from goldpan.annotation.review.request import ReviewPrompt
from goldpan.annotation.review.settings import ReviewSettings
from goldpan.annotation.review.subjects import ReviewItem
from goldpan.annotation.review.votes import ReviewDecision, ReviewPlanner, prompt_of
from goldpan.core.progress import Reporter
from goldpan.core.result import Block, Line, Result, Table
from goldpan.core.workspace import Workspace
from goldpan.filters.basis import Basis, basis_blocks
from goldpan.llm.budget import Budget
from goldpan.llm.outcome import Usage
from goldpan.llm.response_store import ResponseStore, open_responses


@dataclass(frozen=True, slots=True)
class ReviewResult(Result):
    """The verdicts of a review, counted, and what they cost."""

    profile: str
    """The filter profile, or the name of the dataset."""
    subjects: Mapping[str, int]
    """By prompt."""
    keep: Mapping[str, int]
    drop: Mapping[str, int]
    people: Mapping[str, int]
    """Subjects that people have to look at, by prompt."""
    reasons: Mapping[str, int]
    """Why subjects are dropped or go to people."""
    sent: int
    """Requests of this run."""
    answered: int
    """Requests that the archive answered."""
    usage: Usage
    cost: float
    cost_before: float
    complete: bool
    """False where requests remain: money ran out, or a batch is under way."""
    seconds: float
    basis: tuple[Basis, ...] = ()
    """Which pairing rules and which profile stand behind each repository."""

    @property
    def exit_code(self) -> int:
        """0, or 3 while requests remain."""
        return 0 if self.complete else 3

    def blocks(self) -> Iterator[Block]:
        """Yield the verdicts, and what they cost."""
        counts = (self.subjects, self.keep, self.drop, self.people)
        yield Table(
            ("prompt", "subjects", "keep", "drop", "people"),
            [
                (prompt, *(by_prompt.get(prompt, 0) for by_prompt in counts))
                for prompt in self.subjects
            ],
        )
        for reason, count in self.reasons.items():
            yield Line(f"  {reason}: {count:,}")
        yield Line(
            f"{self.sent:,} requests sent, {self.answered:,} answered from the archive, "
            f"{self.usage.input:,} tokens read and {self.usage.output:,} written, cost "
            f"{self.cost:,.2f} ({self.cost_before:,.2f} before), {self.seconds:.1f} s"
        )
        yield from basis_blocks(self.basis)
        if not self.complete:
            yield Line("Some requests remain: run the same command again")


@dataclass(frozen=True, slots=True)
class Judgement:
    """A case with the decision on it, and what made it."""

    case: ReviewItem
    decision: ReviewDecision
    prompt: str
    """Its name."""
    digest: str
    """Tells verdicts by other prompts, models or rules apart."""


def open_reviews(
    workspace: Workspace, *, write: bool = True
) -> AbstractContextManager[ResponseStore]:
    """Open what reviews of a workspace asked; raises `WorkspaceError` where another one asks."""
    return open_responses(workspace.root / "reviews", "review", write=write)


def judge(
    store: ResponseStore,
    cases: CaseFile,
    profile: str,
    settings: ReviewSettings,
    reporter: Reporter,
    take: Callable[[Iterator[Judgement]], None],
) -> ReviewResult:
    """Ask what the archive does not answer, then hand out a judgement a case, in their order.

    Raises `ReviewError` where the endpoint serves nobody; what was answered until then is kept
    and not asked again.
    """
    started = time.monotonic()
    planner, budget = ReviewPlanner(store, cases, settings), Budget(settings)
    planned = planner.review_estimate(budget)
    sent, complete = planner.ask(budget, reporter)
    counts: dict[bool | None, Counter[str]] = {True: Counter(), False: Counter(), None: Counter()}
    reasons: Counter[str] = Counter()

    def judgements() -> Iterator[Judgement]:
        for case, decision in planner.decisions():
            prompt = prompt_of(case, settings)
            counts[decision.keep][prompt.name] += 1
            if decision.reason:
                reasons[decision.reason] += 1
            yield Judgement(case, decision, prompt.name, settings_digest(prompt, settings))

    take(judgements())
    return ReviewResult(
        profile,
        planned.subjects,
        dict(counts[True]),
        dict(counts[False]),
        dict(counts[None]),
        dict(sorted(reasons.items())),
        sent,
        planned.answered,
        budget.usage,
        budget.paid,
        budget.paid_before,
        complete,
        time.monotonic() - started,
    )


def settings_digest(prompt: ReviewPrompt, settings: ReviewSettings) -> str:
    """Return what tells verdicts by other prompts, models or rules apart."""
    parts = [
        prompt.label,
        settings.models,
        settings.samples,
        settings.temperature,
        settings.seed,
        settings.max_tokens,
        settings.bounded_schema,
        settings.max_characters,
        settings.agreement,
        settings.confidence,
    ]
    return hashlib.sha256(orjson.dumps(parts)).hexdigest()[:16]
