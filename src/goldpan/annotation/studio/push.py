"""Brings subjects to annotators: `goldpan annotate push`.

Pushing again adds only what is new, by the subject's id. A run that is killed leaves at most one
batch of which it did not hear: the next run asks the server for tasks that it does not know, so
nothing is sent twice. A batch that the server was still writing then is told by its second copy,
which is taken away while nobody has answered it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from goldpan.annotation.studio.client import Server, Studio
from goldpan.annotation.studio.configuration import Configuration, check, load
from goldpan.annotation.studio.forms import Form, Task
from goldpan.annotation.studio.project import (
    Facts,
    Journal,
    Project,
    begin_project,
    ensure_on_server,
    locked,
)
from goldpan.errors import UsageError
from goldpan.progress import Reporter
from goldpan.workspace import Workspace

_MOST_TASKS = 250
_MOST_BYTES = 8_000_000
_PATIENCE = 5.0


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What a model would answer; it fills the form in before a person looks."""

    model: str
    values: Mapping[str, tuple[str, ...]]
    """By field."""
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Pushed:
    """What a push did."""

    project: str
    page: str
    """The address where annotators begin."""
    added: int
    known: int
    """Subjects that were there before."""
    repeated: int
    """Tasks that stood there twice, and were taken away."""
    seconds: float


def push(
    workspace: Workspace,
    server: Server,
    name: str,
    form: Form,
    tasks: Iterable[Task],
    reporter: Reporter,
    *,
    annotators: int = 2,
    blind: bool = True,
    suggestions: Mapping[str, Suggestion] | None = None,
    of: str | None = None,
) -> Pushed:
    """Put subjects that are not there yet into a project on the server, made on first use.

    `suggestions` come by subject id. In a blind project, which a gold set should be, they are
    refused: people lean towards what is filled in. Raises `StudioError` where the server fails;
    what was sent stays, and the same push goes on.
    """
    if suggestions and blind:
        raise UsageError(
            "A blind project shows no suggestions of models",
            "Push without them, or begin another project with --not-blind",
        )
    if annotators < 1:
        raise UsageError(f"{annotators} people cannot answer", "Give at least 1")
    begun = time.monotonic()
    facts = Facts(server.url, "", form.name, annotators, blind, of)
    project = begin_project(workspace, name, load(form.name), facts)
    with Studio(server) as studio, locked(project):
        project = ensure_on_server(project, studio, suggestions=not blind)
        journal = Journal(project.path("tasks.jsonl"))
        doubtful = bool(journal.open_batch)
        repeated = reconcile(project, studio, journal)
        there = set(journal.subjects.values())
        known = added = 0
        with reporter.task(f"{name}: tasks", 0) as progress:
            for batch in _batches(project.configuration, tasks, there, suggestions or {}):
                progress.extend(len(batch.new))
                known += batch.known
                if batch.new:
                    ids = [subject for subject, _ in batch.new]
                    journal.sending(ids)
                    numbers = studio.import_tasks(project.number, [body for _, body in batch.new])
                    journal.made(list(zip(numbers, ids, strict=True)))
                    added += len(ids)
                    progress.advance(len(ids))
        if doubtful:
            repeated += reconcile(project, studio, journal, from_start=True)
    return Pushed(name, project.page, added, known, repeated, time.monotonic() - begun)


def reconcile(
    project: Project, studio: Studio, journal: Journal, *, from_start: bool = False
) -> int:
    """Learn of tasks on the server that the journal lacks; return how many copies were removed."""
    found = _unknown(project, studio, journal, from_start)
    until = time.monotonic() + _PATIENCE
    waiting = set(journal.open_batch)
    while waiting and not waiting <= set(found.values()) and time.monotonic() < until:
        # The server may still be writing the batch of a run that was killed.
        time.sleep(0.5)
        found = _unknown(project, studio, journal, from_start)
    first: dict[str, int] = {}
    for number in sorted(journal.subjects):
        first.setdefault(journal.subjects[number], number)
    removed = 0
    made: list[tuple[int, str]] = []
    for number, subject in sorted(found.items()):
        if first.setdefault(subject, number) == number:
            made.append((number, subject))
        elif _untouched(studio, project, number):
            studio.delete_task(number)
            removed += 1
        else:
            made.append((number, subject))
    if made or journal.open_batch:
        journal.made(made)
    return removed


def _unknown(
    project: Project, studio: Studio, journal: Journal, from_start: bool
) -> dict[int, str]:
    """Return the tasks on the server that the journal lacks, by number."""
    highest = 0 if from_start else max(journal.subjects, default=0)
    found = {}
    for task in studio.newest_tasks(project.number):
        if task["id"] <= highest:
            break
        subject = task["data"].get("id")
        if isinstance(subject, str) and task["id"] not in journal.subjects:
            found[int(task["id"])] = subject
    return found


def _untouched(studio: Studio, project: Project, number: int) -> bool:
    exported: list[dict[str, Any]] = orjson.loads(studio.export(project.number, [number]))
    return not any(task["annotations"] or task.get("drafts") for task in exported)


@dataclass(frozen=True, slots=True)
class _Batch:
    new: list[tuple[str, dict[str, object]]]
    known: int


def _batches(
    configuration: Configuration,
    tasks: Iterable[Task],
    there: set[str],
    suggestions: Mapping[str, Suggestion],
) -> Iterator[_Batch]:
    new: list[tuple[str, dict[str, object]]] = []
    known = size = 0
    for task in tasks:
        if task.subject_id in there:
            known += 1
            continue
        there.add(task.subject_id)
        body: dict[str, object] = {"data": task.data()}
        suggestion = suggestions.get(task.subject_id)
        if suggestion:
            body["predictions"] = [_prediction(configuration, task, suggestion)]
        new.append((task.subject_id, body))
        size += sum(len(panel) for panel in task.panels.values())
        if len(new) >= _MOST_TASKS or size >= _MOST_BYTES:
            yield _Batch(new, known)
            new, known, size = [], 0, 0
    yield _Batch(new, known)


def _prediction(
    configuration: Configuration, task: Task, suggestion: Suggestion
) -> dict[str, object]:
    to_name = configuration.target
    result = []
    for name, values in suggestion.values.items():
        kind = {"choices": "choices", "text": "textarea"}
        field = next((one for one in configuration.fields if one.name == name), None)
        if field is None:
            raise UsageError(
                f"A suggestion for {task.subject_id} names the field {name}",
                f"{configuration.name} has {', '.join(one.name for one in configuration.fields)}",
            )
        value = {"choices" if field.kind == "choices" else "text": list(values)}
        result.append(
            {"from_name": name, "to_name": to_name, "type": kind[field.kind], "value": value}
        )
    if problem := check(configuration, result).problem:
        raise UsageError(
            f"The suggestion for {task.subject_id} is no answer ({problem})",
            "Mend what made it",
        )
    return {"model_version": suggestion.model, "result": result, "score": suggestion.score}
