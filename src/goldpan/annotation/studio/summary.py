"""Summaries of rounds of annotation: what `goldpan annotate report` shows and a paper reports.

A round is a project with its adjudications. Agreement is that of the annotators' own answers,
before a third person decided.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import combinations
from pathlib import Path
from typing import Any

from goldpan.annotation.agreement import Agreement, Rating, agree
from goldpan.annotation.studio.answers import TABLE, People, asking
from goldpan.annotation.studio.decisions import Decision, decide
from goldpan.annotation.studio.exports import stored_tasks
from goldpan.annotation.studio.forms import find_form
from goldpan.annotation.studio.gold import read_ratings
from goldpan.annotation.studio.panels import text_of_panel
from goldpan.annotation.studio.progress import Progress, progress
from goldpan.annotation.studio.project import Project, adjudications, open_project
from goldpan.core.errors import UsageError
from goldpan.core.result import Result
from goldpan.core.storage.workspace import WorkspaceLayout

_MOST_TEXTS = 50
"""Disagreements of a round whose texts are read; all are listed."""
_LONGEST_TEXT = 4_000
Answers = Mapping[str, tuple[str, ...]]
"""The answers of annotators about an item, by annotator."""


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
    answers: Answers
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
    configuration: str
    blind: bool
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

    schema = 2
    files: tuple[Path, ...]
    rounds: tuple[Round, ...]


def summarize(
    workspace: WorkspaceLayout, names: Iterable[str], *, named: bool = False
) -> tuple[Round, ...]:
    """Return the rounds of projects.

    Annotators go by pseudonyms; `named` gives their addresses, where they were pulled. Raises
    `UsageError` for an adjudication, which is reported with its project, and `WorkspaceError`
    before the first pull.
    """
    projects = (open_project(workspace, name) for name in dict.fromkeys(names))
    return tuple(_round(workspace, project, named) for project in projects)


def read_aliases(projects: Iterable[Project], *, named: bool) -> Callable[[str], str]:
    """Return what gives the name under which to publish an annotator of pulled projects.

    That is a pseudonym, also where a project was pulled with names; `named` keeps the names, and
    raises `UsageError` where a project was pulled without.
    """
    pseudonyms: dict[str, str] = {}
    for project in projects:
        own = People(project).pseudonyms
        if named and not own:
            raise UsageError(
                f"The project {project.name} was pulled without names",
                f"Run goldpan annotate pull --project {project.name} --names first",
            )
        pseudonyms |= own

    def alias(annotator: str) -> str:
        published = annotator if named else pseudonyms.get(annotator, annotator)
        return published if named or "@" not in published else "unknown"

    return alias


def _round(workspace: WorkspaceLayout, project: Project, named: bool) -> Round:
    name, agreed = project.name, 0
    disputed: dict[str, Decision] = {}
    for decision in decide(workspace, name):
        agreed += decision.how == "agreed"
        if decision.how in ("adjudicated", "conflict"):
            disputed[decision.key.subject_id] = decision
    third = [other for other in adjudications(workspace, name) if other.path(TABLE).exists()]
    alias = read_aliases([project, *third], named=named)
    ratings = {
        field: [replace(rating, rater=alias(rating.rater)) for rating in field_ratings]
        for field, field_ratings in read_ratings(workspace, name).items()
    }
    decided = ratings[find_form(project.facts.form).decides]
    state = progress(workspace, name)
    own = (replace(each, annotator=alias(each.annotator)) for each in state.annotators)
    with asking(project) as ask:
        days: dict[date, dict[str, int]] = defaultdict(dict)
        for row in ask(_DAYS):
            days[row["day"]][alias(row["annotator"])] = row["answers"]
    return Round(
        name,
        project.facts.form,
        project.configuration.digest,
        project.facts.blind,
        project.facts.annotators,
        replace(state, annotators=tuple(sorted(own, key=lambda each: each.annotator))),
        tuple(Day(day, dict(sorted(answers.items()))) for day, answers in days.items()),
        agreed,
        tuple(_disputed(project, disputed, decided, alias)),
        tuple(agree(field, field_ratings) for field, field_ratings in ratings.items()),
        tuple(_confusions(decided)),
    )


_DAYS = """
SELECT created_at::DATE AS day, annotator, count(*) AS answers
FROM answers WHERE problem IS NULL GROUP BY ALL ORDER BY ALL
"""


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
    project: Project,
    disputed: Mapping[str, Decision],
    ratings: Sequence[Rating],
    alias: Callable[[str], str],
) -> Iterator[DisputedItem]:
    answers: dict[str, dict[str, tuple[str, ...]]] = defaultdict(dict)
    for rating in sorted(ratings, key=lambda rating: rating.rater):
        if rating.item in disputed:
            answers[rating.item][rating.rater] = tuple(sorted(rating.labels))
    shown: dict[str, Mapping[str, Any]] = {
        str(task.data["id"]): task.data
        for task in stored_tasks(project)
        if task.data.get("id") in disputed
    }
    for place, (item, decision) in enumerate(disputed.items()):
        data = shown.get(item, {})
        panels = project.configuration.panels if place < _MOST_TEXTS else ()
        settled = decision.how == "adjudicated"
        yield DisputedItem(
            item,
            str(data.get("title") or ""),
            answers[item],
            decision.values if settled else None,
            alias(decision.answers[0].annotator) if settled else None,
            len(set(answers[item].values())) == 1,
            {
                panel.removesuffix("_panel"): text_of_panel(str(data[panel]))[:_LONGEST_TEXT]
                for panel in panels
                if panel in data and panel != "note"
            },
        )
