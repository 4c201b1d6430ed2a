"""Pushes rows to annotators, all of a dataset or those whose labels are suspect.

Which rows are suspects stays beside the project and never goes to the server: whoever knows that
a label is suspected no longer judges it by itself. Controls, drawn among the other rows, are mixed
in unseen; they say how often labels are wrong that nobody suspects.

Pushing again adds only what the server lacks, by the subject's id.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import orjson

from goldpan.annotation.studio.client import Server, Studio
from goldpan.annotation.studio.forms import Form, StudioTask
from goldpan.annotation.studio.project import (
    Project,
    ProjectFacts,
    begin_project,
    dataset_place,
    ensure_on_server,
    locked,
    read_labels,
    read_stored,
    write_labels,
)
from goldpan.core.errors import UsageError
from goldpan.core.result import Result
from goldpan.core.storage.workspace import WorkspaceLayout, write_whole
from goldpan.core.terminal import Reporter
from goldpan.datasets.splits import draw_number, sample_by_hash

_FILE = "suspects.json"


@dataclass(frozen=True, slots=True)
class Suspect:
    """A row that was selected for annotators."""

    id: str
    rank: int
    """From 1, the most suspect."""
    margin: float
    """The margin of its label, as `goldpan evaluate label-errors` gives it."""
    control: bool
    """True for a row drawn among those that were not taken by their rank."""


@dataclass(frozen=True, slots=True)
class SuspectSelection:
    """Rows selected from a task's data, and the ranking that they come from."""

    task: str
    data_hash: str
    """The hash of the rows that were ranked."""
    folds: int
    seed: int
    rows: tuple[Suspect, ...]

    @property
    def ids(self) -> frozenset[str]:
        """Return the rows' ids."""
        return frozenset(row.id for row in self.rows)

    def mixed(self, tasks: Iterable[StudioTask]) -> list[StudioTask]:
        """Return tasks in an order that does not depend on how suspect they are."""
        return sorted(tasks, key=lambda task: draw_number(self.seed, "order", task.key.subject_id))


def choose(
    ranked: Sequence[tuple[str, float]],
    suspects: int,
    controls: int,
    *,
    task: str,
    data_hash: str,
    folds: int,
    seed: int,
) -> SuspectSelection:
    """Return the first `suspects` of ranked rows, and `controls` drawn among the others.

    `ranked` are ids and margins, the most suspect first. Raises `UsageError` for numbers that
    select nothing.
    """
    if suspects < 1 or controls < 0:
        raise UsageError(
            f"{suspects} suspects and {controls} controls cannot be sent", "Give 1 or more, and 0"
        )
    numbered = [Suspect(id, rank, margin, False) for rank, (id, margin) in enumerate(ranked, 1)]
    drawn = sample_by_hash(numbered[suspects:], controls, seed, lambda row: row.id)
    rows = (*numbered[:suspects], *(replace(row, control=True) for row in drawn))
    return SuspectSelection(task, data_hash, folds, seed, rows)


def write_selection(project: Project, selection: SuspectSelection) -> None:
    """Keep a selection beside a project; rows of earlier ones stay as they were chosen.

    Raises `UsageError` where the project holds rows of another task.
    """
    earlier = read_selection(project)
    if earlier is not None and earlier.task != selection.task:
        raise UsageError(
            f"The project {project.name} holds suspects of {earlier.task}", "Give another --project"
        )
    by_id = {row.id: row for row in (*selection.rows, *(earlier.rows if earlier else ()))}
    rows = sorted(by_id.values(), key=lambda row: (row.rank, row.id))
    whole = replace(selection, rows=tuple(rows))
    write_whole(project.path(_FILE), orjson.dumps(whole, option=orjson.OPT_INDENT_2))


def read_selection(project: Project) -> SuspectSelection | None:
    """Return what was selected for a project; None where nothing was selected by rank."""
    remedy = "Remove it and push the same suspects again"
    return read_stored(project.path(_FILE), SuspectSelection, remedy)


_MOST_TASKS = 250
_MOST_BYTES = 750_000
"""Of panels in one import: proxies take a megabyte unless told otherwise."""


@dataclass(frozen=True, slots=True)
class PushResult(Result):
    """The subjects that a push added."""

    schema = 3
    project: str
    page: str
    """The address where annotators begin."""
    added: int
    known: int
    """Subjects that were there before."""
    removed: int
    """Tasks that were there twice, as a push leaves that was killed."""
    seconds: float


def push(
    workspace: WorkspaceLayout,
    server: Server,
    name: str,
    form: Form,
    tasks: Iterable[StudioTask],
    reporter: Reporter,
    *,
    annotators: int = 2,
    of: str | None = None,
    selection: SuspectSelection | None = None,
    dataset: Path | None = None,
) -> PushResult:
    """Add the subjects that a project on the server lacks; the first push creates the project.

    `selection` is where the tasks come from, if they were ranked, and `dataset` the directory of
    the rows. Raises `StudioError` where the server fails; what was sent stays, and the same push
    goes on.
    """
    if annotators < 1:
        raise UsageError(f"{annotators} people cannot answer", "Give at least 1")
    started = time.monotonic()
    datasets = () if dataset is None else (dataset_place(workspace, dataset),)
    facts = ProjectFacts(server.url, "", form.name, annotators, of=of, datasets=datasets)
    project = begin_project(workspace, name, form.configuration, facts)
    with Studio(server) as studio, locked(project):
        if selection is not None:
            write_selection(project, selection)
        project = ensure_on_server(project, studio)
        there, removed = _subjects(studio, project.number)
        labels = read_labels(project)
        known = added = 0
        try:
            with reporter.task(f"{name}: tasks", 0) as progress:
                for batch in _batches(tasks):
                    subjects = {task.key.subject_id: task for task in batch}
                    labels |= {
                        subject: task.dataset_labels
                        for subject, task in subjects.items()
                        if task.dataset_labels
                    }
                    new = [
                        {"data": subjects[each].data()} for each in subjects if each not in there
                    ]
                    there |= subjects.keys()
                    known += len(batch) - len(new)
                    if new:
                        progress.extend(len(new))
                        studio.import_tasks(project.number, new)
                        added += len(new)
                        progress.advance(len(new))
        finally:
            write_labels(project, labels)
    seconds = time.monotonic() - started
    return PushResult(name, project.page, added, known, removed, seconds)


def _subjects(studio: Studio, project: int) -> tuple[set[str], int]:
    """Return the subjects on the server, and how many tasks were removed that repeat another."""
    tasks = [task.data.get("id") for task in studio.tasks(project)]
    pushed = [subject for subject in tasks if isinstance(subject, str)]
    subjects = set(pushed)
    if len(subjects) == len(pushed):
        return subjects, 0
    studio.remove_copies(project)
    return subjects, len(tasks) - sum(1 for _ in studio.tasks(project))


def _batches(tasks: Iterable[StudioTask]) -> Iterator[list[StudioTask]]:
    batch: list[StudioTask] = []
    size = 0
    for task in tasks:
        more = sum(len(panel.encode()) for panel in task.panels.values())
        if batch and (len(batch) == _MOST_TASKS or size + more > _MOST_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(task)
        size += more
    yield batch
