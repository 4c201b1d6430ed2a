"""Decisions: pulling, adjudicating, and the verdicts that people's answers make.

The third person sees what the annotators saw, with their answers above it. The answers stand
under A, B and so on, in an order that tells nothing about who gave them.

An adjudication says nothing by itself, and the answers in dispute say who may not give it; so the
two are fetched together, the original first.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import pyarrow as pa

from goldpan.annotation.studio.client import Server
from goldpan.annotation.studio.configuration import NONE, Configuration
from goldpan.annotation.studio.forms import Form, StudioTask, find_form, form_of
from goldpan.annotation.studio.panels import Fields, answers_panel, without_answers
from goldpan.annotation.studio.project import (
    Project,
    RawExports,
    adjudications,
    check_server,
    open_project,
)
from goldpan.annotation.studio.push import PushResult, push
from goldpan.core.errors import UsageError
from goldpan.core.schemas import DECISIONS, VERDICTS, TableSchema
from goldpan.core.storage.parquet import read_table, reading, replace_tables
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.filters.answers import of_comment


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
    """Push a project's conflicts into a project for a third person; again, only new ones.

    `doubts` adds subjects on which people agree but somebody was in doubt. Raises `UsageError`
    where there is nothing to decide, and for another server, which knows people otherwise.
    """
    project = open_project(workspace, name)
    check_server(project, server)
    form = form_of(project)
    undecided = {
        decision.key["subject_id"]: decision
        for decision in decide(workspace, name)
        if decision.how in ("conflict", "adjudicated")
        or (doubts and decision.how == "agreed" and decision.doubted)
    }
    if not undecided:
        raise UsageError(
            f"The project {name} holds no conflict", "Pull again when more is annotated"
        )
    shown = _shown_data(RawExports(project.path("raw")), undecided, project.configuration)
    tasks = _tasks(shown, undecided, form.decides, project.configuration)
    return push(
        workspace, server, adjudication_name(name), form, tasks, reporter, annotators=1, of=name
    )


def _shown_data(
    raw: RawExports, decisions: Mapping[str, Decision], configuration: Configuration
) -> dict[str, Mapping[str, Any]]:
    """Return the data of wanted subjects as the annotators saw it."""
    every = (task["data"] for export in raw.read() for task in export.tasks)
    wanted = {"id", *configuration.panels}
    return {data["id"]: data for data in every if wanted <= set(data) and data["id"] in decisions}


def _tasks(
    shown: Mapping[str, Mapping[str, Any]],
    decisions: Mapping[str, Decision],
    decides: str,
    configuration: Configuration,
) -> Iterator[StudioTask]:
    labels = configuration.field(decides).labels
    for subject in sorted(shown):
        data, decision = shown[subject], decisions[subject]
        panels = {name: str(data[name]) for name in configuration.panels}
        panels["note"] = without_answers(panels["note"]) + answers_panel(
            _answers(subject, decision.answers, labels)
        )
        key = {name: value for name, value in decision.key.items() if name != "subject_id"}
        yield StudioTask(subject_id=subject, panels=panels, **key)


def _answers(
    subject: str, answers: Iterable[PersonAnswer], labels: Mapping[str, str]
) -> Iterator[tuple[str, Fields]]:
    """Yield the answers in an order that only the subject and the words decide."""

    def order(answer: PersonAnswer) -> str:
        return hashlib.sha256(f"{subject} {answer.values} {answer.reason}".encode()).hexdigest()

    for letter, answer in zip(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZ", sorted(answers, key=order), strict=False
    ):
        fields = [("Answer:", ", ".join(labels[value] for value in answer.values) or "nothing")]
        if answer.doubt:
            fields.append(("In doubt.", ""))
        if answer.reason:
            fields.append(("Because:", answer.reason))
        yield letter, fields


How = Literal["agreed", "adjudicated", "conflict", "unfinished"]
SETTLED: tuple[How, ...] = ("agreed", "adjudicated")
STAGE = "people"


@dataclass(frozen=True, slots=True)
class PersonAnswer:
    """One person's answer that counts, to the question that decides."""

    annotator: str
    values: tuple[str, ...]
    doubt: bool
    reason: str
    at: datetime
    suggested: bool
    """True where something was filled in before the person looked."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision of people on one subject."""

    key: Mapping[str, Any]
    """repo, subject, subject_id, issue, pull_repo, pull and comment."""
    how: How
    values: tuple[str, ...]
    answers: tuple[PersonAnswer, ...]
    """The answers that it rests on, or that are in conflict."""

    @property
    def doubted(self) -> bool:
        """Tell whether anybody was in doubt."""
        return any(answer.doubt for answer in self.answers)


_KEY = ("repo", "subject", "subject_id", "issue", "pull_repo", "pull", "comment")


def decide(workspace: WorkspaceLayout, name: str) -> list[Decision]:
    """Return a decision for each subject that anybody answered, sorted by subject.

    The answers of an adjudication count for subjects on which people do not agree. Raises
    `WorkspaceError` before the first pull.
    """
    project = open_project(workspace, name)
    if project.facts.of is not None:
        raise UsageError(
            f"{name} adjudicates {project.facts.of}", f"Ask for --project {project.facts.of}"
        )
    form = find_form(project.facts.form)
    answers, keys = _answers_that_count(project.annotations(), form)
    third: dict[str, list[PersonAnswer]] = {}
    for other in adjudications(workspace, name):
        if other.path("annotations.parquet").exists():
            for subject, own in _answers_that_count(other.annotations(), form)[0].items():
                third.setdefault(subject, []).extend(own)
    annotators = project.facts.annotators
    return [
        _decision(keys[subject], answers[subject], third.get(subject, ()), annotators)
        for subject in sorted(answers)
    ]


def read_answers(
    workspace: WorkspaceLayout, name: str
) -> Iterator[tuple[Mapping[str, Any], PersonAnswer]]:
    """Yield each answer that counts, to the question that decides, with the subject's key.

    Raises `WorkspaceError` before the first pull.
    """
    project = open_project(workspace, name)
    answers, keys = _answers_that_count(project.annotations(), find_form(project.facts.form))
    for subject in sorted(answers):
        yield from ((keys[subject], answer) for answer in answers[subject])


def write_decisions(workspace: WorkspaceLayout, name: str) -> list[Decision]:
    """Decide, and write the project's decisions; those of a judging form also as verdicts."""
    project = open_project(workspace, name)
    decisions = decide(workspace, name)
    rows = [
        {
            **decision.key,
            "project": name,
            "form": project.facts.form,
            "configuration": project.configuration.digest,
            "values": list(decision.values),
            "how": decision.how,
            "annotators": sorted({answer.annotator for answer in decision.answers}),
            "decided_at": max((answer.at for answer in decision.answers), default=None),
        }
        for decision in decisions
    ]
    tables = {project.path("decisions.parquet"): (DECISIONS, _sorted(rows, DECISIONS))}
    form = find_form(project.facts.form)
    if form.keeps:
        judged = verdicts(decisions, project, form)
        tables[project.path("verdicts.parquet")] = (VERDICTS, judged)
    replace_tables(workspace, tables)
    return decisions


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
    """Return what people settled in a project: subject, values in order, and how.

    Raises `WorkspaceError` before the first pull, and where the file is damaged.
    """
    lacking = f"Nobody has decided anything in {project.name} yet"
    columns = ["subject_id", "values", "how"]
    rows = project.read("decisions.parquet", lacking, columns).to_pylist()
    return [
        (row["subject_id"], tuple(sorted(set(row["values"]) - {NONE})), row["how"])
        for row in rows
        if row["how"] in SETTLED
    ]


def verdicts(decisions: Iterable[Decision], project: Project, form: Form) -> pa.Table:
    """Return decisions in the columns of the table `verdicts`, stage `people`.

    A subject that is not decided yet is one that could not be judged: `keep` is null.
    """
    rows = []
    for decision in decisions:
        open_ = decision.how in ("conflict", "unfinished")
        keep = None if open_ else set(decision.values) <= form.keeps
        who = ", ".join(sorted({answer.annotator for answer in decision.answers}))
        when = max(answer.at for answer in decision.answers)
        text = "/".join(decision.values) if decision.values else decision.how
        seen = ", not blind" if any(answer.suggested for answer in decision.answers) else ""
        evidence = f"{text}, {decision.how} by {who}, {when:%Y-%m-%d %H:%M} UTC{seen}"
        comment = decision.key["comment"]
        rows.append(
            {
                **{key: decision.key[key] for key in _KEY if key in VERDICTS.schema.names},
                "stage": STAGE,
                "criterion": form.name,
                "decides": True,
                "keep": keep,
                "reason": None if keep else (decision.how if open_ else decision.values[0]),
                "evidence": evidence if comment is None else of_comment(comment, evidence),
                "profile": project.name,
                "settings": project.configuration.digest,
            }
        )
    return _sorted(rows, VERDICTS)


def _sorted(rows: list[dict[str, Any]], table: TableSchema) -> pa.Table:
    whole = [{**dict.fromkeys(table.schema.names), **row} for row in rows]
    return table.ordered(pa.Table.from_pylist(whole, schema=table.schema))


def _answers_that_count(
    annotations: pa.Table, form: Form
) -> tuple[dict[str, list[PersonAnswer]], dict[str, dict[str, Any]]]:
    answers: dict[tuple[str, int], dict[str, Any]] = {}
    for row in annotations.to_pylist():
        if row["counts"]:
            answer = answers.setdefault((row["subject_id"], row["annotation"]), {"row": row})
            answer[row["field"]] = tuple(row["values"])
    by_subject: dict[str, list[PersonAnswer]] = defaultdict(list)
    keys: dict[str, dict[str, Any]] = {}
    for (subject, _), answer in sorted(answers.items()):
        row = answer["row"]
        keys[subject] = {key: row[key] for key in _KEY}
        by_subject[subject].append(
            PersonAnswer(
                row["annotator"],
                tuple(sorted(answer.get(form.decides, ()))),
                bool(answer.get("doubt")),
                " ".join(answer.get("reason", ())),
                row["updated_at"],
                row["suggested"],
            )
        )
    return by_subject, keys


def _decision(
    key: Mapping[str, Any],
    answers: Sequence[PersonAnswer],
    third: Sequence[PersonAnswer],
    annotators: int,
) -> Decision:
    if len(answers) < annotators:
        return Decision(key, "unfinished", (), tuple(answers))
    doubted = any(answer.doubt for answer in answers)
    if len({answer.values for answer in answers}) == 1 and not (third and doubted):
        return Decision(key, "agreed", answers[0].values, tuple(answers))
    if not third:
        return Decision(key, "conflict", (), tuple(answers))
    last = max(third, key=lambda answer: (answer.at, answer.annotator))
    return Decision(key, "adjudicated", last.values, (last,))
