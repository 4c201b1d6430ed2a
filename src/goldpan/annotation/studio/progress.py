"""Progress of annotators: `goldpan annotate status`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from goldpan.annotation.studio.answers import SUBJECTS, TABLE, asking
from goldpan.annotation.studio.exports import newest_export, pulled_at
from goldpan.annotation.studio.project import open_project
from goldpan.core.result import Result
from goldpan.core.storage.parquet import read_metadata
from goldpan.core.storage.workspace import WorkspaceLayout


@dataclass(frozen=True, slots=True)
class AnnotatorProgress:
    """One annotator's work."""

    annotator: str
    answers: int
    """Answers that count."""
    skipped: int
    other: int
    """Answers that do not count for another reason."""
    doubts: int
    filled_in: int
    """Answers that count where something was filled in before the annotator looked."""
    accepted: int
    """Suggestions that were left as they were filled in."""
    seconds: float | None
    """Median time per task."""
    last_at: datetime | None


@dataclass(frozen=True, slots=True)
class Progress(Result):
    """The progress of a project, as of its last pull."""

    schema = 2
    project: str
    form: str
    pulled_at: datetime | None
    """When the last pull began; what was answered later is not counted."""
    page: str
    subjects: int
    """Subjects on the server."""
    finished: int
    """Subjects with as many answers as are wanted."""
    begun: int
    """Subjects with some answers, but not enough."""
    passed_over: int
    """Subjects that lack answers and that somebody skipped: someone else has to answer them."""
    wanted: int
    """Answers of the whole project."""
    answers: int
    """Answers that count."""
    problems: tuple[tuple[str, int], ...]
    """Answers that do not count, by reason."""
    annotators: tuple[AnnotatorProgress, ...]
    seconds: float | None
    """Median time per task, over all annotators."""


_BY_ANNOTATOR = """
SELECT
    annotator,
    count(*) FILTER (problem IS NULL) AS answers,
    count(*) FILTER (problem = 'skipped') AS skipped,
    count(*) FILTER (problem <> 'skipped') AS other,
    count(*) FILTER (problem IS NULL AND doubt) AS doubts,
    count(origin) FILTER (problem IS NULL) AS filled_in,
    count(*) FILTER (problem IS NULL AND origin = 'accepted') AS accepted,
    median(seconds) FILTER (problem IS NULL) AS seconds,
    max(updated_at) AS last_at
FROM answers GROUP BY ALL ORDER BY ALL
"""
_PROBLEMS = """
SELECT problem, count(*) AS answers FROM answers WHERE problem IS NOT NULL GROUP BY ALL ORDER BY ALL
"""
_ALL = """
WITH subjects AS (
    SELECT
        count(*) FILTER (problem IS NULL) AS answers,
        bool_or(problem = 'skipped') AS passed_over
    FROM answers GROUP BY subject_id
)
SELECT
    (SELECT count(*) FROM subjects WHERE answers >= $enough) AS finished,
    (SELECT count(*) FROM subjects WHERE answers > 0 AND answers < $enough) AS begun,
    (SELECT count(*) FROM subjects WHERE passed_over AND answers < $enough) AS passed_over,
    count(*) AS answers,
    median(seconds) AS seconds
FROM answers WHERE problem IS NULL
"""


def progress(workspace: WorkspaceLayout, name: str) -> Progress:
    """Return how far a project is; raises `WorkspaceError` before the first pull."""
    project = open_project(workspace, name)
    enough = project.facts.annotators
    with asking(project) as ask:
        people = tuple(AnnotatorProgress(**row) for row in ask(_BY_ANNOTATOR))
        problems = tuple((row["problem"], row["answers"]) for row in ask(_PROBLEMS))
        (state,) = ask(_ALL, enough=enough)
    subjects = int(read_metadata(project.path(TABLE)).get(SUBJECTS.encode(), 0))
    export = newest_export(project)
    return Progress(
        name,
        project.facts.form,
        pulled_at(export) if export else None,
        project.page,
        subjects,
        state["finished"],
        state["begun"],
        state["passed_over"],
        enough * subjects,
        state["answers"],
        problems,
        people,
        state["seconds"],
    )
