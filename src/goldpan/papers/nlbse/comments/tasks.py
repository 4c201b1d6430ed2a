"""Turns labelled sentences into the rows of a task of the registry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from goldpan.core.errors import UsageError
from goldpan.datasets.family import GROUP
from goldpan.datasets.task import Task
from goldpan.datasets.task_rows import target_column
from goldpan.papers.nlbse.comments.nlbse23_comments import spelled

_LANGUAGES = {"pharo": "Smalltalk", "java": "Java", "python": "Python"}
BUILDER = "code-comments"
"""The builder that tasks on comments name as theirs."""


def task_language(task: Task) -> str:
    """Return the language of a task on code comments; raises `UsageError` for another task."""
    language = _LANGUAGES.get(str(task.settings.get("language")))
    fitting = {"binary": "category", "multi-label": "categories"}.get(task.type, "")
    if task.source.builder != BUILDER or language is None or fitting not in task.settings:
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
