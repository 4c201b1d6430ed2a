"""Decisions: what people's answers decide, with conflicts left to a third person.

The third person sees what the annotators saw, with their answers above it. The answers stand
under A, B and so on, in an order that tells nothing about who gave them.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from heapq import merge
from itertools import groupby, islice
from typing import Any, Literal

import msgspec
import pyarrow as pa

from goldpan.annotation.studio.answers import (
    TABLE,
    Annotation,
    insert,
    sorting,
    stored_annotations,
    write_sorted,
)
from goldpan.annotation.studio.client import Server, Studio
from goldpan.annotation.studio.configuration import NONE, Configuration
from goldpan.annotation.studio.exports import stored_tasks
from goldpan.annotation.studio.forms import Form, StudioTask, find_form, form_of
from goldpan.annotation.studio.panels import Fields, answers_panel, without_answers
from goldpan.annotation.studio.project import (
    Project,
    SubjectKey,
    adjudications,
    check_server,
    open_project,
    read_rows,
)
from goldpan.annotation.studio.push import PushResult, push
from goldpan.core.errors import UsageError
from goldpan.core.schemas import DECISIONS, VERDICTS
from goldpan.core.storage.parquet import read_table, reading
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.filters.answers import comment_evidence


def adjudication_name(name: str) -> str:
    """Return the name of the project that decides a project's conflicts."""
    return f"{name}-adjudication"


def adjudicate(
    workspace: WorkspaceLayout,
    server: Server,
    name: str,
    reporter: Reporter,
    *,
    doubts: bool = False,
) -> PushResult:
    """Push a project's conflicts to a project for a third person, those that it lacks.

    `doubts` adds subjects on which people agree but somebody was in doubt. Raises `UsageError`
    where there is nothing to decide, and for another server, whose accounts are others.
    """
    project = open_project(workspace, name)
    with Studio(server) as studio:
        check_server(project, studio)
    form = form_of(project)
    undecided = {
        decision.key.subject_id: decision
        for decision in decide(workspace, name)
        if decision.how in ("conflict", "adjudicated")
        or (
            doubts and decision.how == "agreed" and any(answer.doubt for answer in decision.answers)
        )
    }
    if not undecided:
        raise UsageError(
            f"The project {name} holds no conflict", "Pull again when more is annotated"
        )
    shown = _shown_data(project, undecided)
    tasks = _tasks(shown, undecided, form.decides, project.configuration)
    return push(
        workspace, server, adjudication_name(name), form, tasks, reporter, annotators=1, of=name
    )


def _shown_data(
    project: Project, decisions: Mapping[str, Decision]
) -> dict[str, Mapping[str, Any]]:
    """Return the data of the subjects in `decisions` as the annotators saw it."""
    exported = (task.data for task in stored_tasks(project))
    panels = project.configuration.panels
    complete = (data for data in exported if data.keys() >= {"id", *panels})
    return {str(data["id"]): data for data in complete if str(data["id"]) in decisions}


def _tasks(
    shown: Mapping[str, Mapping[str, Any]],
    decisions: Mapping[str, Decision],
    decides: str,
    configuration: Configuration,
) -> Iterator[StudioTask]:
    labels = configuration.question(decides).labels
    for subject in sorted(shown):
        data, decision = shown[subject], decisions[subject]
        panels = {name: str(data[name]) for name in configuration.panels}
        answers = answers_panel(_answers(decision, decides, labels))
        panels["note"] = without_answers(panels["note"]) + answers
        yield StudioTask(decision.key, panels, str(data.get("title") or ""))


def _answers(
    decision: Decision, decides: str, labels: Mapping[str, str]
) -> Iterator[tuple[str, Fields]]:
    """Yield the answers in an order that depends on the subject and their words alone."""

    def order(answer: Annotation) -> str:
        words = f"{decision.key.subject_id} {answer.chosen(decides)} {answer.reason}"
        return hashlib.sha256(words.encode()).hexdigest()

    for letter, answer in zip(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZ", sorted(decision.answers, key=order), strict=False
    ):
        chosen = ", ".join(labels[value] for value in answer.chosen(decides))
        fields = [("Answer:", chosen or "nothing")]
        if answer.doubt:
            fields.append(("In doubt.", ""))
        if answer.reason:
            fields.append(("Because:", answer.reason))
        yield letter, fields


_AT_ONCE = 10_000
How = Literal["agreed", "adjudicated", "conflict", "unfinished"]
SETTLED: tuple[How, ...] = ("agreed", "adjudicated")
STAGE = "people"


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision of people on one subject."""

    key: SubjectKey
    how: How
    values: tuple[str, ...]
    answers: tuple[Annotation, ...]
    """The answers that it rests on, or that are in conflict; one at least."""

    @property
    def annotators(self) -> list[str]:
        """Return who gave the answers, sorted."""
        return sorted({answer.annotator for answer in self.answers})

    @property
    def at(self) -> datetime:
        """Return when the last of the answers was given."""
        return max(answer.updated_at for answer in self.answers)


def decide(workspace: WorkspaceLayout, name: str) -> Iterator[Decision]:
    """Yield a decision for each subject that anybody answered, sorted by subject.

    The answers of an adjudication count for subjects on which people do not agree. Raises
    `WorkspaceError` before the first pull.
    """
    project = open_project(workspace, name)
    if project.facts.of is not None:
        raise UsageError(
            f"{name} adjudicates {project.facts.of}", f"Ask for --project {project.facts.of}"
        )
    decides = find_form(project.facts.form).decides
    third = [other for other in adjudications(workspace, name) if other.path(TABLE).exists()]
    answers = merge(
        ((answer, False) for answer in stored_annotations(project)),
        *(((answer, True) for answer in stored_annotations(other)) for other in third),
        key=_subject,
    )
    for _, group in groupby(answers, _subject):
        of_third: dict[bool, list[Annotation]] = {False: [], True: []}
        for answer, is_third in group:
            of_third[is_third].append(answer)
        if of_third[False]:
            yield _decision(of_third[False], of_third[True], decides, project.facts.annotators)


def _subject(answer: tuple[Annotation, bool]) -> str:
    return answer[0].key.subject_id


def write_decisions(workspace: WorkspaceLayout, name: str) -> Mapping[str, int]:
    """Decide, and write the project's decisions; those of a judging form also as verdicts.

    Returns how many subjects were decided how.
    """
    project = open_project(workspace, name)
    form, settings = find_form(project.facts.form), project.configuration.digest
    how: Counter[str] = Counter()
    with sorting(workspace) as database:
        insert(database, "decisions", DECISIONS.schema.empty_table())
        insert(database, "verdicts", VERDICTS.schema.empty_table())
        left = decide(workspace, name)
        while decisions := list(islice(left, _AT_ONCE)):
            how.update(decision.how for decision in decisions)
            rows = (
                {
                    **msgspec.structs.asdict(decision.key),
                    "project": name,
                    "form": form.name,
                    "configuration": settings,
                    "values": list(decision.values),
                    "how": decision.how,
                    "annotators": decision.annotators,
                    "decided_at": decision.at,
                }
                for decision in decisions
            )
            insert(database, "decisions", DECISIONS.of_rows(rows))
            judged = (
                {**_verdict(decision, form), "profile": name, "settings": settings}
                for decision in decisions
            )
            if form.keeps:
                insert(database, "verdicts", VERDICTS.of_rows(judged))
        write_sorted(database, "decisions", project.path("decisions.parquet"), DECISIONS)
        if form.keeps:
            write_sorted(database, "verdicts", project.path("verdicts.parquet"), VERDICTS)
    return dict(sorted(how.items()))


def read_people(workspace: WorkspaceLayout) -> list[pa.Table]:
    """Return the verdicts of each project of a workspace, in the order of their names.

    The criterion is the form. Raises `WorkspaceError` where a file is damaged.
    """
    tables = []
    for path in sorted((workspace.root / "annotations").glob("*/verdicts.parquet")):
        with reading(path, "Run goldpan annotate pull for its project again"):
            tables.append(read_table(path))
    return tables


def read_settled(project: Project) -> list[tuple[str, tuple[str, ...], str]]:
    """Return the subjects that people settled in a project, each with its values and how.

    Raises `WorkspaceError` before the first pull, and where the file is damaged.
    """
    lacking = f"Nobody has decided anything in {project.name} yet"
    rows = read_rows(project.table("decisions.parquet", DECISIONS, lacking))
    return [
        (row["subject_id"], tuple(sorted(set(row["values"]) - {NONE})), row["how"])
        for row in rows
        if row["how"] in SETTLED
    ]


def _verdict(decision: Decision, form: Form) -> dict[str, Any]:
    """Return a decision in the columns of the table `verdicts`; undecided, `keep` is null."""
    settled, comment = decision.how in SETTLED, decision.key.comment
    keep = set(decision.values) <= form.keeps if settled else None
    text = "/".join(decision.values) or decision.how
    seen = ", not blind" if any(answer.suggested for answer in decision.answers) else ""
    who = ", ".join(decision.annotators)
    evidence = f"{text}, {decision.how} by {who}, {decision.at:%Y-%m-%d %H:%M} UTC{seen}"
    return {
        **msgspec.structs.asdict(decision.key),
        "stage": STAGE,
        "criterion": form.name,
        "decides": True,
        "keep": keep,
        "reason": None if keep else (decision.values[0] if settled else decision.how),
        "evidence": evidence if comment is None else comment_evidence(comment, evidence),
    }


def _decision(
    answers: Sequence[Annotation], third: Sequence[Annotation], decides: str, annotators: int
) -> Decision:
    key = answers[-1].key
    if len(answers) < annotators:
        return Decision(key, "unfinished", (), tuple(answers))
    values = {answer.chosen(decides) for answer in answers}
    doubted = any(answer.doubt for answer in answers)
    if len(values) == 1 and not (third and doubted):
        return Decision(key, "agreed", values.pop(), tuple(answers))
    if not third:
        return Decision(key, "conflict", (), tuple(answers))
    last = max(third, key=lambda answer: (answer.updated_at, answer.annotator))
    return Decision(key, "adjudicated", last.chosen(decides), (last,))
