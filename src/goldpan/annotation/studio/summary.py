"""Summaries of rounds of annotation: what `goldpan annotate report` shows and a paper reports.

A round is a project with its adjudications. Agreement is that of the annotators' own answers,
before a third person decided.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import numpy as np

from goldpan.annotation.agreement import Agreement, Rating, agree
from goldpan.annotation.studio.annotations import (
    Annotation,
    People,
    counting_annotations,
    stored_annotations,
)
from goldpan.annotation.studio.configuration import Configuration
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
class AnnotationTimes:
    """Seconds an item, of the answers that count and whose time is known."""

    annotator: str | None
    """None for all together."""
    answers: int
    lower: float | None
    """The lower quartile."""
    median: float | None
    upper: float | None


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
    first_at: datetime | None
    last_at: datetime | None
    days: tuple[Day, ...]
    agreed: int
    """Items on which the annotators' own answers stand."""
    disputed: tuple[DisputedItem, ...]
    agreement: tuple[Agreement, ...]
    """By field that everybody has to answer."""
    confusions: tuple[Confusion, ...]
    """Of the field that people have to agree on."""
    times: tuple[AnnotationTimes, ...]
    """All together first, then each annotator."""
    adjudication_times: tuple[AnnotationTimes, ...]

    @property
    def conflicts(self) -> int:
        """How many disputed items nobody has decided."""
        return sum(item.decided is None for item in self.disputed)

    @property
    def adjudicated(self) -> int:
        """How many items a third person decided."""
        return len(self.disputed) - self.conflicts

    @property
    def following_annotators(self) -> int:
        """How many adjudications chose the answer of one of the annotators."""
        return sum(item.decided in item.answers.values() for item in self.disputed)


@dataclass(frozen=True, slots=True)
class Summary:
    """Rounds of annotation, and what annotators were asked in them."""

    guidelines: tuple[Configuration, ...]
    rounds: tuple[Round, ...]


@dataclass(frozen=True, slots=True)
class RoundCounts:
    """The items of a round, counted."""

    project: str
    items: int
    agreed: int
    adjudicated: int
    conflicts: int


@dataclass(frozen=True, slots=True)
class AnnotationReport(Result):
    """The written report on rounds of annotation."""

    files: tuple[Path, ...]
    rounds: tuple[RoundCounts, ...]


def summarize(workspace: WorkspaceLayout, names: Iterable[str], *, named: bool = False) -> Summary:
    """Return a summary of projects, in the order of their names.

    Annotators go by pseudonyms; `named` gives their addresses, where they were pulled. Raises
    `UsageError` for an adjudication, which is reported with its project, and `WorkspaceError`
    before the first pull.
    """
    rounds = []
    guidelines: dict[tuple[str, str], Configuration] = {}
    for name in dict.fromkeys(names):
        project = open_project(workspace, name)
        form = project.configuration
        guidelines.setdefault((form.name, form.digest), form)
        rounds.append(_round(workspace, project, named))
    return Summary(tuple(guidelines.values()), tuple(rounds))


def read_aliases(projects: Iterable[Project], *, named: bool) -> Mapping[str, str]:
    """Return the name under which to publish each annotator in the tables of pulled projects.

    That is a pseudonym, also where a project was pulled with names; `named` keeps the names, and
    raises `UsageError` where a project was pulled without.
    """
    names: dict[str, str] = {}
    for project in projects:
        pseudonyms = _pseudonyms(project)
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


def _pseudonyms(project: Project) -> dict[str, str]:
    people = People(project)
    authors = {
        answer.id: answer.author for task in stored_tasks(project) for answer in task.annotations
    }
    return {
        answer.annotator: people.annotator(authors.get(answer.number))
        for answer in stored_annotations(project)
    }


def _round(workspace: WorkspaceLayout, project: Project, named: bool) -> Round:
    name, agreed = project.name, 0
    disputed: dict[str, Decision] = {}
    for decision in decide(workspace, name):
        agreed += decision.how == "agreed"
        if decision.how in ("adjudicated", "conflict"):
            disputed[decision.key.subject_id] = decision
    third = [
        adjudication
        for adjudication in adjudications(workspace, name)
        if adjudication.path("annotations.parquet").exists()
    ]
    aliases = read_aliases([project, *third], named=named)
    ratings = {
        field: [replace(rating, rater=aliases[rating.rater]) for rating in field_ratings]
        for field, field_ratings in read_ratings(workspace, name).items()
    }
    decided = ratings[find_form(project.facts.form).decides]
    counting = counting_annotations(project)
    state = progress(workspace, name)
    named_alike = (
        replace(each, annotator=aliases.get(each.annotator, each.annotator))
        for each in state.annotators
    )
    own = tuple(sorted(named_alike, key=lambda each: each.annotator))
    return Round(
        name,
        project.facts.form,
        project.configuration.digest,
        project.facts.blind,
        project.facts.annotators,
        replace(state, annotators=own),
        min((answer.created_at for answer in counting), default=None),
        max((answer.updated_at for answer in counting), default=None),
        tuple(_days(counting, aliases)),
        agreed,
        tuple(_disputed(project, disputed, decided, aliases)),
        tuple(agree(field, field_ratings) for field, field_ratings in ratings.items()),
        tuple(_confusions(decided)),
        tuple(_times(counting, aliases)),
        tuple(_times(chain(*map(counting_annotations, third)), aliases)),
    )


def _days(answers: Iterable[Annotation], aliases: Mapping[str, str]) -> Iterator[Day]:
    by_day: dict[date, Counter[str]] = defaultdict(Counter)
    for answer in answers:
        by_day[answer.created_at.date()][aliases[answer.annotator]] += 1
    for day, counts in sorted(by_day.items()):
        yield Day(day, dict(sorted(counts.items())))


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
    aliases: Mapping[str, str],
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
            aliases[decision.answers[0].annotator] if settled else None,
            len(set(answers[item].values())) == 1,
            {
                panel.removesuffix("_panel"): text_of_panel(str(data[panel]))[:_LONGEST_TEXT]
                for panel in panels
                if panel in data and panel != "note"
            },
        )


def _times(answers: Iterable[Annotation], aliases: Mapping[str, str]) -> Iterator[AnnotationTimes]:
    by_annotator: dict[str, list[float]] = defaultdict(list)
    for answer in answers:
        seconds = by_annotator[aliases[answer.annotator]]
        if answer.seconds is not None:
            seconds.append(answer.seconds)
    if by_annotator:
        yield _quartiles(None, [*chain(*by_annotator.values())])
    for annotator, seconds in sorted(by_annotator.items()):
        yield _quartiles(annotator, seconds)


def _quartiles(annotator: str | None, seconds: Sequence[float]) -> AnnotationTimes:
    if not seconds:
        return AnnotationTimes(annotator, 0, None, None, None)
    lower, median, upper = (float(quantile) for quantile in np.quantile(seconds, [0.25, 0.5, 0.75]))
    return AnnotationTimes(annotator, len(seconds), lower, median, upper)
