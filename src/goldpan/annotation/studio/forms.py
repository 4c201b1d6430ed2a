"""What annotators can be asked about, and how a row of a dataset is put before them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from goldpan.annotation.studio import panels
from goldpan.errors import DatasetError, UsageError

SubjectKind = Literal["pair", "issue", "text"]
Row = Mapping[str, Any]
_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class Task:
    """A subject as it is put before annotators."""

    subject_id: str
    subject: SubjectKind
    repo: str
    issue: int | None
    pull_repo: str | None
    pull: int | None
    panels: Mapping[str, str]
    """HTML by the panel's name."""

    def data(self) -> dict[str, object]:
        """Return the task's data on the server."""
        key = {"subject": self.subject, "repo": self.repo, "issue": self.issue}
        key |= {"pull_repo": self.pull_repo, "pull": self.pull}
        return {"id": self.subject_id, **key, **self.panels}


@dataclass(frozen=True, slots=True)
class Form:
    """A configuration together with the rows that it asks about."""

    name: str
    """Of the configuration that ships."""
    subject: SubjectKind
    columns: tuple[str, ...]
    """What a row has to hold."""
    draw: Callable[[Row], Mapping[str, str]]
    """Returns the panels of a row."""
    decides: str
    """The field that people have to agree on."""
    keeps: frozenset[str] = field(default_factory=frozenset)
    """Its values that keep a subject; empty where the answer is a label, not a judgement."""
    optional: tuple[str, ...] = ()
    """What a row may hold."""


def _fix_pair(row: Row) -> Mapping[str, str]:
    title = f"{row['repo']}: issue #{row['issue']}, pull request #{row['pull']}"
    said = panels.document(row["pull_title"], row["pull_body"], "Pull request")
    return {
        "note": panels.heading(title),
        "issue_panel": panels.document(row["title"], row["body"], "Issue"),
        "change_panel": said + panels.change(row["path"], row["diff"]),
    }


def _question_answer(row: Row) -> Mapping[str, str]:
    turns = [
        (
            turn["role"] or "somebody",
            turn["content"],
            turn["comment_id"] == row["answer_comment_id"],
        )
        for turn in row["dialogue"]
        if turn["comment_id"] is not None
    ]
    return {
        "note": panels.heading(f"{row['repo']}: issue #{row['issue']}"),
        "issue_panel": panels.document(row["title"], row["body"], "Question"),
        "answer_panel": panels.dialogue(turns),
    }


def _issue_type(row: Row) -> Mapping[str, str]:
    return {
        "note": panels.heading(f"{row['repo']}: issue #{row['issue']}"),
        "issue_panel": panels.document(row["title"], row["body"], "Issue"),
    }


def _code_comment(row: Row) -> Mapping[str, str]:
    return {
        "note": panels.heading(f"{row['repo']}: {row.get('path') or row['id']}"),
        "sentence_panel": f'<div class="gp-doc">{panels.prose(row["sentence"])}</div>',
        "code_panel": panels.code(row["code"]) if row.get("code") else panels.prose(None),
    }


_PAIR = ("repo", "issue", "pull", "title", "body", "pull_title", "pull_body", "path", "diff")
_QA = ("repo", "issue", "title", "body", "dialogue", "answer_comment_id")
_COMMENT = ("id", "repo", "sentence")

FORMS = {
    form.name: form
    for form in (
        Form("fix-pair", "pair", _PAIR, _fix_pair, "verdict", frozenset({"fixes"})),
        Form("question-answer", "issue", _QA, _question_answer, "verdict", frozenset({"answered"})),
        Form("issue-type", "issue", ("repo", "issue", "title", "body"), _issue_type, "type"),
        *(
            Form(
                f"code-comment-{language}",
                "text",
                _COMMENT,
                _code_comment,
                "categories",
                optional=("path", "code"),
            )
            for language in ("java", "pharo", "python")
        ),
    )
}


def find_form(name: str) -> Form:
    """Return a form; raises `UsageError` that lists those there are."""
    if name not in FORMS:
        raise UsageError(f"There is no form {name!r}", f"Choose {', '.join(FORMS)}")
    return FORMS[name]


def make_task(form: Form, row: Row) -> Task:
    """Return the task of a row."""
    repo, issue, pull = row["repo"], row.get("issue"), row.get("pull")
    if form.subject == "pair":
        name, pull_repo = f"pair:{repo}#{issue}+{pull}", repo
    elif form.subject == "issue":
        name, pull_repo, pull = f"issue:{repo}#{issue}", None, None
    else:
        name, pull_repo, pull, issue = str(row["id"]), None, None, None
    return Task(name, form.subject, repo, issue, pull_repo, pull, form.draw(row))


def read_tasks(directory: Path, form: Form) -> Iterator[Task]:
    """Yield a task for each row of a dataset, all splits, in the order of its files.

    Annotators see what is published: texts without what is private. Raises `DatasetError` where
    the directory holds no dataset that the form can ask about.
    """
    paths = sorted((directory / "data").glob("*.parquet"))
    if not paths:
        raise DatasetError(f"{directory} holds no dataset", "Make one with goldpan build")
    for path in paths:
        try:
            file = pq.ParquetFile(path)
            there = set(file.schema_arrow.names)
            if lacking := [name for name in form.columns if name not in there]:
                raise DatasetError(
                    f"{directory} lacks what {form.name} shows: {', '.join(lacking)}",
                    "Choose the dataset that belongs to it: code-edit for fix-pair, "
                    "qa for question-answer and issue-type",
                )
            columns = [*form.columns, *(name for name in form.optional if name in there)]
            for batch in file.iter_batches(_AT_ONCE, columns=columns):
                for row in batch.to_pylist():
                    yield make_task(form, row)
        except (OSError, pa.ArrowException) as error:
            raise DatasetError(
                f"{path} cannot be read ({str(error).splitlines()[0]})", "Build it again"
            ) from None
