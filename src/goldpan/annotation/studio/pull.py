"""Pulls annotators' answers, keeps each as the server sent it, and makes the table of them.

A file is named `PULL-PART.json.zst` and holds the tasks that were asked for beside the server's
answer, so that a task which the answer lacks is known to be gone.

Deleting many answers at once leaves no mark on their tasks, so the server's counts are compared
with ours afterwards, and where they differ everything is fetched. A pull that is killed goes on
with the tasks that it lacks. The table is made of all exports each time, so a changed rule needs
no server. An adjudication is pulled after its project, whose answers in dispute say who may not
decide.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Set
from dataclasses import asdict, dataclass, replace
from typing import Any

import orjson

from goldpan.annotation.studio.annotations import (
    Annotation,
    ExportHistory,
    People,
    RawExports,
    counting_annotations,
    read_annotations,
    settle,
    table,
)
from goldpan.annotation.studio.client import Server, Studio, StudioFaultError
from goldpan.annotation.studio.configuration import digest, parse
from goldpan.annotation.studio.decisions import Decision, write_decisions
from goldpan.annotation.studio.project import (
    Project,
    TaskJournal,
    adjudications,
    check_server,
    locked,
    open_project,
    read_stored,
)
from goldpan.annotation.studio.push import reconcile
from goldpan.core.errors import UsageError
from goldpan.core.result import Block, Line, Result
from goldpan.core.schemas import ANNOTATIONS
from goldpan.core.secrets import mask
from goldpan.core.storage.parquet import replace_tables
from goldpan.core.storage.workspace import WorkspaceLayout, write_whole
from goldpan.core.terminal import Reporter

_AT_ONCE = 250
_MOST_SHOWN = 20


@dataclass(frozen=True, slots=True)
class PullState:
    """The progress of pulling: `pull.json`."""

    pull: int = 0
    since: str | None = None
    """Changes before this time of the server are here."""
    asked: tuple[int, ...] | None = None
    """The tasks of a pull under way."""
    began: str | None = None
    """When that pull began, by the server's clock."""
    whole: bool = False
    """True where the pull fetches everything."""
    surplus: tuple[int, int, int] = (0, 0, 0)
    """The server's counts beyond ours after everything was fetched: other people's tasks."""


class Fetcher:
    """Fetches the tasks of one project that changed, into its raw exports."""

    def __init__(
        self, project: Project, studio: Studio, journal: TaskJournal, reporter: Reporter
    ) -> None:
        self._project = project
        self._studio = studio
        self._journal = journal
        self._reporter = reporter
        self._raw = RawExports(project.path("raw"))
        self._path = project.path("pull.json")
        self._state = read_stored(self._path, PullState, "Remove it and pull again") or PullState()
        self.history = ExportHistory(self._raw.read())
        """All that was ever fetched."""
        self.fetched = 0
        """Tasks that were fetched now."""
        self.unreadable: list[int] = []
        """Tasks that the server cannot export, such as those with half a surrogate pair."""

    def run(self) -> None:
        """Fetch what an earlier pull lacks, what changed, and everything where counts differ."""
        if self._state.asked is not None:
            self._finish()
        if self._state.since is None:
            self._begin(whole=True)
        else:
            self._begin(whole=False)
            if self.surplus() != self._state.surplus:
                self._begin(whole=True)

    def surplus(self) -> tuple[int, int, int]:
        """Return what the server counts beyond what is here: tasks, answers, skipped ones."""
        tasks, answers, skipped = self._studio.project(self._project.number).counts
        ours = self.history.counts()
        return tasks - ours[0], answers - ours[1], skipped - ours[2]

    def _begin(self, *, whole: bool) -> None:
        began = self._studio.clock()
        task_numbers = set(self._journal.subjects)
        if not whole and self._state.since is not None:
            changed = self._studio.changed_tasks(self._project.number, self._state.since)
            numbers = {task.id for task in changed}
            if not numbers:
                return  # no file of ours changes either
            task_numbers &= numbers
        # A pull that fetched nothing left no file, so its number is free.
        self._save(
            replace(
                self._state,
                pull=max(self.history.fetched, default=0) + 1,
                asked=tuple(sorted(task_numbers)),
                began=began,
                whole=whole,
            )
        )
        self._finish()

    def _finish(self) -> None:
        state = self._state
        have = self.history.fetched.get(state.pull, set())
        missing = [number for number in state.asked or () if number not in have]
        with self._reporter.task(f"{self._project.name}: answers", len(missing)) as progress:
            for start in range(0, len(missing), _AT_ONCE):
                batch = missing[start : start + _AT_ONCE]
                self._take(state.pull, batch)
                progress.advance(len(batch))
        self.fetched += len(missing)
        surplus = self.surplus() if state.whole else state.surplus
        self._save(PullState(state.pull, since=state.began, surplus=surplus))

    def _take(self, pull: int, numbers: list[int]) -> None:
        """Fetch tasks; where the server fails at one, the others come all the same."""
        try:
            content = self._studio.export(self._project.number, numbers)
        except StudioFaultError:
            if len(numbers) == 1:
                self.unreadable.append(numbers[0])
                return
            self._studio.project(self._project.number)  # raises where the server fails altogether
            self._take(pull, numbers[: len(numbers) // 2])
            self._take(pull, numbers[len(numbers) // 2 :])
            return
        self.history.take(self._raw.add(pull, numbers, content))

    def _save(self, state: PullState) -> None:
        write_whole(self._path, orjson.dumps(state))
        self._state = state


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
    """Tasks that were deleted on the server."""
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

    def lines(self) -> Iterator[Line]:
        """Yield what was fetched and counts, and what people have to look at."""
        yield Line(
            f"{self.project}: {self.fetched:,} tasks fetched, {self.answers:,} answers count, "
            f"{self.done:,} of {self.tasks:,} subjects are done, {self.seconds:.1f} s"
        )
        for problem, count in sorted(self.problems.items()):
            yield Line(f"  {count:,} do not count: {problem}")
        yield from (Line(f"  renamed: {name}") for name in self.renamed)
        if self.configuration_changed:
            yield Line("  The form was changed on the server")
        if self.gone or self.foreign:
            foreign = f"{self.foreign:,} are not Goldpan's"
            yield Line(f"  {self.gone:,} tasks were deleted there, {foreign}")
        for task in self.unreadable[:_MOST_SHOWN]:
            yield Line(f"  The server cannot export task {task}: check it there")


def pull(
    workspace: WorkspaceLayout,
    server: Server,
    name: str,
    reporter: Reporter,
    *,
    named: bool = False,
    accept_configuration: bool = False,
) -> PullResult:
    """Fetch what changed, and make the table of annotations anew from all raw exports.

    `named` writes annotators' addresses instead of pseudonyms. `accept_configuration` takes over
    what the server asks now, where somebody changed it there. Raises `StudioError` where the
    server fails; what was fetched stays.
    """
    started = time.monotonic()
    project = open_project(workspace, name)
    check_server(project, server)
    with Studio(server) as studio, locked(project):
        configuration = studio.project(project.number).label_config
        changed = digest(configuration) != project.configuration.digest
        if changed and accept_configuration:
            project = _accept(project, configuration)
            changed = False
        journal = TaskJournal(project.path("tasks.jsonl"))
        reconcile(project, studio, journal)
        people = People(project)
        people.meet(studio.users())
        fetcher = Fetcher(project, studio, journal, reporter)
        fetcher.run()
        history = fetcher.history
        foreign, _, _ = fetcher.surplus()
        annotations = _settled(workspace, project, history, people, named)
        rows = table(annotations, project.configuration, project.name)
        tables = {project.path("annotations.parquet"): (ANNOTATIONS, rows)}
        replace_tables(workspace, tables)
    problems = Counter(answer.problem for answer in annotations if answer.problem)
    counts = Counter(answer.key.subject_id for answer in annotations if answer.problem is None)
    repeated = Counter(journal.subjects.values())
    return PullResult(
        name,
        fetcher.fetched,
        counts.total(),
        dict(sorted(problems.items())),
        len(repeated),
        sum(count >= project.facts.annotators for count in counts.values()),
        sum(task is None for task in history.latest.values()),
        tuple(sorted(subject for subject, count in repeated.items() if count > 1)),
        foreign,
        tuple(sorted(set(fetcher.unreadable))),
        tuple(people.renamed),
        changed,
        time.monotonic() - started,
    )


def barred_annotators(workspace: WorkspaceLayout, project: Project) -> dict[str, Set[str]]:
    """Return who may not answer in an adjudication, by subject: whose answers are in dispute."""
    if project.facts.of is None:
        return {}
    barred: dict[str, Set[str]] = {}
    for answer in counting_annotations(open_project(workspace, project.facts.of)):
        subject = answer.key.subject_id
        barred[subject] = {*barred.get(subject, ()), answer.annotator}
    return barred


def _settled(
    workspace: WorkspaceLayout,
    project: Project,
    history: ExportHistory,
    people: People,
    named: bool,
) -> list[Annotation]:
    """Return all answers ever seen, those that do not count with the reason."""
    configuration = project.configuration
    read = list(read_annotations(history.current_tasks(), configuration, people, named=named))
    lost = read_annotations(history.deleted(), configuration, people, named=named)
    read += [replace(annotation, problem="deleted") for annotation in lost]
    return settle(read, project.facts.annotators, barred_annotators(workspace, project))


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

    requested: str
    """The project that was named, which may be an adjudication."""
    original: PullResult
    adjudications: tuple[PullResult, ...]
    decisions: tuple[Decision, ...]

    @property
    def counts(self) -> dict[str, int]:
        """Return how many subjects were decided how."""
        return dict(sorted(Counter(decision.how for decision in self.decisions).items()))

    @property
    def exit_code(self) -> int:
        """3 where the server could not export a task."""
        return 3 if any(pull.unreadable for pull in (self.original, *self.adjudications)) else 0

    def plain(self) -> dict[str, Any]:
        """Return the counts of the project, its adjudications and the decisions."""
        return {
            **asdict(self.original),
            "adjudications": [asdict(pulled) for pulled in self.adjudications],
            "decisions": self.counts,
        }

    def blocks(self) -> Iterator[Block]:
        """Yield what each project brought, and how subjects were decided."""
        if self.requested != self.original.project:
            yield Line(f"{self.requested} adjudicates {self.original.project}: both are pulled")
        for pulled in (self.original, *self.adjudications):
            yield from pulled.lines()
        yield from (Line(f"{how}: {count:,}") for how, count in self.counts.items())


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
    for project in (original, *third):
        check_server(project, server)
    options = {"named": named, "accept_configuration": accept_configuration}
    first, *others = (
        pull(workspace, server, project.name, reporter, **options) for project in (original, *third)
    )
    decisions = write_decisions(workspace, original.name)
    return CollectedAnswers(name, first, tuple(others), tuple(decisions))
