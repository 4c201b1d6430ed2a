"""Fetches annotators' answers, and keeps each as the server sent it.

A file is named `PULL-PART.json.zst` and holds the tasks that were asked for beside the server's
answer, so that a task which the answer lacks is known to be gone.

Deleting many answers at once leaves no mark on their tasks, so the server's counts are compared
with ours afterwards, and where they differ everything is fetched. A pull that is killed goes on
with the tasks that it lacks.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import orjson
import pyarrow as pa
import zstandard

from goldpan.annotation.studio.annotations import (
    Annotation,
    People,
    read_annotations,
    settle,
    table,
)
from goldpan.annotation.studio.client import Server, Studio, StudioFaultError
from goldpan.annotation.studio.configuration import digest, parse
from goldpan.annotation.studio.project import (
    Project,
    TaskJournal,
    check_server,
    locked,
    open_project,
)
from goldpan.annotation.studio.push import reconcile
from goldpan.core.errors import UsageError, WorkspaceError
from goldpan.core.parquet import read_table as parquet_table
from goldpan.core.parquet import reading, replace_tables
from goldpan.core.progress import Reporter
from goldpan.core.schemas import ANNOTATIONS
from goldpan.core.secrets import mask
from goldpan.core.workspace import Workspace, make_directory, write_whole

KEYS = ("id", "subject", "repo", "issue", "pull_repo", "pull", "comment")
"""The keys of a task's data that identify its subject; annotators see the rest."""
ExportedTask = Mapping[str, Any]
"""A task as the server exports it, with its annotations."""


@dataclass(frozen=True, slots=True)
class Export:
    """One answer of the server."""

    pull: int
    asked: tuple[int, ...]
    """Task numbers."""
    tasks: tuple[ExportedTask, ...]


class RawExports:
    """The exports of one project, in the order in which they came."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def add(self, pull: int, asked: Sequence[int], content: bytes) -> Export:
        """Keep an answer and return it; it is there whole or not at all."""
        make_directory(self._directory)
        content = mask(content)
        part = 1 + len(list(self._directory.glob(f"{pull:06}-*.json.zst")))
        body = orjson.dumps({"pull": pull, "asked": list(asked), "tasks": orjson.Fragment(content)})
        packed = zstandard.ZstdCompressor(level=3).compress(body)
        write_whole(self._directory / f"{pull:06}-{part:06}.json.zst", packed)
        return Export(pull, tuple(asked), tuple(orjson.loads(content)))

    def fetched_tasks(self, pull: int) -> set[int]:
        """Return the tasks that a pull has fetched so far."""
        return {task for export in self._read(f"{pull:06}-*.json.zst") for task in export.asked}

    def last_pull(self) -> int:
        """Return the number of the last pull that fetched something; 0 where none did."""
        return max((int(path.name[:6]) for path in self._directory.glob("*.json.zst")), default=0)

    def read(self) -> Iterator[Export]:
        """Yield all exports, the oldest first; raises `WorkspaceError` for a damaged file."""
        yield from self._read("*.json.zst")

    def _read(self, pattern: str) -> Iterator[Export]:
        for path in sorted(self._directory.glob(pattern)):
            try:
                data = zstandard.ZstdDecompressor().decompress(path.read_bytes())
                yield msgspec.json.decode(data, type=Export)
            except (OSError, zstandard.ZstdError, msgspec.MsgspecError) as error:
                raise WorkspaceError(
                    f"{path} is damaged ({error})",
                    "Remove it together with pull.json beside raw/ and pull again",
                ) from None


class ExportHistory:
    """The state of a project after all exports: each task as it is now, and every answer so far."""

    def __init__(self, exports: Iterable[Export]) -> None:
        self.latest: dict[int, ExportedTask | None] = {}
        """Tasks by number as they were last fetched; None where one was gone."""
        self._answers: dict[int, ExportedTask] = {}
        for export in exports:
            self.take(export)

    def take(self, export: Export) -> None:
        """Take a newer export in."""
        self.latest |= dict.fromkeys(export.asked)
        for task in export.tasks:
            slim = {**task, "data": {key: task["data"].get(key) for key in KEYS}}
            self.latest[int(task["id"])] = slim
            for annotation in task["annotations"]:
                self._answers[int(annotation["id"])] = {**slim, "annotations": [annotation]}

    def current_tasks(self) -> list[ExportedTask]:
        """Return the tasks that are on the server."""
        return [task for task in self.latest.values() if task is not None]

    def deleted(self) -> list[ExportedTask]:
        """Return a task for each answer that is no longer on the server, with its last version."""
        now = {
            int(annotation["id"])
            for task in self.current_tasks()
            for annotation in task["annotations"]
        }
        return [self._answers[number] for number in sorted(self._answers.keys() - now)]

    def counts(self) -> tuple[int, int, int]:
        """Return how many tasks, answers and skipped answers are on the server."""
        annotations = [
            annotation for task in self.current_tasks() for annotation in task["annotations"]
        ]
        skipped = sum(bool(annotation["was_cancelled"]) for annotation in annotations)
        return len(self.current_tasks()), len(annotations) - skipped, skipped


_AT_ONCE = 250


@dataclass(frozen=True, slots=True)
class _State:
    """The progress of pulling: `pull.json`."""

    pull: int = 0
    since: str | None = None
    """Changes before this time of the server are here."""
    asked: tuple[int, ...] | None = None
    """Tasks of a pull under way."""
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
        stored = self._path.read_bytes() if self._path.exists() else b"{}"
        self._state = msgspec.json.decode(stored, type=_State)
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
        server = self._studio.project(self._project.number)
        tasks, answers, skipped = self.history.counts()
        return (
            server.tasks - tasks,
            server.answers - answers,
            server.skipped - skipped,
        )

    def _begin(self, *, whole: bool) -> None:
        began = self._studio.clock()
        task_numbers = set(self._journal.subjects)
        if not whole and self._state.since is not None:
            changed = self._studio.changed_tasks(self._project.number, self._state.since)
            numbers = {int(task["id"]) for task in changed}
            if not numbers:
                return  # no file of ours changes either
            task_numbers &= numbers
        # A pull that fetched nothing left no file, so its number is free.
        self._save(
            replace(
                self._state,
                pull=self._raw.last_pull() + 1,
                asked=tuple(sorted(task_numbers)),
                began=began,
                whole=whole,
            )
        )
        self._finish()

    def _finish(self) -> None:
        """Fetch the tasks that the pull under way still lacks."""
        state = self._state
        have = self._raw.fetched_tasks(state.pull)
        missing = [number for number in state.asked or () if number not in have]
        with self._reporter.task(f"{self._project.name}: answers", len(missing)) as progress:
            for start in range(0, len(missing), _AT_ONCE):
                batch = missing[start : start + _AT_ONCE]
                self._take(state.pull, batch)
                progress.advance(len(batch))
        self.fetched += len(missing)
        surplus = self.surplus() if state.whole else state.surplus
        self._save(_State(state.pull, since=state.began, surplus=surplus))

    def _take(self, pull: int, numbers: list[int]) -> None:
        """Fetch tasks; where the server fails at one, the others come all the same."""
        try:
            content = self._studio.export(self._project.number, numbers)
        except StudioFaultError:
            if len(numbers) == 1:
                self.unreadable.append(numbers[0])
                return
            self._studio.project(
                self._project.number
            )  # else nothing works, which is no task's fault
            self._take(pull, numbers[: len(numbers) // 2])
            self._take(pull, numbers[len(numbers) // 2 :])
            return
        self.history.take(self._raw.add(pull, numbers, content))

    def _save(self, state: _State) -> None:
        write_whole(self._path, orjson.dumps(state))
        self._state = state


# Brings the answers of one project home.
#
# Exports are kept as they came, and the table of annotations is made of all of them each time, so
# a changed rule needs no server.


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


def pull(
    workspace: Workspace,
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
        configuration = studio.project(project.number).configuration
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
        _write(workspace, project, annotations)
    problems = [annotation.problem for annotation in annotations]
    counts = Counter(one.data["id"] for one in annotations if one.problem is None)
    repeated = Counter(journal.subjects.values())
    return PullResult(
        name,
        fetcher.fetched,
        counts.total(),
        dict(sorted(Counter(filter(None, problems)).items())),
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


def read_table(workspace: Workspace, name: str) -> pa.Table:
    """Return a project's table of annotations; raises `WorkspaceError` before the first pull."""
    path = open_project(workspace, name).path("annotations.parquet")
    if not path.exists():
        raise WorkspaceError(
            f"Nothing was pulled of the project {name}",
            f"Run goldpan annotate pull --project {name}",
        )
    with reading(path, "Pull again"):
        rows = parquet_table(path)
    if rows.schema.names != ANNOTATIONS.schema.names:
        raise WorkspaceError(f"{path} was written by another version of Goldpan", "Pull again")
    return rows


def barred_annotators(workspace: Workspace, project: Project) -> dict[str, Set[str]]:
    """Return who may not answer in an adjudication, by subject: whose answers are in dispute."""
    if project.facts.of is None:
        return {}
    judged = read_table(workspace, project.facts.of)
    barred: dict[str, set[str]] = {}
    for subject, annotator, counts in zip(
        *(judged[name].to_pylist() for name in ("subject_id", "annotator", "counts")), strict=True
    ):
        if counts:
            barred.setdefault(subject, set()).add(annotator)
    return dict(barred)


def _settled(
    workspace: Workspace, project: Project, history: ExportHistory, people: People, named: bool
) -> list[Annotation]:
    """Return all answers that were ever seen, with the reason where one does not count."""
    configuration = project.configuration
    read = list(read_annotations(history.current_tasks(), configuration, people, named=named))
    lost = read_annotations(history.deleted(), configuration, people, named=named)
    read += [replace(annotation, problem="deleted") for annotation in lost]
    return settle(read, project.facts.annotators, barred_annotators(workspace, project))


def _accept(project: Project, xml: str) -> Project:
    configuration = parse(project.facts.form, xml)
    lost = {field.name for field in project.configuration.fields} - {
        field.name for field in configuration.fields
    }
    if lost:
        raise UsageError(
            f"The configuration on the server lacks the fields {', '.join(sorted(lost))}",
            "Restore them there, or begin another project",
        )
    write_whole(project.path("configuration.xml"), mask(xml.encode()))
    return replace(project, configuration=configuration)


def _write(workspace: Workspace, project: Project, annotations: list[Annotation]) -> None:
    rows = table(annotations, project.configuration, project.name)
    replace_tables(workspace, {project.path("annotations.parquet"): (ANNOTATIONS, rows)})
