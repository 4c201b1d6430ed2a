"""What people decided about sentences: `--annotations` and `--require`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from goldpan.annotation.studio.configuration import NONE
from goldpan.annotation.studio.forms import find_form
from goldpan.annotation.studio.project import open_project
from goldpan.core.errors import UsageError, WorkspaceError
from goldpan.core.parquet import read_table
from goldpan.core.workspace import Workspace
from goldpan.datasets.provenance import digest

_FIELD = "categories"
_DECIDED = ("agreed", "adjudicated")


@dataclass(frozen=True, slots=True)
class Label:
    """What people decided about one sentence."""

    labels: tuple[str, ...]
    """Empty for none of the categories."""
    how: str


@dataclass(frozen=True, slots=True)
class Labels:
    """What people decided, by the id of the row."""

    by_id: Mapping[str, Label] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)
    """The SHA-256 of what was read, by name."""


def read_labels(workspace: Workspace, projects: Sequence[str]) -> Labels:
    """Return what people decided in annotation projects on code comments.

    Raises `UsageError` for a project that asks something else, or where two projects decided
    differently about a sentence, and `WorkspaceError` before the first `goldpan annotate pull`.
    """
    labels: dict[str, Label] = {}
    origin: dict[str, str] = {}
    inputs = {}
    for name in dict.fromkeys(projects):
        project = open_project(workspace, name)
        if find_form(project.facts.form).decides != _FIELD:
            raise UsageError(
                f"The project {name} asks {project.facts.form}, not about code comments",
                "Give a project of a code-comment form",
            )
        path = project.path("decisions.parquet")
        if not path.exists():
            raise WorkspaceError(
                f"Nobody has decided anything in {name} yet",
                f"Run goldpan annotate pull --project {name}",
            )
        inputs[f"annotations/{name}/decisions.parquet"] = digest(path)
        for subject, label in _decided(path, name):
            if labels.setdefault(subject, label).labels != label.labels:
                raise UsageError(
                    f"{origin[subject]} and {name} decided differently about {subject}",
                    "Give one of these projects",
                )
            origin.setdefault(subject, name)
    return Labels(labels, inputs)


def _decided(path: Path, name: str) -> list[tuple[str, Label]]:
    try:
        table = read_table(path, columns=["subject_id", "values", "how"])
    except (OSError, pa.ArrowException) as error:
        raise WorkspaceError(
            f"The decisions of {name} cannot be read ({str(error).splitlines()[0]})",
            f"Run goldpan annotate pull --project {name} again",
        ) from None
    return [
        (row["subject_id"], Label(tuple(sorted(set(row["values"]) - {NONE})), row["how"]))
        for row in table.to_pylist()
        if row["how"] in _DECIDED
    ]
