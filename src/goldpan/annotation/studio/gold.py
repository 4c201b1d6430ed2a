"""Gold sets, ratings and corrections of labels, from what annotators answered.

A row of a gold set is a reply or a pair with its label, in the columns that `goldpan evaluate
labels --gold` reads. What people have not decided yet is left out.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from goldpan.annotation.agreement import Agreement, Rating, agree
from goldpan.annotation.studio.answers import asking, rows
from goldpan.annotation.studio.client import Server
from goldpan.annotation.studio.configuration import NONE
from goldpan.annotation.studio.decisions import SETTLED, Decision, read_decisions
from goldpan.annotation.studio.forms import FORMS, OF_TASK, Form, choice_of, find_form, form_of
from goldpan.annotation.studio.label_sample import LabelSample
from goldpan.annotation.studio.project import Project, open_project, read_labels
from goldpan.annotation.studio.pull import collect
from goldpan.annotation.studio.push import push, read_selection
from goldpan.core.errors import UsageError
from goldpan.core.proportions import Estimate
from goldpan.core.result import Result
from goldpan.core.storage.workspace import WorkspaceLayout, write_whole
from goldpan.core.terminal import Reporter
from goldpan.datasets.corrections import Corrections, LabelDecision
from goldpan.datasets.gold import KINDS, Item
from goldpan.datasets.tasks.task import CLASSIFICATION, Task


@dataclass(frozen=True, slots=True)
class Agreements(Result):
    """The agreement of people on each field, and with the dataset's labels."""

    schema = 5
    fields: tuple[Agreement, ...]
    dataset: Agreement | None
    """That of people's decisions with the dataset's labels, where it has some."""


def read_ratings(workspace: WorkspaceLayout, name: str, field: str) -> Iterator[Rating]:
    """Yield the answers to a question that count, by subject.

    Raises `WorkspaceError` before the first pull.
    """
    project = open_project(workspace, name)
    query = """
        SELECT subject_id, annotator, "values" FROM fields
        WHERE counts AND field = $field ORDER BY subject_id, annotation
    """
    with asking(workspace, project, find_form(project.facts.form).decides) as database:
        for row in rows(database, query, field=field):
            yield Rating(row["subject_id"], row["annotator"], tuple(row["values"]))


def field_agreements(workspace: WorkspaceLayout, name: str) -> tuple[Agreement, ...]:
    """Return how far people agree on each field that everybody has to answer."""
    questions = open_project(workspace, name).configuration.questions
    return tuple(
        agree(each.field, read_ratings(workspace, name, each.field))
        for each in questions
        if each.required
    )


def measure_agreements(workspace: WorkspaceLayout, name: str) -> Agreements:
    """Return how far people agree with each other, and their decisions with the dataset's labels.

    Raises `WorkspaceError` before the first pull.
    """
    labels = read_labels(open_project(workspace, name))

    def both() -> Iterator[Rating]:
        for decision in read_decisions(workspace, name):
            subject = decision.key.subject_id
            if decision.how in SETTLED and subject in labels:
                yield Rating(subject, "dataset", labels[subject])
                yield Rating(subject, "people", decision.values)

    fields = field_agreements(workspace, name)
    dataset = agree("the dataset's labels", both()) if labels else None
    return Agreements(fields, dataset if dataset and dataset.items else None)


_READERS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")
"""Columns of the first annotators' labels; further ones are numbered."""


@dataclass(frozen=True, slots=True)
class GoldExport(Result):
    """A gold set that was written."""

    gold: Path
    items: int
    labels: Mapping[str, int]
    """How many items have each label."""
    undecided: int
    """Subjects in conflict, or with too few answers, which are left out."""


def export_gold(workspace: WorkspaceLayout, name: str, path: Path) -> GoldExport:
    """Write the gold set of a project as CSV; the same decisions give the same bytes.

    Raises `UsageError` for a form without gold labels, and where nothing is decided.
    """
    form = find_form(open_project(workspace, name).facts.form)
    if not form.gold:
        others = " or ".join(other.name for other in FORMS if other.gold)
        raise UsageError(
            f"A gold set cannot be made of {form.name}", f"Choose a project of {others}"
        )
    by_annotators: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for rating in read_ratings(workspace, name, form.decides):
        by_annotators[rating.item].append((rating.rater, form.gold[rating.labels[0]]))
    items: dict[Item, list[str]] = {}
    undecided = 0
    for decision in read_decisions(workspace, name):
        if decision.how in SETTLED:
            given = [label for _, label in sorted(by_annotators[decision.key.subject_id])]
            row = [decision.key.repo, form.gold[decision.values[0]], *given]
            items[_item(form, decision, name)] = row
        else:
            undecided += 1
    if not items:
        raise UsageError(
            "Nothing is decided yet", "Run goldpan annotate pull once people have answered"
        )
    column = next(kind.gold_column for kind in KINDS if kind.right in form.gold.values())
    write_whole(path, gold_csv(column, items))
    labels = Counter(label for _, label, *_ in items.values())
    return GoldExport(path, len(items), dict(sorted(labels.items())), undecided)


def gold_csv(column: str, items: Mapping[Item, Sequence[str]]) -> bytes:
    """Return items as a gold set: of each its repository, its label and the annotators' labels."""
    most = max((len(item) - 2 for item in items.values()), default=0)
    readers = [*_READERS, *(f"annotator {number}" for number in range(10, most + 1))][:most]
    text = io.StringIO()
    names = ["repo", "issue", column, *readers, "label"]
    writer = csv.DictWriter(text, names, restval="", lineterminator="\n")
    writer.writeheader()
    for (_, issue, number), (repo, label, *given) in sorted(items.items()):
        row = {"repo": repo, "issue": issue, column: number}
        writer.writerow({**row, **dict(zip(readers, given, strict=False)), "label": label})
    return text.getvalue().encode()


def _item(form: Form, decision: Decision, name: str) -> Item:
    key = decision.key
    number = key.pull if form.subject == "pair" else key.comment
    if number is None or key.issue is None:
        raise UsageError(
            f"The project {name} does not say which reply people judged",
            "Push the dataset to a new project",
        )
    return key.repo.lower(), key.issue, number


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
        decisions = list(read_decisions(workspace, name))
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
        projects[name] = _described(workspace, project, form, decisions)
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
    workspace: WorkspaceLayout, project: Project, form: Form, decisions: Sequence[Decision]
) -> dict[str, Any]:
    """Return the description of a project in card and provenance."""
    measured = agree(form.decides, read_ratings(workspace, project.name, form.decides))
    how = Counter(decision.how for decision in decisions)
    settled = sorted(
        (decision.key.subject_id, decision.how, sorted(decision.values))
        for decision in decisions
        if decision.how in SETTLED
    )
    ranking = None
    if (selection := read_selection(project)) is not None:
        controls = sum(row.control for row in selection.rows)
        ranking = {
            **{name: getattr(selection, name) for name in ("task", "data_hash", "folds", "seed")},
            "suspects": len(selection.rows) - controls,
            "controls": controls,
        }
    return {
        "form": form.name,
        "configuration": project.configuration.digest,
        "annotators": len(measured.raters),
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
    query = "FROM answers WHERE counts ORDER BY subject_id, annotation"
    with asking(workspace, open_project(workspace, name), form.decides) as database:
        for answer in rows(database, query):
            item = items.get((answer["subject_id"], answer["comment"]))
            if item is not None:
                (value,) = answer["chosen"]
                label = form.gold.get(value, value)
                sample.keep(item, answer["annotator"], label, answer["reason"])
    return pushed.page
