"""Decisions: what people's answers decide, with conflicts left to a third person.

The third person sees what the annotators saw, with their answers above it. The answers stand
under A, B and so on, in an order that tells nothing about who gave them.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from goldpan.annotation.studio.answers import TABLE, asking, rows, stored_tasks, write_sorted
from goldpan.annotation.studio.client import Server, Studio
from goldpan.annotation.studio.configuration import NONE
from goldpan.annotation.studio.forms import Form, StudioTask, find_form, form_of
from goldpan.annotation.studio.panels import Fields, answers_panel, without_answers
from goldpan.annotation.studio.project import (
    Project,
    SubjectKey,
    adjudications,
    check_server,
    open_project,
)
from goldpan.annotation.studio.push import PushResult, push
from goldpan.core.errors import UsageError
from goldpan.core.schemas.stages import DECISIONS, VERDICTS
from goldpan.core.storage.parquet import open_file, read_table, reading
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter

How = Literal["agreed", "adjudicated", "conflict", "unfinished"]
SETTLED: tuple[How, ...] = ("agreed", "adjudicated")
STAGE = "people"
_FILE = "decisions.parquet"
_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision of people on one subject."""

    key: SubjectKey
    how: How
    values: tuple[str, ...]
    """Empty while nothing is decided."""
    annotators: tuple[str, ...]
    """Whose answers it rests on, or whose are in conflict."""
    at: datetime
    """When the last of these answers was given."""


_DECIDED = """
CREATE TABLE decided AS
WITH own AS (
    SELECT
        subject_id,
        max(annotation) AS annotation,
        count(*) < $annotators AS unfinished,
        count(DISTINCT chosen) = 1 AS agree,
        any_value(chosen) AS chosen,
        bool_or(doubt) AS doubt,
        list_sort(list(DISTINCT annotator)) AS annotators,
        max(updated_at) AS decided_at
    FROM answers WHERE counts GROUP BY subject_id
), last AS (
    SELECT subject_id, chosen, annotator, updated_at FROM third WHERE counts
    QUALIFY row_number() OVER (
        PARTITION BY subject_id ORDER BY updated_at DESC, annotator DESC
    ) = 1
), judged AS (
    SELECT
        own.*,
        last.chosen AS last_chosen,
        last.annotator AS last_annotator,
        last.updated_at AS last_at,
        CASE
            WHEN unfinished THEN 'unfinished'
            WHEN agree AND NOT (doubt AND last.annotator IS NOT NULL) THEN 'agreed'
            WHEN last.annotator IS NULL THEN 'conflict'
            ELSE 'adjudicated'
        END AS how
    FROM own LEFT JOIN last USING (subject_id)
)
SELECT
    {key},
    $project AS project,
    $form AS form,
    $configuration AS configuration,
    CASE how WHEN 'agreed' THEN judged.chosen WHEN 'adjudicated' THEN last_chosen ELSE [] END
        AS "values",
    how,
    CASE how WHEN 'adjudicated' THEN [last_annotator] ELSE annotators END AS annotators,
    CASE how WHEN 'adjudicated' THEN last_at ELSE decided_at END AS decided_at
FROM judged JOIN answers USING (annotation)
"""


# Evidence names a reply as `filters.answers.comment_evidence` does.
_VERDICTS = """
CREATE TABLE verdicts AS SELECT
    repo, subject, issue, pull_repo, pull, $stage AS stage, form AS criterion, true AS decides,
    CASE WHEN list_contains($settled, how) THEN list_has_all($keeps, "values") END AS keep,
    CASE WHEN keep THEN NULL WHEN keep IS NULL THEN how ELSE "values"[1] END AS reason,
    NULL::DOUBLE AS value,
    concat(
        'comment ' || comment || ': ',
        coalesce(nullif(array_to_string("values", '/'), ''), how),
        ', ' || how || ' by ' || array_to_string(annotators, ', '),
        strftime(decided_at, ', %Y-%m-%d %H:%M UTC')
    ) AS evidence,
    project AS profile,
    configuration AS settings
FROM decided
"""


def write_decisions(workspace: WorkspaceLayout, name: str) -> Mapping[str, int]:
    """Decide, and write the project's decisions; those of a judging form also as verdicts.

    The answers of an adjudication count for subjects on which people do not agree. Returns how
    many subjects were decided how. Raises `WorkspaceError` before the first pull.
    """
    project = _decided_project(workspace, name)
    form = find_form(project.facts.form)
    third = [other for other in adjudications(workspace, name) if other.path(TABLE).exists()]
    key = ", ".join(f"answers.{column}" for column in SubjectKey.__struct_fields__)
    with asking(workspace, project, form.decides, third) as database:
        values = {
            "annotators": project.facts.annotators,
            "project": name,
            "form": form.name,
            "configuration": project.configuration.digest,
        }
        database.execute(_DECIDED.format(key=key), values)
        write_sorted(database, "decided", project.path(_FILE), DECISIONS)
        counted = "SELECT how, count(*) FROM decided GROUP BY how ORDER BY how"
        hows: dict[str, int] = dict(database.execute(counted).fetchall())
        if form.keeps:
            constants = {"keeps": sorted(form.keeps), "settled": list(SETTLED), "stage": STAGE}
            database.execute(_VERDICTS, constants)
            write_sorted(database, "verdicts", project.path("verdicts.parquet"), VERDICTS)
    return hows


def _decided_project(workspace: WorkspaceLayout, name: str) -> Project:
    project = open_project(workspace, name)
    if project.facts.of is not None:
        raise UsageError(
            f"{name} adjudicates {project.facts.of}", f"Ask for --project {project.facts.of}"
        )
    return project


def read_decisions(workspace: WorkspaceLayout, name: str) -> Iterator[Decision]:
    """Yield the decision on each subject that anybody answered, sorted by subject.

    Raises `UsageError` for an adjudication, `WorkspaceError` before the first pull.
    """
    yield from _stored(_decided_project(workspace, name))


def _file(project: Project) -> Path:
    return project.table(_FILE, DECISIONS, f"Nothing was pulled of the project {project.name}")


def _stored(project: Project) -> Iterator[Decision]:
    with open_file(_file(project)) as file:
        for batch in file.iter_batches(_AT_ONCE):
            for row in batch.to_pylist():
                yield Decision(
                    SubjectKey(*(row[name] for name in SubjectKey.__struct_fields__)),
                    row["how"],
                    tuple(row["values"]),
                    tuple(row["annotators"]),
                    row["decided_at"],
                )


def read_settled(project: Project) -> list[tuple[str, tuple[str, ...], str]]:
    """Return the subjects that people settled in a project, each with its values and how.

    Raises `WorkspaceError` before the first pull, and where the file is damaged.
    """
    return [
        (each.key.subject_id, tuple(sorted(set(each.values) - {NONE})), each.how)
        for each in _stored(project)
        if each.how in SETTLED
    ]


def read_people(workspace: WorkspaceLayout) -> list[pa.Table]:
    """Return the verdicts of each project of a workspace, in the order of their names.

    The criterion is the form. Raises `WorkspaceError` where a file is damaged.
    """
    tables = []
    for path in sorted((workspace.root / "annotations").glob("*/verdicts.parquet")):
        with reading(path, "Run goldpan annotate pull for its project again"):
            tables.append(read_table(path))
    return tables


def adjudication_name(name: str) -> str:
    """Return the name of the project that decides a project's conflicts."""
    return f"{name}-adjudication"


_DISPUTED = """
SELECT answers.* FROM answers JOIN read_parquet($path) AS decided USING (subject_id)
WHERE counts AND (
    how IN ('conflict', 'adjudicated')
    OR $doubts AND how = 'agreed'
    AND subject_id IN (SELECT subject_id FROM answers WHERE counts AND doubt)
)
ORDER BY subject_id
"""


def adjudicate(
    workspace: WorkspaceLayout,
    server: Server,
    name: str,
    reporter: Reporter,
    *,
    doubts: bool = False,
) -> PushResult:
    """Push a project's conflicts to a project for a third person, those that it lacks.

    `doubts` adds subjects on which people agree but somebody was in doubt. Raises `UsageError`
    where there is nothing to decide, and for another server, whose accounts are others.
    """
    project = _decided_project(workspace, name)
    with Studio(server) as studio:
        check_server(project, studio)
    form = form_of(project)
    undecided: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    with asking(workspace, project, form.decides) as database:
        for answer in rows(database, _DISPUTED, path=str(_file(project)), doubts=doubts):
            undecided[answer["subject_id"]].append(answer)
    if not undecided:
        raise UsageError(
            f"The project {name} holds no conflict", "Pull again when more is annotated"
        )
    tasks = list(_tasks(project, form, undecided))
    return push(
        workspace, server, adjudication_name(name), form, tasks, reporter, annotators=1, of=name
    )


def _tasks(
    project: Project, form: Form, given: Mapping[str, Sequence[Mapping[str, Any]]]
) -> Iterator[StudioTask]:
    """Yield the subjects as annotators saw them, with the answers that were given."""
    panels = project.configuration.panels
    labels = project.configuration.question(form.decides).labels
    for task in stored_tasks(project):
        key, data = task.key, task.data
        if key is not None and key.subject_id in given and data.keys() >= set(panels):
            shown = {name: str(data[name]) for name in panels}
            answers = _answers(key.subject_id, given[key.subject_id], labels)
            shown["note"] = without_answers(shown["note"]) + answers_panel(answers)
            yield StudioTask(key, shown, str(data.get("title") or ""))


def _answers(
    subject: str, answers: Sequence[Mapping[str, Any]], labels: Mapping[str, str]
) -> Iterator[tuple[str, Fields]]:
    """Yield the answers in an order that depends on the subject and their words alone."""

    def order(answer: Mapping[str, Any]) -> str:
        words = f"{subject} {answer['chosen']} {answer['reason']}"
        return hashlib.sha256(words.encode()).hexdigest()

    for letter, answer in zip(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZ", sorted(answers, key=order), strict=False
    ):
        chosen = ", ".join(labels[value] for value in answer["chosen"])
        fields = [("Answer:", chosen or "nothing")]
        if answer["doubt"]:
            fields.append(("In doubt.", ""))
        if answer["reason"]:
            fields.append(("Because:", answer["reason"]))
        yield letter, fields
