"""What people answered in an annotation project, as `goldpan annotate pull` leaves it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

import msgspec

from goldpan.annotation.studio.answers import SUBJECTS, TABLE, insert, sorting, write_sorted
from goldpan.annotation.studio.decisions import Decision, read_decisions, write_decisions
from goldpan.annotation.studio.forms import Form, StudioTask
from goldpan.annotation.studio.project import ProjectFacts, begin_project
from goldpan.core.schemas.stages import ANNOTATIONS
from goldpan.core.storage.workspace import WorkspaceLayout

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def two_people_say(
    workspace: WorkspaceLayout,
    name: str,
    form: Form,
    tasks: Iterable[StudioTask],
    by_item: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]],
) -> None:
    """Write a project in which two people answered the tasks that `said` names by subject."""
    facts = ProjectFacts("http://127.0.0.1:1", "k", form.name, annotators=2)
    project = begin_project(workspace, name, form.configuration, facts)
    answers = [
        {
            **msgspec.structs.asdict(task.key),
            "project": name,
            "form": form.name,
            "configuration": form.configuration.digest,
            "task": at,
            "annotation": 2 * at + person,
            "annotator": f"person{person}",
            "field": question.field,
            "values": list(values) if question.field == form.decides else [],
            "counts": True,
            "seconds": 10.0,
            "created_at": NOON,
            "updated_at": NOON,
        }
        for at, task in enumerate(tasks)
        for person, values in enumerate(by_item.get(task.key.subject_id, ()))
        for question in form.configuration.questions
    ]
    with sorting(workspace) as database:
        insert(database, "settled", ANNOTATIONS.of_rows(answers))
        subjects = {SUBJECTS: str(len({answer["task"] for answer in answers}))}
        write_sorted(database, "settled", project.path(TABLE), ANNOTATIONS, subjects)
    write_decisions(workspace, name)


def decided(workspace: WorkspaceLayout, name: str) -> list[Decision]:
    """Decide by what was pulled, and return the decisions."""
    write_decisions(workspace, name)
    return list(read_decisions(workspace, name))
