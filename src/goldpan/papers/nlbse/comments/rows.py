"""The rows of the dataset, one a sentence: their columns, and the labels that people gave them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldpan.papers.nlbse.comment_files import spelled
from goldpan.papers.nlbse.comments.extract import CommentFound, FileRead
from goldpan.plugins import data
from goldpan.plugins.data import (
    GROUP,
    Commit,
    Task,
    TreeFile,
    UsageError,
    Workspace,
    read_family,
    target_column,
)

_SHORT = 12
_FIELD = "categories"
_LANGUAGES = {"pharo": "Smalltalk", "java": "Java", "python": "Python"}
_FORMS = Path(__file__).parents[1] / "form_files"
CODE_COMMENTS = read_family(Path(__file__).with_name("code-comments.toml"))
"""Sentences of class comments and docstrings."""


@dataclass(frozen=True, slots=True)
class Label:
    """What people decided about one sentence."""

    labels: tuple[str, ...]
    """Empty for none of the categories."""
    how: str


def read_labels(workspace: Workspace, projects: Sequence[str]) -> dict[str, Label]:
    """Return what people decided in annotation projects on code comments, by the id of the row.

    Raises `UsageError` for a project that asks something else, or where two projects decided
    differently about a sentence, and `WorkspaceError` before the first `goldpan annotate pull`.
    """
    labels: dict[str, Label] = {}
    origin: dict[str, str] = {}
    for name in dict.fromkeys(projects):
        project = data.open_project(workspace, name)
        if data.find_form(project.facts.form).decides != _FIELD:
            raise UsageError(
                f"The project {name} asks {project.facts.form}, not about code comments",
                "Give a project of a code-comment form",
            )
        for subject, values, how in data.read_settled(project):
            if labels.setdefault(subject, Label(values, how)).labels != values:
                raise UsageError(
                    f"{origin[subject]} and {name} decided differently about {subject}",
                    "Give one of these projects",
                )
            origin.setdefault(subject, name)
    return labels


def rows_of(
    commit: Commit, file: TreeFile, contents: FileRead, labels: Mapping[str, Label]
) -> Iterator[dict[str, Any]]:
    """Yield the sentences of a file, with what people decided about them.

    Comments that read the same are near duplicates. A class that a file declares twice is one
    subject, so all its comments go with the first.
    """
    owner, _, name = commit.repo.partition("/")
    groups: dict[str, str] = {}
    for comment in contents.comments:
        group = groups.setdefault(comment.name, _fingerprint(comment))
        for position, sentence in enumerate(comment.sentences):
            start, end = sentence.span.start, sentence.span.end
            location = f"{file.path}@{file.id[:_SHORT]}:{start}-{end}"
            id = f"{CODE_COMMENTS.name}:{commit.repo}:{location}"
            label = labels.get(id)
            yield {
                "id": id,
                "repo": commit.repo,
                "owner": owner,
                "name": name,
                "license": commit.license,
                "language": contents.language,
                "commit": commit.id,
                "committed_at": commit.at,
                "path": file.path,
                "blob": file.id,
                "encoding": contents.encoding,
                "class": comment.name,
                "kind": comment.kind,
                "form": comment.form,
                "position": position,
                "sentences": len(comment.sentences),
                "sentence": sentence.sentence,
                "text": sentence.text,
                "start": start,
                "end": end,
                "line": sentence.line,
                "end_line": sentence.end_line,
                "comment": comment.comment,
                "code": comment.code,
                "labels": label and list(label.labels),
                "decided": label and label.how,
                GROUP: group,
            }


def _fingerprint(comment: CommentFound) -> str:
    content = "\n".join(sentence.text for sentence in comment.sentences)
    return hashlib.sha256(content.encode()).hexdigest()


def task_language(task: Task) -> str:
    """Return the language of a task on code comments; raises `UsageError` for another task."""
    language = _LANGUAGES.get(str(task.settings.get("language")))
    fitting = {"binary": "category", "multi-label": "categories"}.get(task.type, "")
    own = task.source.builder == CODE_COMMENTS.name
    if not own or language is None or fitting not in task.settings:
        raise UsageError(
            f"{task.name} is not a task on code comments",
            "Choose one such as comment_type_java or nlbse23_java_summary",
        )
    return language


def task_row(task: Task, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a labelled sentence as a row of a task; categories are compared by their letters."""
    labels = {spelled(label) for label in row["labels"]}
    target: str | list[str]
    if task.type == "binary":
        positive, negative = task.label_names
        target = positive if spelled(task.settings["category"]) in labels else negative
    else:
        named = zip(task.settings["categories"], task.label_names, strict=True)
        target = [label for category, label in named if spelled(category) in labels]
    return {
        "id": f"{task.name}:{row['id']}",
        "repo": row["repo"],
        "license": row["license"],
        "created_at": row["committed_at"],
        "document": f"{row['path']}:{row['class']}",
        "position": row["position"],
        "partition": None,
        "source": f"{row['commit']}:{row['path']}:{row['line']}",
        "text": row["text"],
        target_column(task.type).name: target,
        GROUP: row[GROUP],
    }


def _form(language: str) -> data.Form:
    name, readings = f"code-comment-{language}", (data.SENTENCE, data.SENTENCE_TEXT)
    return data.Form(name, readings, _FIELD, language=language, file=_FORMS / f"{name}.xml")


JAVA, PHARO, PYTHON = map(_form, ("java", "pharo", "python"))
"""How annotators classify the sentences of class comments (NLBSE'23, section III)."""
