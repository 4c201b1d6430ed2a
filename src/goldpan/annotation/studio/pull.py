"""Brings the answers of one project home.

Exports are kept as they came, and the table of annotations is made of all of them each time, so
a changed rule needs no server.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Set
from dataclasses import dataclass, replace

import pyarrow as pa

from goldpan.annotation.studio.annotations import (
    Annotation,
    People,
    read_annotations,
    settle,
    table,
)
from goldpan.annotation.studio.client import Server, Studio
from goldpan.annotation.studio.configuration import digest, parse
from goldpan.annotation.studio.fetch import ExportHistory, Fetcher
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
from goldpan.core.workspace import Workspace, write_whole


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
