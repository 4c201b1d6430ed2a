"""What people decided in annotation projects, as corrections of a task's labels."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from goldpan.annotation.agreement import agree
from goldpan.annotation.studio.configuration import NONE
from goldpan.annotation.studio.decisions import SETTLED, Decision, decide
from goldpan.annotation.studio.forms import OF_TASK, Form, choice_of
from goldpan.annotation.studio.gold import read_ratings
from goldpan.annotation.studio.project import Project, open_project
from goldpan.annotation.studio.push import Selection, read_selection
from goldpan.annotation.studio.task_forms import form_of
from goldpan.core.errors import UsageError
from goldpan.core.proportions import Estimate
from goldpan.core.workspace import Workspace
from goldpan.datasets.corrections import Corrections, Decided
from goldpan.datasets.task import CLASSIFICATION, Task

_OUTCOMES = ("kept", "changed", "outside", "absent")
_DIGITS = 6


def read_corrections(workspace: Workspace, names: Sequence[str], task: Task) -> Corrections | None:
    """Return what people decided about a task's labels in projects; None where none is named.

    What they agreed on counts, and what a third person decided. Raises `UsageError` for a task
    without labels, for a project that does not ask for all of them, and where two projects decided
    differently about a row; `WorkspaceError` before the first pull.
    """
    if not names:
        return None
    if task.type not in CLASSIFICATION:
        raise UsageError(f"{task.name} has no labels to correct", "Choose a classification task")
    decided: dict[str, Decided] = {}
    projects: dict[str, dict[str, Any]] = {}
    for name in dict.fromkeys(names):
        project = open_project(workspace, name)
        form = form_of(project)
        meant = _labels_by_choice(form, project, task)
        selection = read_selection(project)
        controls = frozenset(row.id for row in selection.rows if row.control) if selection else ()
        decisions = decide(workspace, name)
        for decision in decisions:
            if decision.how in SETTLED:
                subject = decision.key["subject_id"]
                labels = _labels(decision, meant, several=task.type == "multi-label")
                own = Decided(name, labels, subject in controls)
                if decided.setdefault(subject, own).labels != labels:
                    raise UsageError(
                        f"{decided[subject].project} and {name} decided differently about "
                        f"{subject}",
                        "Give one of these projects",
                    )
        projects[name] = _described(workspace, project, form, decisions, selection)
    return Corrections(decided, projects)


def projects_by_task(
    workspace: Workspace, names: Sequence[str], tasks: Sequence[Task]
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
    label_of = {choice_of(form, label): label for label in task.label_names}
    if None in label_of:  # a label that nobody could choose would seem to be denied
        raise UsageError(
            f"The project {project.name} asks {form.name}, which has no choice {label_of[None]!r} "
            f"as {task.name} has",
            f"Give a project that was pushed with --task {task.name}",
        )
    return {choice: label for choice, label in label_of.items() if choice is not None}


def _labels(decision: Decision, meant: dict[str, str], *, several: bool) -> tuple[str, ...] | None:
    """Return the labels that were decided; None where one is no label of the task."""
    chosen = [value for value in decision.values if value != NONE or NONE in meant]
    if not chosen:
        return () if several and NONE in decision.values else None
    return tuple(meant[value] for value in chosen) if set(chosen) <= meant.keys() else None


def _described(
    workspace: Workspace,
    project: Project,
    form: Form,
    decisions: Sequence[Decision],
    selection: Selection | None,
) -> dict[str, Any]:
    """Return what card and provenance tell of a project."""
    ratings = read_ratings(workspace, project.name)[form.decides]
    measured = agree(form.decides, ratings)
    how = Counter(decision.how for decision in decisions)
    settled = sorted(
        (decision.key["subject_id"], decision.how, sorted(decision.values))
        for decision in decisions
        if decision.how in SETTLED
    )
    ranking = None
    if selection is not None:
        ranking = {
            "task": selection.task,
            "data_hash": selection.data_hash,
            "folds": selection.folds,
            "seed": selection.seed,
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
    values = {"value": estimate.value, "low": estimate.low, "high": estimate.high}
    return {
        name: value if value is None else round(value, _DIGITS) for name, value in values.items()
    }
