"""The table of annotations: who answered what, and which answers count.

The key is a random salt in the workspace that is never published. A pseudonym is made of the
account's number and the moment at which it was made, so it stays when an annotator is renamed
and is the same in every project on that server.

Label Studio enforces neither its labels nor how many people answer, so this table does. Every
answer stays, with the reason why it does not count:

=====================  ===========================================================================
`skipped`              the annotator passed the task over
`deleted`              the answer was taken away on the server, or its task was
`superseded`           the same annotator answered again: the later answer counts
`surplus`              enough others had answered before
`unknown-choice`       a choice that the configuration does not have
`unknown-name`         a field that the configuration does not have
`several-choices`      more than one where one is asked for
`contradiction`        none of the choices, and one of them
`missing-answer`       nothing where an answer is required
`malformed`            no answer at all
`unknown-annotator`    nobody is known to have given it
`own-case`             in an adjudication, by somebody whose own answer is in dispute
=====================  ===========================================================================
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import orjson
import pyarrow as pa

from goldpan.annotation.studio.client import ExportedAnswer, ExportedTask, User
from goldpan.annotation.studio.configuration import Configuration, check
from goldpan.annotation.studio.project import Project, SubjectKey
from goldpan.core.errors import WorkspaceError
from goldpan.core.schemas import ANNOTATIONS
from goldpan.core.storage.workspace import write_whole

_LENGTH = 10


@dataclass(frozen=True, slots=True)
class Annotator:
    """An annotator as this project knows them."""

    annotator: str
    """The pseudonym."""
    called: str
    """A keyed hash of their address and names, to see that they changed."""


class People:
    """The annotators of one project, by their number on the server."""

    def __init__(self, project: Project) -> None:
        self._path = project.path("people.json")
        self._salt = _salt(project.root.parent / "salt")
        self._by_number: dict[int, Annotator] = {}
        self._addresses: dict[int, str] = {}
        self.renamed: list[str] = []
        """Pseudonyms of those whose address or name changed since the last pull."""
        if self._path.exists():
            stored = self._path.read_bytes()
            self._by_number = msgspec.json.decode(stored, type=dict[int, Annotator])

    def meet(self, users: Sequence[User]) -> None:
        """Take in who has an account now, and keep it."""
        for user in users:
            self._addresses[user.id] = user.email
            name_hash = self._hash(f"called {user.email.lower()} {user.name}")
            known = self._by_number.get(user.id)
            if known is None:
                pseudonym = self._hash(f"account {user.id} {user.date_joined}")
                self._by_number[user.id] = Annotator(pseudonym, name_hash)
            elif known.called != name_hash:
                self.renamed.append(known.annotator)
                self._by_number[user.id] = Annotator(known.annotator, name_hash)
        options = orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS
        stored = orjson.dumps(dict(sorted(self._by_number.items())), option=options)
        write_whole(self._path, stored, private=True)

    def annotator(self, number: int | None, *, named: bool = False) -> str:
        """Return an annotator's pseudonym, or their address where names are wanted."""
        if number is None:
            return "unknown"
        if named and number in self._addresses:
            return self._addresses[number]
        if number in self._by_number:
            return self._by_number[number].annotator
        # An account that was removed before the first pull.
        return self._hash(f"account {number}")

    def _hash(self, text: str) -> str:
        return hmac.new(self._salt, text.encode(), hashlib.sha256).hexdigest()[:_LENGTH]


def _salt(path: Path) -> bytes:
    """Return the workspace's salt, made on first use and readable by its owner alone."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        salt = path.read_bytes()
        if len(salt) < 16:
            raise WorkspaceError(
                f"{path} is damaged", "Restore it, because pseudonyms change without it"
            ) from None
        return salt
    with os.fdopen(descriptor, "wb") as file:
        salt = secrets.token_bytes(32)
        file.write(salt)
    return salt


@dataclass(frozen=True, slots=True)
class Annotation:
    """One person's answer to one task."""

    number: int
    task: int
    key: SubjectKey
    annotator: str
    values: Mapping[str, tuple[str, ...]]
    """By field; empty where nothing was said."""
    problem: str | None
    """Why it does not count; None where it does."""
    suggested: bool
    """True where something was filled in before the person looked."""
    origins: Mapping[str, str]
    """By field for which something was filled in, `accepted` or `changed`."""
    seconds: float | None
    created_at: datetime
    updated_at: datetime

    @property
    def doubt(self) -> bool:
        """Tell whether the annotator was in doubt."""
        return bool(self.values.get("doubt"))

    @property
    def reason(self) -> str:
        """Return the reason in the annotator's words."""
        return " ".join(self.values.get("reason", ()))

    @property
    def origin(self) -> str | None:
        """Return what became of the suggestion: one changed field makes the answer changed."""
        return max(self.origins.values(), default=None)

    def chosen(self, field: str) -> tuple[str, ...]:
        """Return the sorted values of a field."""
        return tuple(sorted(self.values.get(field, ())))


def read_annotations(
    exported: Iterable[ExportedTask],
    configuration: Configuration,
    people: People,
    *,
    named: bool = False,
) -> Iterator[Annotation]:
    """Yield what an export's tasks hold, each answer checked by itself."""
    for task in exported:
        try:
            key = msgspec.convert(task.data, SubjectKey)
        except msgspec.ValidationError:
            continue  # somebody changed the task on the server: whose answer it is cannot be told
        for answer in task.annotations:
            checked = check(configuration, answer.result)
            filled_in = _filled_in(answer, configuration)
            problem = "skipped" if answer.was_cancelled else checked.problem
            yield Annotation(
                answer.id,
                task.id,
                key,
                people.annotator(answer.author, named=named),
                checked.values,
                problem or ("unknown-annotator" if answer.author is None else None),
                bool(filled_in) or bool(task.total_predictions),
                {
                    name: "accepted" if set(values) == set(checked.values[name]) else "changed"
                    for name, values in filled_in.items()
                },
                answer.lead_time,
                answer.created_at,
                answer.updated_at,
            )


def settle(
    annotations: Sequence[Annotation], annotators: int, barred: Mapping[str, Set[str]] | None = None
) -> list[Annotation]:
    """Return the answers with those marked that do not count beside the others of their subject.

    Of one person's answers the last counts, of several people those who answered first.
    `barred` names those who may not answer a subject.
    """
    by_subject: dict[str, list[Annotation]] = defaultdict(list)
    for annotation in annotations:
        by_subject[annotation.key.subject_id].append(annotation)
    settled: list[Annotation] = []
    for subject, own in by_subject.items():
        marked = {annotation.number: annotation for annotation in own}
        for annotation in own:
            if annotation.problem is None and annotation.annotator in (barred or {}).get(
                subject, ()
            ):
                marked[annotation.number] = replace(annotation, problem="own-case")
        good = [annotation for annotation in marked.values() if annotation.problem is None]
        last: dict[str, Annotation] = {}
        first_answers: dict[str, tuple[datetime, int]] = {}
        for annotation in sorted(
            good, key=lambda annotation: (annotation.updated_at, annotation.number)
        ):
            last[annotation.annotator] = annotation
            first_answers[annotation.annotator] = min(
                first_answers.get(annotation.annotator, (annotation.created_at, annotation.number)),
                (annotation.created_at, annotation.number),
            )
        chosen = set(sorted(first_answers, key=lambda name: first_answers[name])[:annotators])
        for annotation in good:
            if last[annotation.annotator].number != annotation.number:
                marked[annotation.number] = replace(annotation, problem="superseded")
            elif annotation.annotator not in chosen:
                marked[annotation.number] = replace(annotation, problem="surplus")
        settled += marked.values()
    return settled


def table(
    annotations: Iterable[Annotation], configuration: Configuration, project: str
) -> pa.Table:
    """Return the rows, one a field, of settled answers."""
    digest = configuration.digest
    rows = [
        {
            **msgspec.structs.asdict(annotation.key),
            "project": project,
            "form": configuration.name,
            "configuration": digest,
            "task": annotation.task,
            "annotation": annotation.number,
            "annotator": annotation.annotator,
            "field": question.field,
            "values": list(annotation.values[question.field]),
            "counts": annotation.problem is None,
            "problem": annotation.problem,
            "suggested": annotation.suggested,
            "origin": annotation.origins.get(question.field),
            "seconds": annotation.seconds,
            "created_at": annotation.created_at,
            "updated_at": annotation.updated_at,
        }
        for annotation in annotations
        for question in configuration.questions
    ]
    return ANNOTATIONS.ordered(pa.Table.from_pylist(rows, schema=ANNOTATIONS.schema))


def stored_annotations(project: Project) -> list[Annotation]:
    """Return the answers in a project's table, by subject and number.

    Raises `WorkspaceError` before the first pull.
    """
    by_number: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    for row in project.annotations().to_pylist():
        by_number[row["subject_id"], row["annotation"]].append(row)
    return [_of_rows(rows) for _, rows in sorted(by_number.items())]


def _of_rows(rows: Sequence[Mapping[str, Any]]) -> Annotation:
    row = rows[0]
    return Annotation(
        row["annotation"],
        row["task"],
        SubjectKey(*(row[name] for name in SubjectKey.__struct_fields__)),
        row["annotator"],
        {row["field"]: tuple(row["values"]) for row in rows},
        row["problem"],
        row["suggested"],
        {row["field"]: row["origin"] for row in rows if row["origin"]},
        row["seconds"],
        row["created_at"],
        row["updated_at"],
    )


def _filled_in(
    answer: ExportedAnswer, configuration: Configuration
) -> Mapping[str, tuple[str, ...]]:
    """Return the suggestion that an answer was begun from, by field; empty where it was none."""
    begun_from = answer.prediction
    result = begun_from.get("result") if isinstance(begun_from, dict) else None
    if not result:
        return {}
    return {name: values for name, values in check(configuration, result).values.items() if values}
