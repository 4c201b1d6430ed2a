"""Summaries of rounds of annotation for a paper: `goldpan annotate export`.

A round is a project with its adjudications. Agreement is that of the annotators' own answers,
before a third person decided.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain

import numpy as np

from goldpan.annotation.agreement import Agreement, agree
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
from goldpan.annotation.studio.progress import progress
from goldpan.annotation.studio.project import Project, adjudications, open_project
from goldpan.core.errors import UsageError
from goldpan.core.storage.workspace import WorkspaceLayout


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
class Adjudicated:
    """An item that a third person decided."""

    item: str
    answers: Answers
    decided: tuple[str, ...]
    by: str
    doubt: bool
    """True where the annotators agreed, but one of them in doubt."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """An item on which annotators differ, and that nobody has decided."""

    item: str
    answers: Answers


@dataclass(frozen=True, slots=True)
class Round:
    """One round of annotation with its adjudication, as of its last pull."""

    project: str
    form: str
    configuration: str
    blind: bool
    filled_in: int
    """Answers that count where something was filled in before the annotator looked."""
    accepted: int
    """Suggestions that were left as they were filled in."""
    wanted: int
    """How many people were to judge each item."""
    items: int
    finished: int
    """Items with as many answers as wanted."""
    answers: int
    """Answers that count."""
    not_counted: Mapping[str, int]
    """Answers that do not count, by reason."""
    first_at: datetime | None
    last_at: datetime | None
    agreed: int
    """Items on which the annotators' own answers stand."""
    adjudicated: tuple[Adjudicated, ...]
    conflicts: tuple[Conflict, ...]
    agreement: tuple[Agreement, ...]
    """By field that everybody has to answer."""
    times: tuple[AnnotationTimes, ...]
    """All together first, then each annotator."""
    adjudication_times: tuple[AnnotationTimes, ...]

    @property
    def following_annotators(self) -> int:
        """How many adjudications chose the answer of one of the annotators."""
        return sum(item.decided in item.answers.values() for item in self.adjudicated)


@dataclass(frozen=True, slots=True)
class Summary:
    """Rounds of annotation, and what annotators were asked in them."""

    guidelines: tuple[Configuration, ...]
    rounds: tuple[Round, ...]


def summarize(workspace: WorkspaceLayout, names: Iterable[str], *, named: bool = False) -> Summary:
    """Return a summary of projects for a paper, in the order of their names.

    Annotators go by pseudonyms; `named` gives their addresses, where they were pulled. Raises
    `UsageError` for an adjudication, which is reported with its project, and `WorkspaceError`
    before the first pull.
    """
    rounds = []
    guidelines: dict[tuple[str, str], Configuration] = {}
    for name in dict.fromkeys(names):
        decisions = decide(workspace, name)
        project = open_project(workspace, name)
        form = project.configuration
        guidelines.setdefault((form.name, form.digest), form)
        rounds.append(_round(workspace, project, decisions, named))
    return Summary(tuple(guidelines.values()), tuple(rounds))


def _round(
    workspace: WorkspaceLayout, project: Project, decisions: Sequence[Decision], named: bool
) -> Round:
    name = project.name
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
    answers: dict[str, dict[str, tuple[str, ...]]] = defaultdict(dict)
    for rating in sorted(
        ratings[find_form(project.facts.form).decides],
        key=lambda rating: (rating.item, rating.rater),
    ):
        answers[rating.item][rating.rater] = tuple(sorted(rating.labels))
    counting = counting_annotations(project)
    state = progress(workspace, name)
    return Round(
        name,
        project.facts.form,
        project.configuration.digest,
        project.facts.blind,
        sum(annotator.filled_in for annotator in state.annotators),
        sum(annotator.accepted for annotator in state.annotators),
        project.facts.annotators,
        state.subjects,
        state.finished,
        state.answers,
        dict(state.problems),
        min((answer.created_at for answer in counting), default=None),
        max((answer.updated_at for answer in counting), default=None),
        sum(decision.how == "agreed" for decision in decisions),
        tuple(_adjudicated(decisions, answers, aliases)),
        tuple(
            Conflict(decision.key.subject_id, answers[decision.key.subject_id])
            for decision in decisions
            if decision.how == "conflict"
        ),
        tuple(agree(field, field_ratings) for field, field_ratings in ratings.items()),
        tuple(_times(counting, aliases)),
        tuple(_times(chain(*map(counting_annotations, third)), aliases)),
    )


def _adjudicated(
    decisions: Iterable[Decision], answers: Mapping[str, Answers], aliases: Mapping[str, str]
) -> Iterable[Adjudicated]:
    for decision in decisions:
        if decision.how == "adjudicated":
            item = decision.key.subject_id
            (answer,) = decision.answers
            agreed = len(set(answers[item].values())) == 1
            yield Adjudicated(
                item, answers[item], decision.values, aliases[answer.annotator], agreed
            )


def _times(answers: Iterable[Annotation], aliases: Mapping[str, str]) -> Iterable[AnnotationTimes]:
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
