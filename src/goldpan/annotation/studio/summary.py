"""Summaries of rounds of annotation, for the report of a paper.

A round is a project with its adjudications. Agreement is that of the annotators' own answers,
before a third person decided.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from goldpan.annotation.agreement import MOST_LISTED, Agreement
from goldpan.annotation.studio.answers import Progress, asking, progress_in, rows, stored_tasks
from goldpan.annotation.studio.decisions import Decision, read_decisions
from goldpan.annotation.studio.forms import find_form
from goldpan.annotation.studio.gold import field_agreements
from goldpan.annotation.studio.panels import text_of_panel
from goldpan.annotation.studio.project import Project, open_project
from goldpan.core.result import Result
from goldpan.core.storage.workspace import WorkspaceLayout

_MOST_TEXTS = 50
"""Disagreements of a round whose texts are read."""
_LONGEST_TEXT = 4_000


@dataclass(frozen=True, slots=True)
class Day:
    """The answers that count of one day, in UTC, by annotator."""

    day: date
    answers: Mapping[str, int]


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
    conflicts: int
    """Disputed items that nobody has decided."""
    adjudicated: int
    """Items that a third person decided."""
    disputed: tuple[DisputedItem, ...]
    """The first thousand of both."""
    agreement: tuple[Agreement, ...]
    """By field that everybody has to answer."""


@dataclass(frozen=True, slots=True)
class AnnotationReport(Result):
    """The written report on rounds of annotation."""

    schema = 4
    files: tuple[Path, ...]
    rounds: tuple[Round, ...]


_DAYS = """
SELECT created_at::DATE AS day, annotator, count(*) AS answers
FROM answers WHERE counts GROUP BY ALL ORDER BY ALL
"""
_ANSWERS = """
SELECT subject_id, annotator, chosen FROM answers
WHERE counts AND list_contains($subjects, subject_id) ORDER BY subject_id, annotator
"""


def summarize(workspace: WorkspaceLayout, names: Iterable[str]) -> tuple[Round, ...]:
    """Return the rounds of projects.

    Raises `UsageError` for an adjudication, which is reported with its project, and
    `WorkspaceError` before the first pull.
    """
    projects = (open_project(workspace, name) for name in dict.fromkeys(names))
    return tuple(_round(workspace, project) for project in projects)


def _round(workspace: WorkspaceLayout, project: Project) -> Round:
    hows: Counter[str] = Counter()
    disputed: dict[str, Decision] = {}
    for decision in read_decisions(workspace, project.name):
        hows[decision.how] += 1
        if decision.how in ("adjudicated", "conflict") and len(disputed) < MOST_LISTED:
            disputed[decision.key.subject_id] = decision
    days: dict[date, dict[str, int]] = defaultdict(dict)
    answers: dict[str, dict[str, tuple[str, ...]]] = {subject: {} for subject in disputed}
    with asking(workspace, project, find_form(project.facts.form).decides) as database:
        state = progress_in(project, database)
        for row in rows(database, _DAYS):
            days[row["day"]][row["annotator"]] = row["answers"]
        for row in rows(database, _ANSWERS, subjects=list(disputed)):
            answers[row["subject_id"]][row["annotator"]] = tuple(row["chosen"])
    return Round(
        project.name,
        project.facts.form,
        project.facts.annotators,
        state,
        tuple(Day(day, answers) for day, answers in days.items()),
        hows["agreed"],
        hows["conflict"],
        hows["adjudicated"],
        tuple(_disputed(project, disputed, answers)),
        field_agreements(workspace, project.name),
    )


def _disputed(
    project: Project,
    decisions: Mapping[str, Decision],
    answers: Mapping[str, Mapping[str, tuple[str, ...]]],
) -> Iterator[DisputedItem]:
    shown: dict[str, Mapping[str, Any]] = {
        str(task.data["id"]): task.data
        for task in stored_tasks(project)
        if task.data.get("id") in answers
    }
    for place, (item, decision) in enumerate(decisions.items()):
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
