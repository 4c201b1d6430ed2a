"""Gold sets, ratings and corrections of labels, from what annotators answered.

A row is a reply or a pair with its label, in the columns that `goldpan evaluate labels --gold`
reads. What people have not decided yet is left out.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from goldpan.annotation.agreement import Agreement, Rating, agree
from goldpan.annotation.studio.answers import stored_annotations
from goldpan.annotation.studio.client import Server
from goldpan.annotation.studio.configuration import NONE
from goldpan.annotation.studio.decisions import SETTLED, Decision, decide
from goldpan.annotation.studio.forms import FORMS, OF_TASK, Form, choice_of, find_form, form_of
from goldpan.annotation.studio.label_sample import LabelSample
from goldpan.annotation.studio.progress import AnnotatorProgress
from goldpan.annotation.studio.project import DatasetLabels, Project, open_project
from goldpan.annotation.studio.pull import collect
from goldpan.annotation.studio.push import SuspectSelection, push, read_selection
from goldpan.core.errors import UsageError
from goldpan.core.proportions import Estimate
from goldpan.core.result import Result
from goldpan.core.storage.workspace import WorkspaceLayout, write_whole
from goldpan.core.terminal import Reporter
from goldpan.datasets.corrections import Corrections, LabelDecision
from goldpan.datasets.gold import KINDS, Item, half_of
from goldpan.datasets.tasks.task import CLASSIFICATION, Task


@dataclass(frozen=True, slots=True)
class Agreements(Result):
    """The agreement of people on each field, and with the dataset's labels."""

    schema = 3
    fields: tuple[Agreement, ...]
    dataset: Agreement | None
    """That of people's decisions with the dataset's labels, where it has some."""
    annotators: tuple[AnnotatorProgress, ...]


def read_ratings(workspace: WorkspaceLayout, name: str) -> dict[str, list[Rating]]:
    """Return the answers that count, by field, for each field that everybody has to answer.

    Raises `WorkspaceError` before the first pull.
    """
    project = open_project(workspace, name)
    answers = list(stored_annotations(project))
    return {
        question.field: [
            Rating(answer.key.subject_id, answer.annotator, answer.values[question.field])
            for answer in answers
        ]
        for question in project.configuration.questions
        if question.required
    }


def ratings_beside_dataset(workspace: WorkspaceLayout, name: str) -> list[Rating]:
    """Return what people decided beside the labels that the dataset gives the same subjects.

    The raters are `dataset` and `people`; empty where the dataset gives no labels of the form.
    """
    reference = DatasetLabels(open_project(workspace, name)).labels
    ratings = []
    for decision in decide(workspace, name) if reference else []:
        subject = decision.key.subject_id
        if decision.how in SETTLED and subject in reference:
            ratings += [
                Rating(subject, "dataset", reference[subject]),
                Rating(subject, "people", decision.values),
            ]
    return ratings


_READERS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")
"""Columns of the first annotators' labels; further ones are numbered."""


@dataclass(frozen=True, slots=True)
class GoldItem:
    """An item that people labeled."""

    item: Item
    repo: str
    label: str
    annotator_labels: tuple[str, ...]
    """The label of each annotator, before anything was adjudicated."""


@dataclass(frozen=True, slots=True)
class GoldSet:
    """A gold set made of people's decisions."""

    column: str
    """`comment_id` or `pull`."""
    items: tuple[GoldItem, ...]
    """Sorted."""
    undecided: int
    """Subjects in conflict, or with too few answers."""

    def as_csv(self) -> bytes:
        """Return the set as CSV; the same decisions give the same bytes."""
        most = max((len(item.annotator_labels) for item in self.items), default=0)
        readers = (*_READERS, *(f"annotator {n}" for n in range(len(_READERS) + 1, most + 1)))[
            :most
        ]
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["repo", "issue", self.column, "half", *readers, "label"])
        for gold in self.items:
            _, issue, number = gold.item
            labels = gold.annotator_labels + ("",) * (most - len(gold.annotator_labels))
            half = half_of(gold.repo, issue)
            writer.writerow([gold.repo, issue, number, half, *labels, gold.label])
        return text.getvalue().encode()


def make_gold(workspace: WorkspaceLayout, names: Iterable[str]) -> GoldSet:
    """Return the gold set of projects that ask the same.

    Raises `UsageError` for a form without gold labels, for different forms, for an item that two
    projects label differently, and where nothing is decided.
    """
    forms = {name: _form(workspace, name) for name in names}
    form_names = sorted({form.name for form in forms.values()})
    if len(form_names) > 1:
        raise UsageError(
            f"The projects ask different questions: {' and '.join(form_names)}",
            "Make one gold set per project",
        )
    items: dict[Item, GoldItem] = {}
    undecided = 0
    for name, form in forms.items():
        labels = _annotator_labels(workspace, name, form)
        for decision in decide(workspace, name):
            if decision.how not in SETTLED:
                undecided += 1
                continue
            gold = _item(form, decision, labels[decision.key.subject_id], name)
            if items.setdefault(gold.item, gold).label != gold.label:
                repo, issue, number = gold.item
                raise UsageError(
                    f"{repo}#{issue}, {_column(form)} {number}, is labeled twice, and differently",
                    "Leave one of the projects out",
                )
    if not items:
        raise UsageError(
            "Nothing is decided yet", "Run goldpan annotate pull once people have answered"
        )
    return GoldSet(_column(form), tuple(items[item] for item in sorted(items)), undecided)


@dataclass(frozen=True, slots=True)
class GoldExport(Result):
    """A gold set that was written."""

    gold: Path
    items: int
    labels: Mapping[str, int]
    """How many items have each label."""
    undecided: int
    """Subjects in conflict, or with too few answers, which are left out."""


def export_gold(workspace: WorkspaceLayout, names: Iterable[str], path: Path) -> GoldExport:
    """Write the gold set of projects as CSV; raises as `make_gold` does."""
    gold = make_gold(workspace, names)
    write_whole(path, gold.as_csv())
    labels = Counter(item.label for item in gold.items)
    return GoldExport(path, len(gold.items), dict(sorted(labels.items())), gold.undecided)


def _form(workspace: WorkspaceLayout, name: str) -> Form:
    form = find_form(open_project(workspace, name).facts.form)
    if not form.gold:
        others = [other.name for other in FORMS if other.gold]
        raise UsageError(
            f"No gold set is made of {form.name}", f"Choose a project of {' or '.join(others)}"
        )
    return form


def _column(form: Form) -> str:
    return next(kind.gold_column for kind in KINDS if kind.right in form.gold.values())


def _annotator_labels(
    workspace: WorkspaceLayout, name: str, form: Form
) -> Mapping[str, tuple[str, ...]]:
    """Return the annotators' own labels, by subject, in the order of their pseudonyms."""
    by_subject: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for rating in read_ratings(workspace, name)[form.decides]:
        (label,) = rating.labels
        by_subject[rating.item].append((rating.rater, form.gold[label]))
    return {
        subject: tuple(label for _, label in sorted(labels))
        for subject, labels in by_subject.items()
    }


def _item(form: Form, decision: Decision, labels: tuple[str, ...], name: str) -> GoldItem:
    key = decision.key
    number = key.pull if form.subject == "pair" else key.comment
    if number is None or key.issue is None:
        raise UsageError(
            f"The project {name} does not say which reply people judged",
            "Push the dataset to a new project",
        )
    (value,) = decision.values
    return GoldItem((key.repo.lower(), key.issue, number), key.repo, form.gold[value], labels)


_OUTCOMES = ("kept", "changed", "outside", "absent")
_DIGITS = 6


def read_corrections(
    workspace: WorkspaceLayout, names: Sequence[str], task: Task
) -> Corrections | None:
    """Return what people decided about a task's labels in projects; None where none is named.

    What they agreed on counts, and what a third person decided. Raises `UsageError` for a task
    without labels, for a project that does not ask for all of them, and where two projects decided
    differently about a row; `WorkspaceError` before the first pull.
    """
    if not names:
        return None
    if task.type not in CLASSIFICATION:
        raise UsageError(f"{task.name} has no labels to correct", "Choose a classification task")
    decided: dict[str, LabelDecision] = {}
    projects: dict[str, dict[str, Any]] = {}
    for name in dict.fromkeys(names):
        project = open_project(workspace, name)
        form = form_of(project)
        label_of = _labels_by_choice(form, project, task)
        selection = read_selection(project)
        controls = frozenset(row.id for row in selection.rows if row.control) if selection else ()
        decisions = list(decide(workspace, name))
        for decision in decisions:
            if decision.how in SETTLED:
                subject = decision.key.subject_id
                labels = _labels(decision, label_of, several=task.type == "multi-label")
                correction = LabelDecision(name, labels, subject in controls)
                if decided.setdefault(subject, correction).labels != labels:
                    raise UsageError(
                        f"{decided[subject].project} and {name} decided differently about "
                        f"{subject}",
                        "Give one of these projects",
                    )
        projects[name] = _described(workspace, project, form, decisions, selection)
    return Corrections(decided, projects)


def projects_by_task(
    workspace: WorkspaceLayout, names: Sequence[str], tasks: Sequence[Task]
) -> Mapping[str, list[str]]:
    """Return the projects that correct each task: those whose form was made of it.

    Raises `UsageError` for a project that corrects none of the tasks.
    """
    forms = {name: open_project(workspace, name).facts.form for name in names}
    task_forms = {task.name: f"{OF_TASK}{task.name}" for task in tasks}
    for name, form in forms.items():
        if form not in task_forms.values():
            raise UsageError(
                f"The project {name} asks {form}, and no task that is imported here",
                "Give projects that were pushed with --task, or use goldpan tasks import",
            )
    return {
        task: [name for name, form in forms.items() if form == task_form]
        for task, task_form in task_forms.items()
    }


def _labels_by_choice(form: Form, project: Project, task: Task) -> dict[str, str]:
    label_of: dict[str, str] = {}
    for label in task.label_names:
        if (choice := choice_of(form, label)) is None:  # it would seem to be denied
            raise UsageError(
                f"The project {project.name} asks {form.name}, which has no choice {label!r} "
                f"as {task.name} has",
                f"Give a project that was pushed with --task {task.name}",
            )
        label_of[choice] = label
    return label_of


def _labels(
    decision: Decision, label_of: Mapping[str, str], *, several: bool
) -> tuple[str, ...] | None:
    """Return the labels that were decided; None where one is no label of the task."""
    chosen = [value for value in decision.values if value != NONE or NONE in label_of]
    if not chosen:
        return () if several and NONE in decision.values else None
    return tuple(label_of[value] for value in chosen) if set(chosen) <= label_of.keys() else None


def _described(
    workspace: WorkspaceLayout,
    project: Project,
    form: Form,
    decisions: Sequence[Decision],
    selection: SuspectSelection | None,
) -> dict[str, Any]:
    """Return the description of a project in card and provenance."""
    ratings = read_ratings(workspace, project.name)[form.decides]
    measured = agree(form.decides, ratings)
    how = Counter(decision.how for decision in decisions)
    settled = sorted(
        (decision.key.subject_id, decision.how, sorted(decision.values))
        for decision in decisions
        if decision.how in SETTLED
    )
    ranking = None
    if selection is not None:
        ranking = {
            **{name: getattr(selection, name) for name in ("task", "data_hash", "folds", "seed")},
            "suspects": sum(not row.control for row in selection.rows),
            "controls": sum(row.control for row in selection.rows),
        }
    return {
        "form": form.name,
        "configuration": project.configuration.digest,
        "blind": project.facts.blind,
        "annotators": len({rating.rater for rating in ratings}),
        "answers": project.facts.annotators,
        "decisions": {name: how[name] for name in sorted(how)},
        "agreement": {"raw": _plain(measured.raw), "alpha": _plain(measured.alpha)},
        "sha256": hashlib.sha256(orjson.dumps(settled)).hexdigest(),
        "ranking": ranking,
        "outcome": dict.fromkeys(_OUTCOMES, 0),
        "controls": dict.fromkeys(("kept", "changed"), 0),
    }


def _plain(estimate: Estimate) -> dict[str, float | None]:
    return {
        name: None if value is None else round(value, _DIGITS)
        for name, value in asdict(estimate).items()
    }


def collect_readings(
    workspace: WorkspaceLayout, server: Server, name: str, sample: LabelSample, reporter: Reporter
) -> str:
    """Push the rows of a sample that a project lacks, and keep the answers of its annotators.

    Returns the address where they begin. An answer on another reply than the row has now is of a
    row that changed, and not kept.
    """
    form = sample.form
    pushed = push(workspace, server, name, form, [task for _, task in sample.rows], reporter)
    collect(workspace, server, name, reporter)
    items = {(task.key.subject_id, task.key.comment): item for item, task in sample.rows}
    for answer in stored_annotations(open_project(workspace, name)):
        item = items.get((answer.key.subject_id, answer.key.comment))
        if item is not None:
            (value,) = answer.chosen(form.decides)
            sample.keep(item, answer.annotator, form.gold.get(value, value), answer.reason)
    return pushed.page
