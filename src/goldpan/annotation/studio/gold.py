"""Gold sets and agreement, from what annotators answered.

A row is a reply or a pair with its label, in the columns that `goldpan evaluate labels --gold`
reads. What people have not decided yet is left out.
"""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from goldpan.annotation.agreement import Rating
from goldpan.annotation.studio.decisions import SETTLED, Decision, decide
from goldpan.annotation.studio.forms import FORMS, Form, find_form
from goldpan.annotation.studio.project import open_project
from goldpan.annotation.studio.pull import read_table
from goldpan.annotation.studio.reference_labels import GivenLabels
from goldpan.core.errors import UsageError
from goldpan.core.workspace import Workspace, write_whole
from goldpan.datasets.gold import KINDS, Item, half_of


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
        if decision.how in SETTLED and subject in reference:
            ratings += [
                Rating(subject, "dataset", reference[subject]),
                Rating(subject, "people", decision.values),
            ]
    return ratings


_READERS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")
_UNDECIDED = ("conflict", "unfinished")


@dataclass(frozen=True, slots=True)
class GoldItem:
    """An item that people labelled."""

    item: Item
    repo: str
    label: str
    read: tuple[str, ...]
    """The labels of each annotator, before anything was adjudicated."""


@dataclass(frozen=True, slots=True)
class GoldSet:
    """What people decided, as a gold set."""

    column: str
    """`comment_id` or `pull`."""
    items: tuple[GoldItem, ...]
    """Sorted."""
    undecided: int
    """Subjects in conflict, or with too few answers."""

    def written(self) -> bytes:
        """Return the set as CSV; the same decisions give the same bytes."""
        readers = _READERS[: max((len(item.read) for item in self.items), default=0)]
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["repo", "issue", self.column, "half", *readers, "label"])
        for gold in self.items:
            _, issue, number = gold.item
            read = gold.read + ("",) * (len(readers) - len(gold.read))
            half = half_of(gold.repo, issue)
            writer.writerow([gold.repo, issue, number, half, *read, gold.label])
        return text.getvalue().encode()


def make_gold(workspace: Workspace, names: Iterable[str]) -> GoldSet:
    """Return the gold set of projects that ask the same.

    Raises `UsageError` for a form of which no gold set is made, for different forms, for an item
    that two projects label differently, and where nothing is decided.
    """
    items: dict[Item, GoldItem] = {}
    forms: set[str] = set()
    undecided = 0
    for name in dict.fromkeys(names):
        form = _form(workspace, name)
        forms.add(form.name)
        if len(forms) > 1:
            raise UsageError(
                f"The projects ask different questions: {' and '.join(sorted(forms))}",
                "Make one gold set per project",
            )
        read = _read(workspace, name, form)
        for decision in decide(workspace, name):
            if decision.how in _UNDECIDED:
                undecided += 1
                continue
            gold = _item(form, decision, read[decision.key["subject_id"]], name)
            if items.setdefault(gold.item, gold).label != gold.label:
                repo, issue, number = gold.item
                raise UsageError(
                    f"{repo}#{issue}, {_column(form)} {number}, is labelled twice, and differently",
                    "Leave one of the projects out",
                )
    if not items:
        raise UsageError(
            "Nothing is decided yet", "Run goldpan annotate pull once people have answered"
        )
    column = _column(FORMS.find(forms.pop()))
    return GoldSet(column, tuple(items[item] for item in sorted(items)), undecided)


def write_gold(gold: GoldSet, path: Path) -> None:
    """Write a gold set as CSV."""
    write_whole(path, gold.written())


def _form(workspace: Workspace, name: str) -> Form:
    form = find_form(open_project(workspace, name).facts.form)
    if not form.gold:
        making = [other.name for other in FORMS if other.gold]
        raise UsageError(
            f"No gold set is made of {form.name}", f"Choose a project of {' or '.join(making)}"
        )
    return form


def _column(form: Form) -> str:
    return next(kind.gold_column for kind in KINDS if kind.right in form.gold.values())


def _read(workspace: Workspace, name: str, form: Form) -> Mapping[str, tuple[str, ...]]:
    """Return the annotators' own labels, by subject, in the order of their pseudonyms."""
    by_subject: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for rating in read_ratings(workspace, name)[form.decides]:
        (label,) = rating.labels
        by_subject[rating.item].append((rating.rater, form.gold[label]))
    return {
        subject: tuple(label for _, label in sorted(labels))
        for subject, labels in by_subject.items()
    }


def _item(form: Form, decision: Decision, read: tuple[str, ...], name: str) -> GoldItem:
    key = decision.key
    number = key["pull"] if form.subject == "pair" else key["comment"]
    if number is None:
        raise UsageError(
            f"The project {name} does not say which reply people judged",
            "Push the dataset to a new project",
        )
    (value,) = decision.values
    return GoldItem(
        (key["repo"].lower(), key["issue"], number), key["repo"], form.gold[value], read
    )
