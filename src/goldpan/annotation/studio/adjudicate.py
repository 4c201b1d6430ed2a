"""Puts conflicts before a third person: `goldpan annotate adjudicate`.

The third person sees what the annotators saw, with their answers above it. The answers stand
under A, B and so on, in an order that tells nothing about who gave them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from goldpan.annotation.studio import panel_html
from goldpan.annotation.studio.client import Server
from goldpan.annotation.studio.configuration import Configuration
from goldpan.annotation.studio.decisions import Decision, PersonAnswer, decide
from goldpan.annotation.studio.forms import Task
from goldpan.annotation.studio.project import check_server, open_project
from goldpan.annotation.studio.push import PushResult, push
from goldpan.annotation.studio.raw import RawExports
from goldpan.annotation.studio.task_forms import form_of
from goldpan.core.errors import UsageError
from goldpan.core.progress import Reporter
from goldpan.core.workspace import Workspace


def adjudication_name(name: str) -> str:
    """Return the name of the project that decides a project's conflicts."""
    return f"{name}-adjudication"


def adjudicate(
    workspace: Workspace,
    server: Server,
    name: str,
    reporter: Reporter,
    *,
    doubts: bool = False,
) -> PushResult:
    """Push a project's conflicts into a project for a third person; again, only new ones.

    `doubts` adds subjects on which people agree but somebody was in doubt. Raises `UsageError`
    where there is nothing to decide, and for another server, which knows people otherwise.
    """
    project = open_project(workspace, name)
    check_server(project, server)
    form = form_of(project)
    undecided = {
        decision.key["subject_id"]: decision
        for decision in decide(workspace, name)
        if decision.how in ("conflict", "adjudicated")
        or (doubts and decision.how == "agreed" and decision.doubted)
    }
    if not undecided:
        raise UsageError(
            f"The project {name} holds no conflict", "Pull again when more is annotated"
        )
    shown = _shown_data(RawExports(project.path("raw")), undecided, project.configuration)
    tasks = _tasks(shown, undecided, form.decides, project.configuration)
    return push(
        workspace,
        server,
        adjudication_name(name),
        form,
        tasks,
        reporter,
        annotators=1,
        of=name,
    )


def _shown_data(
    raw: RawExports, decisions: Mapping[str, Decision], configuration: Configuration
) -> dict[str, Mapping[str, Any]]:
    """Return the data of wanted subjects as the annotators saw it."""
    shown: dict[str, Mapping[str, Any]] = {}
    for export in raw.read():
        for task in export.tasks:
            if task["data"].get("id") in decisions and set(configuration.panels) <= set(
                task["data"]
            ):
                shown[task["data"]["id"]] = task["data"]
    return shown


def _tasks(
    shown: Mapping[str, Mapping[str, Any]],
    decisions: Mapping[str, Decision],
    decides: str,
    configuration: Configuration,
) -> Iterator[Task]:
    labels = dict(
        zip(configuration.field(decides).choices, configuration.field(decides).labels, strict=True)
    )
    for subject in sorted(shown):
        data, decision = shown[subject], decisions[subject]
        panels = {name: str(data[name]) for name in configuration.panels}
        panels["note"] = panel_html.without_answers(panels["note"]) + panel_html.answers(
            _answers(subject, decision.answers, labels)
        )
        key = decision.key
        yield Task(
            subject,
            key["subject"],
            key["repo"],
            key["issue"],
            key["pull_repo"],
            key["pull"],
            panels,
            comment=key["comment"],
        )


def _answers(
    subject: str, answers: Iterable[PersonAnswer], labels: Mapping[str, str]
) -> Iterator[panel_html.Answer]:
    """Yield the answers in an order that only the subject and the words decide."""

    def order(answer: PersonAnswer) -> str:
        return hashlib.sha256(f"{subject} {answer.values} {answer.reason}".encode()).hexdigest()

    for letter, answer in zip(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZ", sorted(answers, key=order), strict=False
    ):
        fields = [("Answer:", ", ".join(labels[value] for value in answer.values) or "nothing")]
        if answer.doubt:
            fields.append(("In doubt.", ""))
        if answer.reason:
            fields.append(("Because:", answer.reason))
        yield panel_html.Answer(letter, fields)
