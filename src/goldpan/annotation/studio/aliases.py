"""What annotators are called outside their project, whatever its tables call them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from goldpan.annotation.studio.annotations import author_of
from goldpan.annotation.studio.fetch import ExportHistory, RawExports
from goldpan.annotation.studio.people import People
from goldpan.annotation.studio.project import Project
from goldpan.annotation.studio.pull import read_table
from goldpan.core.errors import UsageError
from goldpan.core.workspace import Workspace


def read_aliases(
    workspace: Workspace, projects: Iterable[Project], *, named: bool
) -> Mapping[str, str]:
    """Return by what the tables of pulled projects call annotators what they are to be called.

    That is a pseudonym, also where a project was pulled with names; `named` keeps the names, and
    raises `UsageError` where a project was pulled without.
    """
    names: dict[str, str] = {}
    for project in projects:
        pseudonyms = _pseudonyms(workspace, project)
        if not named:
            names |= pseudonyms
            continue
        if pseudonyms and all(pseudonym == alias for pseudonym, alias in pseudonyms.items()):
            raise UsageError(
                f"The project {project.name} was pulled without names",
                f"Run goldpan annotate pull --project {project.name} --names first",
            )
        names |= {pseudonym: pseudonym for pseudonym in pseudonyms}
    return names


def _pseudonyms(workspace: Workspace, project: Project) -> dict[str, str]:
    people = People(project)
    history = ExportHistory(RawExports(project.path("raw")).read())
    authors = {
        int(annotation["id"]): author_of(annotation)
        for task in (*history.current_tasks(), *history.deleted())
        for annotation in task["annotations"]
    }
    table = read_table(workspace, project.name)
    return {
        pseudonym: people.annotator(authors.get(number))
        for pseudonym, number in zip(
            table["annotator"].to_pylist(), table["annotation"].to_pylist(), strict=True
        )
    }
