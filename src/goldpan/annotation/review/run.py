"""Reviews by models: `goldpan review`, of what a profile keeps or of a dataset's labels.

The subjects are read once into a file. Then each step reads them again: counting the requests,
sending them, and judging by the replies in the archive. So memory follows the batch, and a run
that continues does the same as one that starts.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from goldpan.annotation.review.request import ReviewSettings, load_prompt
from goldpan.annotation.review.stored import verdict_row, write_label_verdicts, write_reviews
from goldpan.annotation.review.subjects import (
    KINDS,
    CaseFile,
    ReviewItem,
    SubjectKind,
    case_file,
    prepare,
    read_cases,
)
from goldpan.annotation.review.votes import ReviewJudgement, ReviewPlanner
from goldpan.core.errors import UsageError
from goldpan.core.result import Result
from goldpan.core.storage.workspace import WorkspaceLayout, tasks_directory
from goldpan.core.terminal import Reporter
from goldpan.datasets.provenance import read_provenance
from goldpan.datasets.tasks.data import read_task_data
from goldpan.datasets.tasks.registry import find_task
from goldpan.datasets.tasks.task import CLASSIFICATION, Task, target_column
from goldpan.filters.basis import Basis, find_basis
from goldpan.filters.profile import Profile
from goldpan.llm.budget import CostBudget, RequestEstimate
from goldpan.llm.exchange import FINAL, Usage
from goldpan.llm.parts import PromptPart
from goldpan.llm.response_store import ResponseStore, open_responses

_KEPT = 20
"""Reasons of failed requests that a result has."""


@dataclass(frozen=True, slots=True)
class ReviewResult(Result):
    """The verdicts of a review, counted, and what they cost; with `dry_run`, what they would."""

    schema = 2
    shown_in_json = ("answered", "cost_before")
    profile: str
    """The filter profile, or the name of the dataset."""
    dry_run: bool
    """True where nothing was sent or written."""
    estimate: RequestEstimate
    """The requests and their cost, before any was sent."""
    seconds: float | None
    """The time it took; with `dry_run` that of earlier replies, or None without any."""
    subjects: Mapping[str, int]
    """By prompt."""
    keep: Mapping[str, int]
    drop: Mapping[str, int]
    people: Mapping[str, int]
    """Subjects that people have to look at, by prompt."""
    reasons: Mapping[str, int]
    """Why subjects are dropped or go to people."""
    failed: Mapping[str, int]
    """The commonest reasons why requests have no answer, in the endpoint's own words."""
    sent: int
    """Requests of this run."""
    usage: Usage
    cost: float
    complete: bool
    """False while requests remain: money ran out, a batch is under way, or none was answered."""
    basis: tuple[Basis, ...] = ()
    """The pairing rules and the profile behind each repository."""

    @property
    def answered(self) -> int:
        """Requests that the archive answered."""
        return self.estimate.answered

    @property
    def cost_before(self) -> float:
        """What these cost when they were sent."""
        return self.estimate.cost_before

    @property
    def exit_code(self) -> int:
        """0, or 3 while requests remain."""
        return 0 if self.complete or self.dry_run else 3


Take = Callable[[Iterator[ReviewJudgement]], None]
"""Writes the judgements on cases, in the order of the cases."""


def open_reviews(
    workspace: WorkspaceLayout, *, write: bool = True
) -> AbstractContextManager[ResponseStore]:
    """Open the requests of reviews; raises `WorkspaceError` while another review sends some."""
    return open_responses(workspace.root / "reviews", "review", write=write)


def judge(
    store: ResponseStore,
    cases: CaseFile,
    profile: str,
    settings: ReviewSettings,
    reporter: Reporter,
    take: Take | None,
) -> ReviewResult:
    """Send the requests that the archive does not answer, then `take` a judgement on each case.

    Without `take` nothing is sent. Raises `ReviewError` where the endpoint does not answer; the
    answers until then are kept, and their requests are not sent again.
    """
    started = time.monotonic()
    planner, budget = ReviewPlanner(store, cases, settings), CostBudget(settings)
    estimate, subjects = planner.estimate(budget), planner.subjects()
    if take is None:
        times = store.seconds()
        pace = sum(times) / len(times) / settings.concurrency if times else None
        seconds = None if pace is None or settings.batch else estimate.requests * pace
        nothing: dict[str, int] = {}
        return ReviewResult(
            *(profile, True, estimate, seconds, subjects, nothing, nothing, nothing, nothing),
            *(nothing, 0, Usage(), 0.0, not estimate.requests),
        )
    sent, complete = planner.ask(budget, reporter)
    counts: dict[bool | None, Counter[str]] = {True: Counter(), False: Counter(), None: Counter()}
    reasons: Counter[str] = Counter()

    def judgements() -> Iterator[ReviewJudgement]:
        for judgement in planner.judgements():
            counts[judgement.decision.keep][judgement.prompt] += 1
            if judgement.decision.reason:
                reasons[judgement.decision.reason] += 1
            yield judgement

    take(judgements())
    # A request that the endpoint does not take counts as answered where it takes others.
    answered = bool(planner.answered)
    remain = any(
        failure not in FINAL and not (answered and failure == "bad-request")
        for failure, _ in planner.failed
    )
    failed = {": ".join(each): count for each, count in planner.failed.most_common(_KEPT)}
    return ReviewResult(
        profile,
        False,
        estimate,
        time.monotonic() - started,
        subjects,
        dict(counts[True]),
        dict(counts[False]),
        dict(counts[None]),
        dict(sorted(reasons.items())),
        failed,
        sent,
        budget.usage,
        budget.paid,
        complete and not remain and (answered or not failed),
    )


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

    With `dry_run` nothing is sent or written. Raises `WorkspaceError` where a repository is not
    filtered, and `ReviewError` as `judge` does.
    """
    with (
        open_reviews(workspace, write=not dry_run) as store,
        _reading(workspace, repos, profile, settings, reporter) as cases,
    ):

        def take(judgements: Iterator[ReviewJudgement]) -> None:
            for repo, count in cases.repositories:
                rows = [verdict_row(each, profile.name) for each in islice(judgements, count)]
                write_reviews(
                    workspace, repo, profile.name, rows, reviewers(settings), store.seals()
                )

        result = judge(store, cases, profile.name, settings, reporter, None if dry_run else take)
    return replace(result, basis=tuple(find_basis(workspace, repos, profile.name)))


def reviewers(settings: ReviewSettings) -> dict[str, dict[str, Any]]:
    """Return the reviewers by prompt, as provenance states them."""
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


@contextmanager
def _reading(
    workspace: WorkspaceLayout,
    repos: Sequence[str],
    profile: Profile,
    settings: ReviewSettings,
    reporter: Reporter,
) -> Iterator[CaseFile]:
    """Open a file with the subjects of all repositories."""
    kinds = _kinds(settings)
    with case_file(workspace) as cases:
        with reporter.task("subjects", len(repos)) as progress:
            for repo in repos:
                read = (
                    read_cases(workspace, repo, profile, kind, settings.limit) for kind in kinds
                )
                cases.write(repo, chain.from_iterable(read))
                progress.advance()
        yield cases


def _kinds(settings: ReviewSettings) -> list[SubjectKind]:
    return [
        replace(kind, prompt=settings.prompts.get(subject, kind.prompt))
        for subject, kind in KINDS.items()
        if subject in settings.subjects
    ]


def review_labels(
    workspace: WorkspaceLayout,
    directory: Path,
    settings: ReviewSettings,
    reporter: Reporter,
    *,
    dry_run: bool = False,
) -> ReviewResult:
    """Ask models whether the labels of a dataset are right, and write their verdicts.

    With `dry_run` nothing is sent or written. Raises `UsageError` where the dataset is of no
    classification task, and `ReviewError` as `judge` does.
    """
    task = _task(workspace, directory)
    with open_reviews(workspace, write=not dry_run) as store, case_file(workspace) as cases:
        cases.write(task.name, _cases(directory, task, settings.limit))

        def take(judgements: Iterator[ReviewJudgement]) -> None:
            write_label_verdicts(workspace, task.name, judgements, store.seals())

        return judge(store, cases, task.name, settings, reporter, None if dry_run else take)


def _task(workspace: WorkspaceLayout, directory: Path) -> Task:
    name = str(read_provenance(directory).get("family"))
    task = find_task(name, tasks_directory(workspace.root))
    if task.type not in CLASSIFICATION:
        raise UsageError(
            f"{directory} holds {name}, which has no labels", "Give a dataset of a classification"
        )
    return task


def _cases(directory: Path, task: Task, limit: int | None) -> Iterator[ReviewItem]:
    tables = read_task_data(directory, task).splits.values()
    rows = pa.concat_tables(tables).sort_by("id")
    if limit is not None:
        # The same ones each time, with others only added.
        order = [hashlib.sha256(name.encode()).digest() for name in rows["id"].to_pylist()]
        rows = rows.take(sorted(sorted(range(len(order)), key=order.__getitem__)[:limit]))
    definitions = _definitions(task)
    target = target_column(task.type).name
    for batch in rows.to_batches(max_chunksize=1_000):
        for row in batch.to_pylist():
            labels = row[target]
            label = labels if isinstance(labels, str) else ", ".join(labels) or "(none)"
            parts = (definitions, PromptPart("text", row["text"]), PromptPart("label", label))
            yield prepare(ReviewItem(task.name, "label", example=row["id"], parts=parts))


def _definitions(task: Task) -> PromptPart:
    several = "A text may bear several labels, or none." if task.type == "multi-label" else ""
    labels = (f"{label.name}: {label.description}" for label in task.labels)
    return PromptPart("labels", "\n".join(filter(None, (task.definition, several, *labels))))
