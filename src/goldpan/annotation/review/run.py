"""Reviews by models: `goldpan review`, of what a profile keeps.

The subjects are read once into a file. Then each step reads them again: counting the requests,
sending them, and judging by the replies in the archive. So memory follows the batch, and a run
that continues does the same as one that starts.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from goldpan.annotation.review.request import ReviewSettings
from goldpan.annotation.review.stored import write_reviews
from goldpan.annotation.review.subjects import KINDS, read_cases, store_cases, stored_cases
from goldpan.annotation.review.votes import prompt_of, questions, verdict_on, votes_on
from goldpan.core.result import Result
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.filters.basis import Basis, find_basis
from goldpan.filters.profile import Profile
from goldpan.llm.budget import CostBudget, RequestEstimate
from goldpan.llm.exchange import FINAL, Usage
from goldpan.llm.planner import Planner
from goldpan.llm.response_store import open_responses

_KEPT = 20
"""Reasons of failed requests that a result has."""


@dataclass(frozen=True, slots=True)
class ReviewResult(Result):
    """The verdicts of a review, counted, and what they cost; with `dry_run`, what they would."""

    schema = 3
    profile: str
    """The filter profile."""
    dry_run: bool
    """True where nothing was sent or written."""
    estimate: RequestEstimate
    """The requests and their cost, before any was sent."""
    subjects: Mapping[str, int]
    """By prompt."""
    basis: tuple[Basis, ...]
    """The pairing rules and the profile behind each repository."""
    seconds: float = 0.0
    keep: Mapping[str, int] = field(default_factory=dict)
    drop: Mapping[str, int] = field(default_factory=dict)
    people: Mapping[str, int] = field(default_factory=dict)
    """Subjects that people have to look at, by prompt."""
    reasons: Mapping[str, int] = field(default_factory=dict)
    """Why subjects are dropped or go to people."""
    failed: Mapping[str, int] = field(default_factory=dict)
    """The commonest reasons why requests have no answer, in the endpoint's own words."""
    sent: int = 0
    """Requests of this run."""
    usage: Usage = field(default_factory=Usage)
    cost: float = 0.0
    complete: bool = False
    """False while requests remain: money ran out, a batch is under way, or none was answered."""

    @property
    def exit_code(self) -> int:
        """0, or 3 while requests remain."""
        return 0 if self.complete or self.dry_run else 3


def run_review(
    workspace: WorkspaceLayout,
    repos: Sequence[str],
    profile: Profile,
    settings: ReviewSettings,
    reporter: Reporter,
    *,
    dry_run: bool = False,
) -> ReviewResult:
    """Ask models for verdicts on kept subjects and write them beside the filter's.

    Requests that the archive answers are not sent again; with `dry_run` nothing is sent or written.
    Raises `WorkspaceError` where a repository is not filtered or another review is at work, and
    `EndpointError` where the endpoint does not answer; the answers until then are kept.
    """
    started = time.monotonic()
    basis = tuple(find_basis(workspace, repos, profile.name))
    with (
        open_responses(workspace.root / "reviews", "review", write=not dry_run) as store,
        workspace.scratch() as scratch,
    ):
        kinds = [kind for kind in KINDS.values() if kind.subject in settings.subjects]
        files: dict[str, Path] = {}
        with reporter.task("subjects", len(repos)) as progress:
            for number, repo in enumerate(repos):
                files[repo] = scratch / f"{number}.jsonl"
                read = (
                    read_cases(workspace, repo, profile, kind, settings.limit) for kind in kinds
                )
                store_cases(files[repo], chain.from_iterable(read))
                progress.advance()
        planner = Planner(store, settings, lambda: questions(files.values(), settings))
        budget = CostBudget(settings)
        estimate = planner.estimate(budget)
        prompts = (prompt_of(case.subject, settings).name for case in stored_cases(*files.values()))
        subjects = dict(sorted(Counter(prompts).items()))
        unsent = Counter(case.obstacle for case in stored_cases(*files.values()) if case.obstacle)
        planned = ReviewResult(profile.name, dry_run, estimate, subjects, basis, reasons=unsent)
        if dry_run:
            return replace(planned, complete=not estimate.requests)
        sent, complete = planner.ask(budget, reporter)
        counts: Counter[tuple[bool | None, str]] = Counter()
        reasons: Counter[str] = Counter()
        failures: Counter[tuple[str, str]] = Counter()
        answered = False
        for repo, file in files.items():
            rows = []
            for case in stored_cases(file):
                votes = votes_on(case, planner, settings)
                rows.append(verdict_on(case, votes, settings, profile.name))
                for outcome in (vote.outcome for vote in votes if vote.outcome):
                    if outcome.failure:
                        failures[outcome.failure, outcome.detail] += 1
                    answered = answered or not outcome.failure
            counts.update((row["keep"], row["criterion"]) for row in rows)
            reasons.update(row["reason"] for row in rows if row["reason"])
            write_reviews(workspace, repo, profile.name, rows, reviewers(settings), store.seals())
    # A request that the endpoint does not take counts as answered where it takes others.
    remain = any(
        failure not in FINAL and not (answered and failure == "bad-request")
        for failure, _ in failures
    )
    failed = {": ".join(each): count for each, count in failures.most_common(_KEPT)}
    keep, drop, people = (
        {prompt: count for (kept, prompt), count in counts.items() if kept is vote}
        for vote in (True, False, None)
    )
    return replace(
        planned,
        seconds=time.monotonic() - started,
        keep=keep,
        drop=drop,
        people=people,
        reasons=dict(sorted(reasons.items())),
        failed=failed,
        sent=sent,
        usage=budget.usage,
        cost=budget.paid,
        complete=complete and not remain and (answered or not failed),
    )


def reviewers(settings: ReviewSettings) -> dict[str, dict[str, Any]]:
    """Return the reviewers by prompt, as provenance states them."""
    prompts = [prompt_of(subject, settings) for subject in KINDS if subject in settings.subjects]
    return {
        prompt.name: {
            "prompt": prompt.label,
            "models": list(settings.models),
            "temperature": settings.temperature,
            "agreement": settings.agreement,
        }
        for prompt in prompts
    }
