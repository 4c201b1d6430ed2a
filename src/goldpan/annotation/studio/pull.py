"""Pulls annotators' answers: one export, kept as the server sent it, and the table made of it.

The newest export alone is what the table is made of, so a changed rule needs no server. Where the
server fails at the whole export, because of one task that it cannot write, the others are fetched
without it. An adjudication is pulled after its project, whose answers in dispute say who may not
decide.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from goldpan.annotation.studio.annotations import (
    People,
    counting_annotations,
    read_annotations,
    settle,
    table,
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
from goldpan.core.errors import UsageError
from goldpan.core.result import Result
from goldpan.core.schemas import ANNOTATIONS
from goldpan.core.secrets import mask
from goldpan.core.storage.parquet import replace_tables
from goldpan.core.storage.workspace import WorkspaceLayout, write_whole
from goldpan.core.terminal import Reporter

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
    repeated: tuple[str, ...]
    """Subjects that stand on the server twice; their answers count as one subject's."""
    foreign: int
    """Tasks on the server that Goldpan did not push."""
    unreadable: tuple[int, ...]
    """Tasks that the server itself fails to export; somebody has to look at them there."""
    renamed: tuple[str, ...]
    """Annotators whose address or name changed."""
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
        people.meet(studio.users())
        unreadable: list[int] = []
        parts = _fetched(studio, project.number, unreadable)
        with reporter.task(f"{name}: answers", 1) as progress, new_export(project, parts) as export:
            subjects: Counter[str | None] = Counter()
            tasks = _counted(read_export(export), subjects)
            read = read_annotations(tasks, project.configuration, people, named=named)
            barred = barred_annotators(workspace, project)
            try:
                annotations = settle(read, project.facts.annotators, barred)
            except ExportError as error:
                raise StudioError(
                    f"Label Studio at {studio.url} sent something else than an export ({error})",
                    "See that it is well, and pull again",
                ) from None
            gone = _answers_before(project) - {answer.number for answer in annotations}
            progress.advance(1)
        rows = table(annotations, project.configuration, project.name)
        tables = {project.path("annotations.parquet"): (ANNOTATIONS, rows)}
        replace_tables(workspace, tables)
    problems = Counter(answer.problem for answer in annotations if answer.problem)
    counts = Counter(answer.key.subject_id for answer in annotations if answer.problem is None)
    fetched, foreign = subjects.total(), subjects.pop(None, 0)
    return PullResult(
        name,
        fetched,
        counts.total(),
        dict(sorted(problems.items())),
        len(subjects),
        sum(count >= project.facts.annotators for count in counts.values()),
        len(gone),
        tuple(sorted(subject for subject, count in subjects.items() if subject and count > 1)),
        foreign,
        tuple(sorted(unreadable)),
        tuple(people.renamed),
        changed,
        time.monotonic() - started,
    )


def _counted(
    tasks: Iterable[ExportedTask], subjects: Counter[str | None]
) -> Iterator[ExportedTask]:
    """Yield tasks, and count them by subject; None is that of tasks that Goldpan did not push."""
    for task in tasks:
        subjects[task.key.subject_id if task.key else None] += 1
        yield task


def _answers_before(project: Project) -> set[int]:
    """Return the numbers of the answers in the table of the pull before."""
    if not project.path("annotations.parquet").exists():
        return set()
    return set(project.annotations()["annotation"].unique().to_pylist())


def barred_annotators(workspace: WorkspaceLayout, project: Project) -> dict[str, Set[str]]:
    """Return who may not answer in an adjudication, by subject: whose answers are in dispute."""
    if project.facts.of is None:
        return {}
    barred: dict[str, Set[str]] = {}
    for answer in counting_annotations(open_project(workspace, project.facts.of)):
        subject = answer.key.subject_id
        barred[subject] = {*barred.get(subject, ()), answer.annotator}
    return barred


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

    schema = 2
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
    how = Counter(decision.how for decision in write_decisions(workspace, original.name))
    return CollectedAnswers(name, tuple(pulls), dict(sorted(how.items())))
