"""An annotation project on disk: its settings and the dataset's labels.

WORKSPACE/annotations/
├── salt                     makes pseudonyms; private, never published
└── NAME/
    ├── project.json         the server, the project's number there, who answers how often
    ├── configuration.xml    what annotators are asked, as it was pushed
    ├── people.json          pseudonyms by the server's user numbers; private
    ├── given.jsonl          the dataset's labels, which never go to the server
    ├── raw/                 the export of each pull as it came, zstd, never changed
    ├── annotations.parquet  a row an answered question, made of the newest export alone
    ├── decisions.parquet    what people decided on each subject
    └── verdicts.parquet     the same as verdicts that builds can require
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import msgspec
import orjson

from goldpan.annotation.studio.client import Server, Studio
from goldpan.annotation.studio.configuration import Configuration, check_form, parse
from goldpan.core.errors import GoldpanError, UsageError, WorkspaceError, choices
from goldpan.core.locks import hold_lock
from goldpan.core.schemas.table import TableSchema
from goldpan.core.secrets import mask
from goldpan.core.storage.parquet import open_file, reading
from goldpan.core.storage.workspace import WorkspaceLayout, existing, make_directory, write_whole

T = TypeVar("T")
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{2,49}")


def read_stored(path: Path, kind: type[T], remedy: str) -> T | None:
    """Return a JSON file as a type, None without one; raises `WorkspaceError` where damaged."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        raise WorkspaceError(f"{path} is damaged ({error})", remedy) from None


@dataclass(frozen=True, slots=True)
class ProjectFacts:
    """The content of `project.json`."""

    url: str
    """The server."""
    key: str
    """A random word in the project's description, by which its server is known."""
    form: str
    annotators: int
    """How many people answer each task."""
    of: str | None = None
    """The project whose conflicts this one decides."""
    number: int | None = None
    """The project's number on the server, once it is there."""
    datasets: tuple[str, ...] = ()
    """The directories whose rows people see, from the workspace's on."""


@dataclass(frozen=True, slots=True)
class Project:
    """One annotation project."""

    root: Path
    facts: ProjectFacts
    configuration: Configuration

    @property
    def name(self) -> str:
        """Return the project's name."""
        return self.root.name

    @property
    def number(self) -> int:
        """Return the project's number on the server."""
        if self.facts.number is None:
            raise WorkspaceError(
                f"The project {self.name} was never pushed to the end",
                "Run goldpan annotate push again",
            )
        return self.facts.number

    @property
    def page(self) -> str:
        """Return the address where annotators begin."""
        return f"{self.facts.url}/projects/{self.number}/data?labeling=1"

    def path(self, name: str) -> Path:
        """Return a file of the project."""
        return self.root / name

    def table(self, name: str, table: TableSchema, lacking: str) -> Path:
        """Return a table's file; raises `WorkspaceError` where it is `lacking` or damaged."""
        path, pull = self.path(name), f"Run goldpan annotate pull --project {self.name}"
        if not path.exists():
            raise WorkspaceError(lacking, pull)
        with reading(path, f"{pull} again"), open_file(path) as file:
            if file.schema_arrow.names != table.schema.names:
                raise WorkspaceError(f"{path} was written by another version of Goldpan", pull)
        return path


def project_directory(workspace: WorkspaceLayout, name: str) -> Path:
    """Return a project's directory; raises `UsageError` for a name that cannot be one."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} is not a valid project name",
            "Use 3 to 50 lower-case letters, digits, dots, dashes and underscores",
        )
    return workspace.root / "annotations" / name


def projects(workspace: WorkspaceLayout) -> list[str]:
    """Return the names of all projects, sorted."""
    paths = (workspace.root / "annotations").glob("*/project.json")
    return sorted(path.parent.name for path in paths)


def dataset_place(workspace: WorkspaceLayout, directory: Path) -> str:
    """Return a dataset's directory as the facts of a project name it."""
    return os.path.relpath(directory.resolve(), workspace.root.resolve())


def refuse_annotated(workspace: WorkspaceLayout, directory: Path) -> None:
    """Raise `UsageError` for the directory of a dataset that some project sent to annotators."""
    place = dataset_place(workspace, directory)
    for name in projects(workspace):
        if place in open_project(workspace, name).facts.datasets:
            raise UsageError(
                f"{directory} holds what the project {name} shows to annotators, and --require "
                "would leave out rows of it",
                "Give --output another directory",
            )


def open_project(workspace: WorkspaceLayout, name: str) -> Project:
    """Return a project.

    Raises `UsageError` where the workspace is missing, and `WorkspaceError` where the project is
    missing or damaged.
    """
    root = project_directory(existing(workspace), name)
    remedy = "Restore it from a copy, or push to another project"
    facts = read_stored(root / "project.json", ProjectFacts, remedy)
    if facts is None:
        others = projects(workspace)
        start = f"Choose {choices(others)}, or make" if others else "Make"
        raise WorkspaceError(
            f"{workspace.root} holds no annotation project {name}",
            f"{start} it with goldpan annotate push",
        )
    path = root / "configuration.xml"
    try:
        xml = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise WorkspaceError(f"{path} is damaged ({error})", remedy) from None
    return Project(root, facts, parse(facts.form, xml))


def adjudications(workspace: WorkspaceLayout, name: str) -> list[Project]:
    """Return the projects that decide a project's conflicts, sorted by name."""
    others = (open_project(workspace, other) for other in projects(workspace))
    return [project for project in others if project.facts.of == name]


def check_server(project: Project, studio: Studio) -> Project:
    """Return a project as it is known on a server, whose address may have changed.

    Raises `UsageError` where the project lives on another server, `StudioError` for an old one.
    """
    studio.check_version()
    found = studio.project(project.number)
    if studio.url == project.facts.url:
        return project
    if project.facts.key not in (found.description or ""):
        raise UsageError(
            f"The project {project.name} lives on {project.facts.url}, not {studio.url}",
            "Give that address with --url",
        )
    moved = replace(project, facts=replace(project.facts, url=studio.url))
    _save(moved)
    return moved


def note_address(workspace: WorkspaceLayout, server: Server) -> None:
    """Note the address of a server in the projects that live there, wherever it was before."""
    with Studio(server) as studio:
        for name in projects(workspace):
            with suppress(GoldpanError):  # one of another server, or never pushed to the end
                check_server(open_project(workspace, name), studio)


def begin_project(
    workspace: WorkspaceLayout, name: str, configuration: Configuration, facts: ProjectFacts
) -> Project:
    """Return the project of that name, created where there is none.

    Raises `UsageError` where the existing one has other settings.
    """
    root = project_directory(workspace, name)
    if not (root / "project.json").exists():
        make_directory(root)
        write_whole(root / "configuration.xml", configuration.xml.encode())
        project = Project(root, replace(facts, key=secrets.token_hex(12)), configuration)
        _save(project)
        return project
    project = open_project(workspace, name)
    for key in ("form", "annotators", "of"):
        stored, value = getattr(project.facts, key), getattr(facts, key)
        if stored != value:
            raise UsageError(
                f"The project {name} was begun with {key} {stored}, not {value}",
                "Give another --project, or the same settings",
            )
    if new := set(facts.datasets) - set(project.facts.datasets):
        datasets = (*project.facts.datasets, *sorted(new))
        project = replace(project, facts=replace(project.facts, datasets=datasets))
        _save(project)
    return project


def ensure_on_server(project: Project, studio: Studio) -> Project:
    """Return the project with its number on the server, created there where it is missing."""
    if project.facts.number is not None:
        return check_server(project, studio)
    studio.check_version()
    check_form(project.configuration)
    hidden = ("id", "subject", "pull_repo", "comment", *project.configuration.panels)
    number = studio.create_project(
        project.facts.key,
        hidden,
        title=f"{project.name} ({project.facts.form})"[:50],
        description=f"Made by goldpan annotate push, {project.facts.key}",
        label_config=project.configuration.xml,
        maximum_annotations=project.facts.annotators,
        enable_empty_annotation=False,
        show_collab_predictions=False,
        show_skip_button=True,
        sampling="Sequential sampling",
    )
    numbered = replace(project, facts=replace(project.facts, number=number, url=studio.url))
    _save(numbered)
    return numbered


@contextmanager
def locked(project: Project) -> Iterator[None]:
    """Keep other processes from pushing to and pulling from this project."""
    busy = WorkspaceError(
        f"Another goldpan is working on the project {project.name}", "Wait for it"
    )
    with hold_lock(project.path("lock"), busy):
        yield


def _save(project: Project) -> None:
    write_whole(
        project.path("project.json"), orjson.dumps(project.facts, option=orjson.OPT_INDENT_2)
    )


def read_labels(project: Project) -> dict[str, tuple[str, ...]]:
    """Return the labels that datasets give their rows, by subject.

    They never go to the server, where an annotator could find them.
    """
    remedy = "Remove it and push the same dataset again"
    return read_stored(project.path("given.jsonl"), dict[str, tuple[str, ...]], remedy) or {}


def write_labels(project: Project, labels: Mapping[str, tuple[str, ...]]) -> None:
    """Keep datasets' labels, where there are some."""
    if labels:
        write_whole(project.path("given.jsonl"), mask(orjson.dumps(labels) + b"\n"))


class SubjectKey(msgspec.Struct, frozen=True, rename={"subject_id": "id"}):
    """The part of a task's data that identifies its subject; annotators see the rest."""

    subject_id: str
    subject: str
    repo: str
    """Empty where the source does not tell."""
    issue: int | None = None
    pull_repo: str | None = None
    pull: int | None = None
    comment: int | None = None
    """The reply that is judged, of a question with its answer."""
