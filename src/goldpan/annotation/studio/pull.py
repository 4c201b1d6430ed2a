"""Pulls annotators' answers: one export, kept as the server sent it, and the table made of it.

The newest export alone is what the table is made of, so a changed rule needs no server. It is read
some tasks at a time, so memory does not grow with it. Where the server fails at the whole export,
because of one task that it cannot write, the others are fetched without it. An adjudication is
pulled after its project, whose answers in dispute say who may not decide.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from goldpan.annotation.studio.answers import (
    SUBJECTS,
    TABLE,
    People,
    insert,
    read_annotations,
    settle,
    sorting,
    table,
    table_of,
    write_sorted,
)
from goldpan.annotation.studio.client import Server, Studio, StudioError, StudioFaultError
from goldpan.annotation.studio.configuration import digest, parse
from goldpan.annotation.studio.decisions import write_decisions
from goldpan.annotation.studio.exports import ExportedTask, ExportError, new_export, read_export
from goldpan.annotation.studio.project import (
    Project,
    adjudications,
    check_server,
    locked,
    open_project,
)
from goldpan.core.errors import UsageError, WorkspaceError
from goldpan.core.result import Result
from goldpan.core.schemas import ANNOTATIONS
from goldpan.core.secrets import mask
from goldpan.core.storage.workspace import WorkspaceLayout, write_whole
from goldpan.core.terminal import Reporter

if TYPE_CHECKING:
    import duckdb

_AT_ONCE = 250


def _fetched(studio: Studio, project: int, unreadable: list[int]) -> Iterator[bytes]:
    """Yield an export of a project; tasks at which the server fails are noted and left out."""
    parts = studio.export(project)
    try:
        yield next(parts, b"")
    except StudioFaultError:
        numbers = [task.id for task in studio.tasks(project)]
        for start in range(0, len(numbers), _AT_ONCE):
            yield from _halves(studio, project, numbers[start : start + _AT_ONCE], unreadable)
        return
    yield from parts


def _halves(
    studio: Studio, project: int, numbers: Sequence[int], unreadable: list[int]
) -> Iterator[bytes]:
    try:
        yield b"".join(studio.export(project, numbers))
    except StudioFaultError:
        studio.project(project)  # raises where the server fails altogether
        if len(numbers) == 1:
            unreadable.extend(numbers)
            return
        half = len(numbers) // 2
        yield from _halves(studio, project, numbers[:half], unreadable)
        yield from _halves(studio, project, numbers[half:], unreadable)


@dataclass(frozen=True, slots=True)
class PullResult:
    """The result of a pull, and the state of the project."""

    project: str
    fetched: int
    """Tasks that were fetched."""
    answers: int
    """Answers that count."""
    problems: Mapping[str, int]
    """Answers that do not count, by reason."""
    tasks: int
    done: int
    """Subjects with as many answers as were wanted."""
    gone: int
    """Answers of the pull before that are no longer on the server."""
    foreign: int
    """Tasks on the server that Goldpan did not push."""
    unreadable: tuple[int, ...]
    """Tasks that the server itself fails to export; somebody has to look at them there."""
    configuration_changed: bool
    """The server asks something else than was pushed."""
    seconds: float


def pull(
    workspace: WorkspaceLayout,
    server: Server,
    name: str,
    reporter: Reporter,
    *,
    named: bool = False,
    accept_configuration: bool = False,
) -> PullResult:
    """Fetch an export, and make the table of annotations of it.

    `named` writes annotators' addresses instead of pseudonyms. `accept_configuration` takes over
    what the server asks now, where somebody changed it there. Raises `StudioError` where the
    server fails; what was pulled before stays.
    """
    started = time.monotonic()
    project = open_project(workspace, name)
    with Studio(server) as studio, locked(project):
        project = check_server(project, studio)
        configuration = studio.project(project.number).label_config or ""
        changed = digest(configuration) != project.configuration.digest
        if changed and accept_configuration:
            project = _accept(project, configuration)
            changed = False
        people = People(project)
        people.meet(studio.users(), named=named)
        unreadable: list[int] = []
        parts = _fetched(studio, project.number, unreadable)
        with (
            reporter.task(f"{name}: answers", 1) as progress,
            new_export(project, parts) as export,
            sorting(workspace) as database,
        ):
            try:
                _read(database, read_export(export), project, people)
            except ExportError as error:
                raise StudioError(
                    f"Label Studio at {studio.url} sent something else than an export ({error})",
                    "See that it is well, and pull again",
                ) from None
            before = _table_before(project)
            if before is not None:
                database.execute(_REMEMBERED, {"before": str(before), "named": named})
            of = project.facts.of
            judged = table_of(open_project(workspace, of)) if of else None
            settle(database, project.facts.annotators, judged)
            counts = _counts(database, project.facts.annotators, before)
            write_sorted(
                database,
                "settled",
                project.path(TABLE),
                ANNOTATIONS,
                {SUBJECTS: str(counts["tasks"])},
            )
            progress.advance(1)
    return PullResult(
        name,
        unreadable=tuple(sorted(unreadable)),
        configuration_changed=changed,
        seconds=time.monotonic() - started,
        **counts,
    )


def _read(
    database: duckdb.DuckDBPyConnection,
    exported: Iterable[ExportedTask],
    project: Project,
    people: People,
) -> None:
    """Fill the tables `tasks` and `answers` of an export."""
    columns = pa.schema([("task", pa.int64()), ("subject_id", pa.string())])
    insert(database, "tasks", columns.empty_table())
    insert(database, "answers", ANNOTATIONS.schema.empty_table())
    configuration = project.configuration
    while tasks := list(islice(exported, _AT_ONCE)):
        rows = [{"task": task.id, "subject_id": task.key and task.key.subject_id} for task in tasks]
        insert(database, "tasks", pa.Table.from_pylist(rows, schema=columns))
        answers = chain.from_iterable(
            read_annotations(task, configuration, people) for task in tasks
        )
        insert(database, "answers", table(answers, configuration, project.name))


# Label Studio keeps the answers of an account that was removed, and forgets whose they are.
_REMEMBERED = """
UPDATE answers SET annotator = before.annotator, problem = nullif(problem, 'unknown-annotator')
FROM (
    SELECT DISTINCT annotation, annotator FROM read_parquet($before)
    WHERE annotator <> 'unknown' AND ($named OR annotator NOT LIKE '%@%')
) AS before
WHERE answers.annotator = 'unknown' AND answers.annotation = before.annotation
"""


def _table_before(project: Project) -> Path | None:
    """Return the table of the pull before; None where there is none that can be read."""
    try:
        return table_of(project)
    except WorkspaceError:
        return None


_COUNTED = """
WITH counting AS (
    SELECT subject_id, count(DISTINCT annotation) AS answers FROM settled WHERE counts GROUP BY ALL
)
SELECT
    (SELECT count(*) FROM tasks),
    (SELECT coalesce(sum(answers), 0)::BIGINT FROM counting),
    (SELECT count(DISTINCT subject_id) FROM tasks),
    (SELECT count(*) FROM counting WHERE answers >= $annotators),
    (SELECT count(*) FROM tasks WHERE subject_id IS NULL)
"""
_PROBLEMS = """
SELECT problem, count(DISTINCT annotation) FROM settled WHERE NOT counts GROUP BY ALL ORDER BY ALL
"""
_GONE = """
SELECT count(DISTINCT annotation)
FROM read_parquet($before) AS before ANTI JOIN settled USING (annotation)
"""


def _counts(
    database: duckdb.DuckDBPyConnection, annotators: int, before: Path | None
) -> dict[str, Any]:
    """Return what a pull brought, counted."""
    enough = {"annotators": annotators}
    ((fetched, answers, tasks, done, foreign),) = database.execute(_COUNTED, enough).fetchall()
    gone = 0
    if before is not None:
        ((gone,),) = database.execute(_GONE, {"before": str(before)}).fetchall()
    return {
        "fetched": fetched,
        "answers": answers,
        "problems": dict(database.execute(_PROBLEMS).fetchall()),
        "tasks": tasks,
        "done": done,
        "gone": gone,
        "foreign": foreign,
    }


def _accept(project: Project, xml: str) -> Project:
    configuration = parse(project.facts.form, xml)
    kept = {question.field for question in configuration.questions}
    lost = {question.field for question in project.configuration.questions} - kept
    if lost:
        raise UsageError(
            f"The configuration on the server lacks the fields {', '.join(sorted(lost))}",
            "Restore them there, or begin another project",
        )
    write_whole(project.path("configuration.xml"), mask(xml.encode()))
    return replace(project, configuration=configuration)


@dataclass(frozen=True, slots=True)
class CollectedAnswers(Result):
    """The answers fetched of a project and its adjudications, and the decisions they make."""

    schema = 3
    project: str
    """The project that was named, which may be an adjudication."""
    pulls: tuple[PullResult, ...]
    """Those of the project that is decided and of its adjudications."""
    decisions: Mapping[str, int]
    """How many subjects were decided how."""

    @property
    def exit_code(self) -> int:
        """3 where the server could not export a task."""
        return 3 if any(pulled.unreadable for pulled in self.pulls) else 0


def collect(
    workspace: WorkspaceLayout,
    server: Server,
    name: str,
    reporter: Reporter,
    *,
    named: bool = False,
    accept_configuration: bool = False,
) -> CollectedAnswers:
    """Pull a project with its adjudications, and write what people decided.

    An adjudication may be named in the place of its project. Raises `UsageError`, before anything
    is fetched, where one of them lives on another server; else as `pull`.
    """
    original = open_project(workspace, open_project(workspace, name).facts.of or name)
    # One that was never pushed to the end holds nothing to fetch.
    third = [
        adjudication
        for adjudication in adjudications(workspace, original.name)
        if adjudication.facts.number is not None
    ]
    with Studio(server) as studio:
        for project in (original, *third):
            check_server(project, studio)
    options = {"named": named, "accept_configuration": accept_configuration}
    pulls = [
        pull(workspace, server, project.name, reporter, **options) for project in (original, *third)
    ]
    how = write_decisions(workspace, original.name)
    return CollectedAnswers(name, tuple(pulls), how)
