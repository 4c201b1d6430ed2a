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
    ratings: dict[str, list[Rating]] = {
        field.name: [] for field in project.configuration.fields if field.required
    }
    for row in read_table(workspace, name).to_pylist():
        if row["counts"] and row["field"] in ratings:
            rating = Rating(row["subject_id"], row["annotator"], tuple(row["values"]))
            ratings[row["field"]].append(rating)
    return ratings


def ratings_beside_dataset(workspace: Workspace, name: str) -> list[Rating]:
    """Return what people decided beside the labels that the dataset gives the same subjects.

    The raters are `dataset` and `people`; empty where the dataset gives no labels of the form.
    """
    reference = GivenLabels(open_project(workspace, name)).labels
    ratings = []
    for decision in decide(workspace, name) if reference else []:
        subject = decision.key["subject_id"]
        if decision.how in ("agreed", "adjudicated") and subject in reference:
            ratings += [
                Rating(subject, "dataset", reference[subject]),
                Rating(subject, "people", decision.values),
            ]
    return ratings
