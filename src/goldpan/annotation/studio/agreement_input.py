"""Hands answers over to the measures of agreement: people among themselves, and the dataset."""

from __future__ import annotations

from goldpan.annotation.agreement import Rating
from goldpan.annotation.studio.decisions import decide
from goldpan.annotation.studio.project import open_project
from goldpan.annotation.studio.pull import read_table
from goldpan.annotation.studio.reference_labels import GivenLabels
from goldpan.core.workspace import Workspace


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


def ratings_beside_dataset(workspace: Workspace, name: str) -> list[Rating]:
    """Return what people decided beside the labels that the dataset gives the same subjects.

    The raters are `dataset` and `people`; empty where the dataset gives no labels of the form.
    """
    given = GivenLabels(open_project(workspace, name)).labels
    found = []
    for one in decide(workspace, name) if given else []:
        subject = one.key["subject_id"]
        if one.how in ("agreed", "adjudicated") and subject in given:
            found += [
                Rating(subject, "dataset", given[subject]),
                Rating(subject, "people", one.values),
            ]
    return found
