"""What people answered in an annotation project, as `goldpan annotate pull` leaves it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from goldpan.annotation.studio.answers import (
    SUBJECTS,
    TABLE,
    Annotation,
    insert,
    sorting,
    table,
    write_sorted,
)
from goldpan.annotation.studio.decisions import write_decisions
from goldpan.annotation.studio.forms import Form, StudioTask
from goldpan.annotation.studio.project import ProjectFacts, begin_project
from goldpan.core.schemas import ANNOTATIONS
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
    facts = ProjectFacts("http://127.0.0.1:1", "k", form.name, annotators=2, blind=True)
    project = begin_project(workspace, name, form.configuration, facts)
    answers = [
        Annotation(
            number=2 * at + person,
            task=at,
            key=task.key,
            annotator=f"person{person}",
            values={
                question.field: values if question.field == form.decides else ()
                for question in form.configuration.questions
            },
            problem=None,
            suggested=False,
            origins={},
            seconds=10.0,
            created_at=NOON,
            updated_at=NOON,
        )
        for at, task in enumerate(tasks)
        for person, values in enumerate(by_item.get(task.key.subject_id, ()))
    ]
    with sorting(workspace) as database:
        insert(database, "settled", table(answers, form.configuration, name))
        subjects = {SUBJECTS: str(len({answer.task for answer in answers}))}
        write_sorted(database, "settled", project.path(TABLE), ANNOTATIONS, subjects)
    write_decisions(workspace, name)
