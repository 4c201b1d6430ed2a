"""Suggestions, filled in before a person looks: `goldpan annotate push --not-blind`.

People lean towards what is filled in, so a project is blind by default; a gold set should be.
Suggestions come from stored reviews of language models, and where a form asks for a label, from the
dataset's own labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from goldpan.annotation.review.stored import read_reviews
from goldpan.annotation.studio.configuration import Configuration, check
from goldpan.annotation.studio.forms import Form, StudioTask
from goldpan.annotation.studio.panels import answers_panel
from goldpan.core.errors import DatasetError, UsageError
from goldpan.core.storage.parquet import reading
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.provenance import shard_paths
from goldpan.filters.answers import named_comment
from goldpan.filters.basis import Basis, find_basis

VERSION = "suggestion"
"""The model's name in Label Studio, which shows the suggestions of one alone in a project."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """An answer that fills the form in before a person looks."""

    source: str
    """The origin of the suggestion, for annotators to read."""
    values: Mapping[str, tuple[str, ...]]
    """By field."""
    score: float | None = None
    because: str = ""
    """A quote, or the reason."""
    comment: int | None = None
    """The reply that the suggestion is about."""


Suggest = Callable[[StudioTask], Suggestion | None]
"""Returns the suggestion for a task, if there is one."""


@dataclass(frozen=True, slots=True)
class _Review:
    """The answers of a form that correspond to the verdicts of a review."""

    criterion: str
    keep: str
    drop: Mapping[str, str] = field(default_factory=dict)
    """Answers by reason; other reasons suggest nothing."""


_REVIEWS = {
    "fix-pair": _Review(
        "problem-solution",
        "fixes",
        {
            "partial": "partly",
            **dict.fromkeys(("unrelated", "work-around"), "not"),
            **dict.fromkeys(("no-problem", "not-self-contained"), "no-problem"),
        },
    ),
    "question-answer": _Review(
        "question-answer",
        "answers",
        {
            "incomplete": "partly",
            **dict.fromkeys(("no-answer", "off-topic"), "not"),
            "no-question": "no-question",
        },
    ),
}


def find_suggestions(
    workspace: WorkspaceLayout, form: Form, dataset: Path, profile: str
) -> Suggest:
    """Return a function that suggests answers for the rows of a dataset.

    Raises `WorkspaceError` where the form needs reviews and a repository was not reviewed under
    the profile.
    """
    if form.name not in _REVIEWS:
        return lambda task: (
            Suggestion("the dataset", {form.decides: task.dataset_labels})
            if task.dataset_labels
            else None
        )
    reviewed = review_suggestions(workspace, form, _repositories(dataset), profile)

    def about_same_reply(task: StudioTask) -> Suggestion | None:
        suggestion = reviewed.get(task.key.subject_id)
        comment = suggestion and suggestion.comment
        return suggestion if comment in (None, task.key.comment) else None

    return about_same_reply


def find_review_basis(
    workspace: WorkspaceLayout, form: Form, dataset: Path, profile: str
) -> list[Basis]:
    """Return which pairs and verdicts stand behind the suggestions, where those are reviews."""
    repos = _repositories(dataset) if form.name in _REVIEWS else []
    return find_basis(workspace, repos, profile)


def review_suggestions(
    workspace: WorkspaceLayout, form: Form, repos: Iterable[str], profile: str
) -> dict[str, Suggestion]:
    """Return the suggestions of stored reviews by subject; undecided reviews give none."""
    review = _REVIEWS[form.name]
    suggestions = {}
    for repo in repos:
        for row in read_reviews(workspace, repo, profile).to_pylist():
            answer = _answer(review, row)
            if row["criterion"] != review.criterion or answer is None:
                continue
            subject = f"issue:{row['repo']}#{row['issue']}"
            if form.subject == "pair":
                subject = f"pair:{row['repo']}#{row['issue']}+{row['pull']}"
            suggestions[subject] = Suggestion(
                "a language model",
                {form.decides: (answer,)},
                row["value"],
                row["evidence"] or "",
                named_comment(row["evidence"]),
            )
    return suggestions


def suggestion_panel(configuration: Configuration, suggestion: Suggestion) -> str:
    """Return the panel that shows annotators what is filled in, and by whom."""
    fields = []
    for name, values in suggestion.values.items():
        labels = configuration.question(name).labels
        text = ", ".join(labels.get(value, value) for value in values)
        score = "" if suggestion.score is None else f" ({suggestion.score:.2f})"
        fields.append(("Filled in:", f"{text}{score}"))
    if suggestion.because:
        fields.append(("Because:", suggestion.because))
    return answers_panel([(f"Suggested by {suggestion.source}", fields)])


def prediction(
    configuration: Configuration, subject_id: str, suggestion: Suggestion
) -> dict[str, object]:
    """Return a suggestion as Label Studio expects it; raises `UsageError` for an invalid one."""
    kinds = {"choices": "choices", "text": "textarea"}
    questions = {question.field: question for question in configuration.questions}
    result = []
    for name, values in suggestion.values.items():
        if name not in questions:
            raise UsageError(
                f"A suggestion for {subject_id} names the field {name}",
                f"{configuration.name} has {', '.join(questions)}",
            )
        kind = questions[name].kind
        result.append(
            {
                "from_name": name,
                "to_name": configuration.target,
                "type": kinds[kind],
                "value": {kind: list(values)},
            }
        )
    if problem := check(configuration, result).problem:
        raise UsageError(
            f"The suggestion for {subject_id} is not an answer ({problem})", "Fix what made it"
        )
    return {"model_version": VERSION, "result": result, "score": suggestion.score}


def _answer(review: _Review, row: Mapping[str, Any]) -> str | None:
    if row["keep"] is None:
        return None
    return review.keep if row["keep"] else review.drop.get(row["reason"])


def _repositories(dataset: Path) -> list[str]:
    found: set[str | None] = set()
    for path in shard_paths(dataset):
        with reading(path, "Build it again", DatasetError):
            rows = pq.read_table(path, columns=["repo"])
        found.update(*(column.unique().to_pylist() for column in rows.columns))
    return sorted(repo for repo in found if repo is not None)
