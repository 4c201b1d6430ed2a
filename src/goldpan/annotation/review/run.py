"""Has models review what a profile keeps: `goldpan review`.

The subjects are read once into a file. Then each step goes through them anew: counting what is
to be asked, asking, and judging by the replies that the archive holds. So memory follows the
batch, and a run that goes on does exactly what a run does that starts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import Any

from goldpan.annotation.review.answer import ReviewItem, SubjectKind
from goldpan.annotation.review.items import CaseFile, case_file, read_cases
from goldpan.annotation.review.planner import ReviewEstimate, ReviewPlanner
from goldpan.annotation.review.request import load_prompt
from goldpan.annotation.review.reviewer import Judgement, ReviewResult, judge, open_reviews
from goldpan.annotation.review.settings import ReviewSettings
from goldpan.annotation.review.stored import verdict_row, write_reviews
from goldpan.annotation.review.subjects import KINDS
from goldpan.core.progress import Reporter, Task
from goldpan.core.workspace import Workspace
from goldpan.filters.basis import find_basis
from goldpan.filters.profile import Profile
from goldpan.llm.budget import Budget


def run_review(
    workspace: Workspace,
    repos: Sequence[str],
    profile: Profile,
    settings: ReviewSettings,
    reporter: Reporter,
) -> ReviewResult:
    """Ask models for verdicts on kept subjects and write them beside the filter's.

    Raises `WorkspaceError` where a repository is not filtered, and `ReviewError` where the
    endpoint serves nobody; what was answered until then is kept and not asked again.
    """
    names = [kind.prompt for kind in _kinds(settings)]
    with (
        open_reviews(workspace) as store,
        _reading(workspace, repos, profile, settings, reporter) as cases,
    ):

        def take(judgements: Iterator[Judgement]) -> None:
            for repo, count in cases.repositories:
                rows = [
                    verdict_row(
                        judgement.case,
                        judgement.decision,
                        judgement.prompt,
                        profile.name,
                        judgement.digest,
                    )
                    for judgement in islice(judgements, count)
                ]
                write_reviews(
                    workspace,
                    repo,
                    profile.name,
                    rows,
                    names,
                    reviewers(settings),
                    store.seals(),
                )

        result = judge(store, cases, profile.name, settings, reporter, take)
    return replace(result, basis=tuple(find_basis(workspace, repos, profile.name)))


def reviewers(settings: ReviewSettings) -> dict[str, dict[str, Any]]:
    """Return who reviews, by prompt, as provenance tells it."""
    return {
        kind.prompt: {
            "prompt": load_prompt(kind.prompt).label,
            "models": list(settings.models),
            "samples": settings.samples,
            "temperature": settings.temperature,
            "agreement": settings.agreement,
        }
        for kind in _kinds(settings)
    }


def estimate_review(
    workspace: Workspace,
    repos: Sequence[str],
    profile: Profile,
    settings: ReviewSettings,
    reporter: Reporter,
) -> ReviewEstimate:
    """Count what a review would send and cost; nothing is sent and nothing is written."""
    with (
        open_reviews(workspace, write=False) as store,
        _reading(workspace, repos, profile, settings, reporter) as cases,
    ):
        estimate = ReviewPlanner(store, cases, settings).review_estimate(Budget(settings))
    return replace(estimate, basis=tuple(find_basis(workspace, repos, profile.name)))


@contextmanager
def _reading(
    workspace: Workspace,
    repos: Sequence[str],
    profile: Profile,
    settings: ReviewSettings,
    reporter: Reporter,
) -> Iterator[CaseFile]:
    """Give the subjects of all repositories as a file."""
    with case_file(workspace) as cases:
        with reporter.task("subjects", len(repos) * len(_kinds(settings))) as task:
            for repo in repos:
                cases.write(repo, _read(workspace, repo, profile, settings, task))
        yield cases


def _read(
    workspace: Workspace, repo: str, profile: Profile, settings: ReviewSettings, task: Task
) -> Iterator[ReviewItem]:
    for kind in _kinds(settings):
        yield from read_cases(workspace, repo, profile, kind, settings.limit)
        task.advance()


def _kinds(settings: ReviewSettings) -> list[SubjectKind]:
    return [
        replace(kind, prompt=settings.prompts.get(subject, kind.prompt))
        for subject, kind in KINDS.items()
        if subject in settings.subjects
    ]
