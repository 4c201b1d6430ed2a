"""Hands answers over to the measures of agreement."""

from __future__ import annotations

from goldpan.annotation.agreement import Rating
from goldpan.annotation.studio.project import open_project
from goldpan.annotation.studio.pull import read_table
from goldpan.workspace import Workspace


def read_ratings(workspace: Workspace, name: str) -> dict[str, list[Rating]]:
    """Return the answers that count, by field, for each field that everybody has to answer.

    Raises `WorkspaceError` before the first pull.
    """
    project = open_project(workspace, name)
    found: dict[str, list[Rating]] = {
        field.name: [] for field in project.configuration.fields if field.required
    }
    for row in read_table(workspace, name).to_pylist():
        if row["counts"] and row["field"] in found:
            rating = Rating(row["subject_id"], row["annotator"], tuple(row["values"]))
            found[row["field"]].append(rating)
    return found
