"""Reviews by models: `goldpan review`, of what a profile keeps or of a dataset's labels.

The subjects are read once into a file. Then each step goes through them anew: counting what is
to be asked, asking, and judging by the replies that the archive holds. So memory follows the
batch, and a run that goes on does exactly what a run does that starts.

The verdicts lie in WORKSPACE/verdicts/labels/TASK.llm.parquet; the dataset stays as it is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from goldpan.annotation.review.items import CaseFile, case_file, prepare, read_cases
from goldpan.annotation.review.request import load_prompt
from goldpan.annotation.review.reviewer import Judgement, ReviewResult, judge, open_reviews
from goldpan.annotation.review.settings import ReviewSettings
from goldpan.annotation.review.stored import verdict_row, write_answers, write_reviews
from goldpan.annotation.review.subjects import KINDS, ReviewItem, SubjectKind
from goldpan.annotation.review.votes import ReviewEstimate, ReviewPlanner
from goldpan.core.errors import UsageError
from goldpan.core.parquet import replace_tables
from goldpan.core.progress import Reporter
from goldpan.core.schemas import TableSchema
from goldpan.core.workspace import Workspace, tasks_directory
from goldpan.datasets.provenance import read_provenance
from goldpan.datasets.registry import find_task
from goldpan.datasets.task import CLASSIFICATION, Task, target_column
from goldpan.datasets.task_data import read_task_data
from goldpan.filters.basis import find_basis
from goldpan.filters.profile import Profile
from goldpan.llm.budget import Budget
from goldpan.llm.parts import Part
from goldpan.llm.response_store import ResponseStore


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


STAGE = "llm"
LABEL_VERDICTS = TableSchema(
    "label_verdicts",
    pa.schema(
        [
            ("task", pa.string()),
            ("example_id", pa.string()),
            ("stage", pa.string()),  # llm
            ("criterion", pa.string()),  # the prompt
            ("keep", pa.bool_()),  # null where people have to look
            ("reason", pa.string()),  # a short code; null where kept
            ("value", pa.float64()),  # confidence, or the share of the votes
            ("evidence", pa.string()),
            ("settings", pa.string()),  # digest of prompt, models and rules
        ]
    ),
    order=("example_id", "stage", "criterion"),
    key=("example_id", "stage", "criterion"),
)


def label_path(workspace: Workspace, task: str) -> Path:
    """Return the file of the verdicts on a task's labels."""
    return workspace.root / "verdicts" / "labels" / f"{task}.{STAGE}.parquet"


def review_labels(
    workspace: Workspace, directory: Path, settings: ReviewSettings, reporter: Reporter
) -> ReviewResult:
    """Ask models whether the labels of a dataset are right, and write their verdicts.

    Raises `UsageError` where the dataset is of no classification task, and `ReviewError` where
    the endpoint serves nobody; what was answered until then is kept and not asked again.
    """
    task = _task(workspace, directory)
    with open_reviews(workspace) as store, case_file(workspace) as cases:
        cases.write(task.name, _cases(directory, task, settings.limit))

        def take(judgements: Iterator[Judgement]) -> None:
            _write(workspace, task, judgements, store)

        return judge(store, cases, task.name, settings, reporter, take)


def estimate_labels(
    workspace: Workspace, directory: Path, settings: ReviewSettings
) -> ReviewEstimate:
    """Count what a review would send and cost; nothing is sent and nothing is written."""
    task = _task(workspace, directory)
    with open_reviews(workspace, write=False) as store, case_file(workspace) as cases:
        cases.write(task.name, _cases(directory, task, settings.limit))
        return ReviewPlanner(store, cases, settings).review_estimate(Budget(settings))


def _task(workspace: Workspace, directory: Path) -> Task:
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
        names = rows["id"].to_pylist()
        indexes = sorted(range(len(names)), key=lambda index: _drawn(names[index]))[:limit]
        rows = rows.take(sorted(indexes))
    definitions = _definitions(task)
    target = target_column(task.type).name
    for batch in rows.to_batches(max_chunksize=1_000):
        for row in batch.to_pylist():
            parts = (
                definitions,
                Part("text", row["text"]),
                Part("label", _label_text(row[target])),
            )
            yield prepare(ReviewItem(task.name, "label", example=row["id"], parts=parts))


def _drawn(name: str) -> bytes:
    """Return what draws examples: the same ones each time, with others only added."""
    return hashlib.sha256(name.encode()).digest()


def _definitions(task: Task) -> Part:
    several = "A text may bear several labels, or none." if task.type == "multi-label" else ""
    lines = [
        task.definition,
        several,
        *(f"{label.name}: {label.description}" for label in task.labels),
    ]
    return Part("labels", "\n".join(line for line in lines if line))


def _label_text(label: str | list[str]) -> str:
    return label if isinstance(label, str) else ", ".join(label) or "(none)"


def _write(
    workspace: Workspace, task: Task, judgements: Iterator[Judgement], store: ResponseStore
) -> None:
    path = label_path(workspace, task.name)
    rows = [_row(task, judgement) for judgement in judgements]
    table = pa.Table.from_pylist(rows, schema=LABEL_VERDICTS.schema)
    replace_tables(workspace, {path: (LABEL_VERDICTS, table)})
    write_answers(path, {task.name: store.seals()})


def _row(task: Task, judgement: Judgement) -> dict[str, Any]:
    decision = judgement.decision
    return {
        "task": task.name,
        "example_id": judgement.case.example,
        "stage": STAGE,
        "criterion": judgement.prompt,
        "keep": decision.keep,
        "reason": decision.reason,
        "value": decision.value,
        "evidence": decision.evidence or None,
        "settings": judgement.digest,
    }
