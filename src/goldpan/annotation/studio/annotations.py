"""The table of annotations: exported answers, who gave them, and which of them count.

A pseudonym is a keyed hash of the account's number and the moment at which it was made, so it
stays when an annotator is renamed and is the same in every project on that server. The key is a
random salt in the workspace that is never published.

Label Studio enforces neither its labels nor how many people answer, so this table does. Every
answer stays, with the reason why it does not count:

=====================  ===========================================================================
`skipped`              the annotator passed the task over
`superseded`           the same annotator answered again: the later answer counts
`surplus`              enough others had answered before
`unknown-choice`       a choice that the configuration does not have
`unknown-name`         a field that the configuration does not have
`several-choices`      more than one choice where the question allows one
`contradiction`        "none" together with another choice
`missing-answer`       nothing where an answer is required
`malformed`            not an answer at all
`unknown-annotator`    its author is unknown
`own-case`             in an adjudication, by somebody whose own answer is in dispute
=====================  ===========================================================================
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from sys import intern
from typing import Any

import msgspec
import orjson
import pyarrow as pa

from goldpan.annotation.studio.client import User
from goldpan.annotation.studio.configuration import Configuration, check
from goldpan.annotation.studio.exports import ExportedAnswer, ExportedTask
from goldpan.annotation.studio.project import Project, SubjectKey, read_stored
from goldpan.core.errors import WorkspaceError
from goldpan.core.schemas import ANNOTATIONS
from goldpan.core.storage.workspace import write_whole

_LENGTH = 10
_AT_ONCE = 10_000


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
        remedy = "Remove it and pull again"
        self._by_number = read_stored(self._path, dict[int, Annotator], remedy) or {}
        self._addresses: dict[int, str] = {}
        self.renamed: list[str] = []
        """Pseudonyms of those whose address or name changed since the last pull."""

    def meet(self, users: Sequence[User]) -> None:
        """Add the users who have an account now, and store them."""
        for user in users:
            self._addresses[user.id] = user.email
            name_hash = self._hash(f"called {user.email.lower()} {user.name}")
            known = self._by_number.get(user.id)
            if known is None:
                joined = user.date_joined.isoformat().replace("+00:00", "Z")
                pseudonym = self._hash(f"account {user.id} {joined}")
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
    """Yield the answers of exported tasks, each checked by itself."""
    for task in exported:
        key = task.key
        if key is None:
            continue
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
    annotations: Iterable[Annotation], annotators: int, barred: Mapping[str, Set[str]] | None = None
) -> list[Annotation]:
    """Return answers by subject, with those marked that do not count because of others about it.

    Of one person's answers the last counts, of several people those who answered first.
    `barred` names those who may not answer a subject.
    """
    settled: list[Annotation] = []
    for subject, group in groupby(sorted(annotations, key=_subject), _subject):
        answers = {answer.number: answer for answer in group}
        for number, answer in answers.items():
            if answer.problem is None and answer.annotator in (barred or {}).get(subject, ()):
                answers[number] = replace(answer, problem="own-case")
        counting = [answer for answer in answers.values() if answer.problem is None]
        counting.sort(key=lambda answer: (answer.updated_at, answer.number))
        last = {answer.annotator: answer.number for answer in counting}
        counting.sort(key=lambda answer: (answer.created_at, answer.number))
        earliest = list(dict.fromkeys(answer.annotator for answer in counting))[:annotators]
        for answer in counting:
            if answer.number != last[answer.annotator]:
                answers[answer.number] = replace(answer, problem="superseded")
            elif answer.annotator not in earliest:
                answers[answer.number] = replace(answer, problem="surplus")
        settled += answers.values()
    return settled


def _subject(answer: Annotation) -> str:
    return answer.key.subject_id


def table(
    annotations: Iterable[Annotation], configuration: Configuration, project: str
) -> pa.Table:
    """Return the rows, one a field, of settled answers."""
    digest = configuration.digest
    rows = (
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
    )
    return ANNOTATIONS.of_rows(rows)


def stored_annotations(project: Project) -> list[Annotation]:
    """Return the answers in a project's table, by subject and number.

    Raises `WorkspaceError` before the first pull.
    """
    batches = project.annotations().to_batches(max_chunksize=_AT_ONCE)
    rows = (row for batch in batches for row in batch.to_pylist())
    answers = (_of_rows(list(own)) for _, own in groupby(rows, itemgetter("annotation")))
    return sorted(answers, key=lambda answer: (_subject(answer), answer.number))


def _of_rows(rows: Sequence[Mapping[str, Any]]) -> Annotation:
    row = rows[0]
    return Annotation(
        row["annotation"],
        row["task"],
        SubjectKey(*(row[name] for name in SubjectKey.__struct_fields__)),
        intern(row["annotator"]),
        {intern(row["field"]): tuple(row["values"]) for row in rows},
        row["problem"],
        row["suggested"],
        {row["field"]: row["origin"] for row in rows if row["origin"]},
        row["seconds"],
        row["created_at"],
        row["updated_at"],
    )


def counting_annotations(project: Project) -> list[Annotation]:
    """Return the stored answers that count; raises as `stored_annotations` does."""
    return [answer for answer in stored_annotations(project) if answer.problem is None]


def _filled_in(
    answer: ExportedAnswer, configuration: Configuration
) -> Mapping[str, tuple[str, ...]]:
    """Return the suggestion that an answer was begun from, by field; empty without one."""
    prediction = answer.prediction
    result = prediction.get("result") if isinstance(prediction, dict) else None
    if not result:
        return {}
    return {name: values for name, values in check(configuration, result).values.items() if values}
