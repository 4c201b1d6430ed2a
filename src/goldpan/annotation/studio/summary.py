"""Summaries of rounds of annotation: `goldpan annotate status`, and the report for a paper.

A round is a project with its adjudications. Agreement is that of the annotators' own answers,
before a third person decided.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldpan.annotation.agreement import Agreement, Rating, agree
from goldpan.annotation.studio.answers import SUBJECTS, TABLE, asking, pulled_at, rows, stored_tasks
from goldpan.annotation.studio.decisions import Decision, read_decisions
from goldpan.annotation.studio.forms import find_form
from goldpan.annotation.studio.gold import read_ratings
from goldpan.annotation.studio.panels import text_of_panel
from goldpan.annotation.studio.project import Project, open_project
from goldpan.core.result import Result
from goldpan.core.storage.parquet import read_metadata
from goldpan.core.storage.workspace import WorkspaceLayout

if TYPE_CHECKING:
    import duckdb

_MOST_TEXTS = 50
"""Disagreements of a round whose texts are read; all are listed."""
_LONGEST_TEXT = 4_000


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
    seconds: float | None
    """Median time per task."""


@dataclass(frozen=True, slots=True)
class Progress(Result):
    """The progress of a project, as of its last pull."""

    schema = 3
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
    problems: Mapping[str, int]
    """Answers that do not count, by reason."""
    annotators: tuple[AnnotatorProgress, ...]


_BY_ANNOTATOR = """
SELECT
    annotator,
    count(*) FILTER (counts) AS answers,
    count(*) FILTER (problem = 'skipped') AS skipped,
    count(*) FILTER (problem <> 'skipped') AS other,
    count(*) FILTER (counts AND doubt) AS doubts,
    median(seconds) FILTER (counts) AS seconds
FROM answers GROUP BY ALL ORDER BY ALL
"""
_PROBLEMS = """
SELECT problem, count(*) FROM answers WHERE NOT counts GROUP BY ALL ORDER BY ALL
"""
_ALL = """
WITH subjects AS (
    SELECT count(*) FILTER (counts) AS answers, bool_or(problem = 'skipped') AS passed_over
    FROM answers GROUP BY subject_id
)
SELECT
    (SELECT count(*) FROM subjects WHERE answers >= $enough) AS finished,
    (SELECT count(*) FROM subjects WHERE answers > 0 AND answers < $enough) AS begun,
    (SELECT count(*) FROM subjects WHERE passed_over AND answers < $enough) AS passed_over,
    (SELECT coalesce(sum(answers), 0)::BIGINT FROM subjects) AS answers
"""


def progress(workspace: WorkspaceLayout, name: str) -> Progress:
    """Return how far a project is; raises `WorkspaceError` before the first pull."""
    project = open_project(workspace, name)
    with asking(workspace, project, find_form(project.facts.form).decides) as database:
        return _progress(project, database)


def _progress(project: Project, database: duckdb.DuckDBPyConnection) -> Progress:
    enough = project.facts.annotators
    (state,) = rows(database, _ALL, enough=enough)
    subjects = int(read_metadata(project.path(TABLE)).get(SUBJECTS.encode(), 0))
    return Progress(
        project=project.name,
        form=project.facts.form,
        pulled_at=pulled_at(project),
        page=project.page,
        subjects=subjects,
        wanted=enough * subjects,
        problems=dict(database.execute(_PROBLEMS).fetchall()),
        annotators=tuple(AnnotatorProgress(**row) for row in rows(database, _BY_ANNOTATOR)),
        **state,
    )


@dataclass(frozen=True, slots=True)
class Day:
    """The answers that count of one day, in UTC, by annotator."""

    day: date
    answers: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Confusion:
    """What two annotators chose for the same items."""

    annotators: tuple[str, str]
    choices: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    """Items by the first annotator's choice, then the second's."""


@dataclass(frozen=True, slots=True)
class DisputedItem:
    """An item on which annotators differ, or that was adjudicated for a doubt."""

    item: str
    title: str
    answers: Mapping[str, tuple[str, ...]]
    """By annotator."""
    decided: tuple[str, ...] | None
    """None where nobody has decided."""
    by: str | None
    """Who adjudicated it."""
    doubt: bool
    """True where the annotators agreed, but one of them in doubt."""
    texts: Mapping[str, str]
    """What annotators saw, by panel; empty beyond the first items."""


@dataclass(frozen=True, slots=True)
class Round:
    """One round of annotation with its adjudication, as of its last pull."""

    project: str
    form: str
    wanted: int
    """How many people were to judge each item."""
    progress: Progress
    days: tuple[Day, ...]
    agreed: int
    """Items on which the annotators' own answers stand."""
    disputed: tuple[DisputedItem, ...]
    agreement: tuple[Agreement, ...]
    """By field that everybody has to answer."""
    confusions: tuple[Confusion, ...]
    """Of the field that people have to agree on."""

    @property
    def conflicts(self) -> int:
        """How many disputed items nobody has decided."""
        return sum(item.decided is None for item in self.disputed)

    @property
    def adjudicated(self) -> int:
        """How many items a third person decided."""
        return len(self.disputed) - self.conflicts


@dataclass(frozen=True, slots=True)
class AnnotationReport(Result):
    """The written report on rounds of annotation."""

    schema = 3
    files: tuple[Path, ...]
    rounds: tuple[Round, ...]


_DAYS = """
SELECT created_at::DATE AS day, annotator, count(*) AS answers
FROM answers WHERE counts GROUP BY ALL ORDER BY ALL
"""


def summarize(workspace: WorkspaceLayout, names: Iterable[str]) -> tuple[Round, ...]:
    """Return the rounds of projects.

    Raises `UsageError` for an adjudication, which is reported with its project, and
    `WorkspaceError` before the first pull.
    """
    projects = (open_project(workspace, name) for name in dict.fromkeys(names))
    return tuple(_round(workspace, project) for project in projects)


def _round(workspace: WorkspaceLayout, project: Project) -> Round:
    decides = find_form(project.facts.form).decides
    hows: Counter[str] = Counter()
    disputed = []
    for decision in read_decisions(workspace, project.name):
        hows[decision.how] += 1
        if decision.how in ("adjudicated", "conflict"):
            disputed.append(decision)
    ratings = read_ratings(workspace, project.name)
    days: dict[date, dict[str, int]] = defaultdict(dict)
    with asking(workspace, project, decides) as database:
        state = _progress(project, database)
        for row in rows(database, _DAYS):
            days[row["day"]][row["annotator"]] = row["answers"]
    return Round(
        project.name,
        project.facts.form,
        project.facts.annotators,
        state,
        tuple(Day(day, answers) for day, answers in days.items()),
        hows["agreed"],
        tuple(_disputed(project, disputed, ratings[decides])),
        tuple(agree(field, field_ratings) for field, field_ratings in ratings.items()),
        tuple(_confusions(ratings[decides])),
    )


def _confusions(ratings: Iterable[Rating]) -> Iterator[Confusion]:
    by_item: dict[str, dict[str, str]] = defaultdict(dict)
    for rating in ratings:
        by_item[rating.item][rating.rater] = ", ".join(sorted(rating.labels)) or "nothing"
    raters = sorted({rater for choices in by_item.values() for rater in choices})
    for first, other in combinations(raters, 2):
        counts = Counter(
            (choices[first], choices[other])
            for choices in by_item.values()
            if first in choices and other in choices
        )
        names = tuple(sorted({name for pair in counts for name in pair}))
        cells = tuple(tuple(counts[row, column] for column in names) for row in names)
        if names:
            yield Confusion((first, other), names, cells)


def _disputed(
    project: Project, decisions: Sequence[Decision], ratings: Iterable[Rating]
) -> Iterator[DisputedItem]:
    answers: dict[str, dict[str, tuple[str, ...]]] = {
        decision.key.subject_id: {} for decision in decisions
    }
    for rating in sorted(ratings, key=lambda rating: rating.rater):
        if rating.item in answers:
            answers[rating.item][rating.rater] = tuple(sorted(rating.labels))
    shown: dict[str, Mapping[str, Any]] = {
        str(task.data["id"]): task.data
        for task in stored_tasks(project)
        if task.data.get("id") in answers
    }
    for place, decision in enumerate(decisions):
        item = decision.key.subject_id
        data = shown.get(item, {})
        panels = project.configuration.panels if place < _MOST_TEXTS else ()
        adjudicated = decision.how == "adjudicated"
        yield DisputedItem(
            item,
            str(data.get("title") or ""),
            answers[item],
            decision.values if adjudicated else None,
            decision.annotators[0] if adjudicated else None,
            len(set(answers[item].values())) == 1,
            {
                panel.removesuffix("_panel"): text_of_panel(str(data[panel]))[:_LONGEST_TEXT]
                for panel in panels
                if panel in data and panel != "note"
            },
        )
