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

import orjson
import pyarrow as pa

from goldpan.annotation.studio.client import User
from goldpan.annotation.studio.configuration import Configuration, check
from goldpan.annotation.studio.project import KEYS, Project
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
            stored = orjson.loads(self._path.read_bytes())
            self._by_number = {
                int(number): Annotator(**person) for number, person in stored.items()
            }

    def meet(self, users: Sequence[User]) -> None:
        """Take in who has an account now, and keep it."""
        for user in users:
            self._addresses[user.number] = user.address
            name_hash = self._hash(f"called {user.address.lower()} {user.name}")
            known = self._by_number.get(user.number)
            if known is None:
                pseudonym = self._hash(f"account {user.number} {user.joined}")
                self._by_number[user.number] = Annotator(pseudonym, name_hash)
            elif known.called != name_hash:
                self.renamed.append(known.annotator)
                self._by_number[user.number] = Annotator(known.annotator, name_hash)
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


_KINDS: tuple[Any, ...] = (str, str, str, int | None, str | None, int | None, int | None)


@dataclass(frozen=True, slots=True)
class Annotation:
    """One person's answer to one task."""

    number: int
    task: int
    data: Mapping[str, Any]
    """The task's data: which subject it is."""
    annotator: str
    values: Mapping[str, tuple[str, ...]]
    problem: str | None
    suggested: bool
    filled_in: Mapping[str, tuple[str, ...]]
    """The values filled in before the annotator looked, by field."""
    seconds: float | None
    created_at: datetime
    updated_at: datetime


def read_annotations(
    exported: Iterable[Mapping[str, Any]],
    configuration: Configuration,
    people: People,
    *,
    named: bool = False,
) -> Iterator[Annotation]:
    """Yield what an export's tasks hold, each answer checked by itself."""
    for task in exported:
        data = {key: task["data"].get(key) for key in KEYS}
        kinds = zip(data.values(), _KINDS, strict=True)
        if not all(isinstance(value, kind) for value, kind in kinds):
            continue  # somebody changed the task on the server: whose answer it is cannot be told
        for annotation in task["annotations"]:
            author = author_of(annotation)
            checked = check(configuration, annotation["result"])
            filled_in = _filled_in(annotation, configuration)
            problem = "skipped" if annotation["was_cancelled"] else checked.problem
            yield Annotation(
                int(annotation["id"]),
                int(task["id"]),
                data,
                people.annotator(author, named=named),
                checked.values,
                problem or ("unknown-annotator" if author is None else None),
                bool(filled_in) or bool(task.get("total_predictions")),
                filled_in,
                annotation["lead_time"],
                datetime.fromisoformat(annotation["created_at"]),
                datetime.fromisoformat(annotation["updated_at"]),
            )


def author_of(annotation: Mapping[str, Any]) -> int | None:
    """Return the number of who gave an exported answer; None where nobody is known to have."""
    author = annotation["completed_by"]
    return author.get("id") if isinstance(author, Mapping) else author


def settle(
    annotations: Sequence[Annotation], annotators: int, barred: Mapping[str, Set[str]] | None = None
) -> list[Annotation]:
    """Return the answers with those marked that do not count beside the others of their subject.

    Of one person's answers the last counts, of several people those who answered first.
    `barred` names those who may not answer a subject.
    """
    by_subject: dict[str, list[Annotation]] = defaultdict(list)
    for annotation in annotations:
        by_subject[annotation.data["id"]].append(annotation)
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
            **{name: annotation.data[name] for name in KEYS if name != "id"},
            "subject_id": annotation.data["id"],
            "project": project,
            "form": configuration.name,
            "configuration": digest,
            "task": annotation.task,
            "annotation": annotation.number,
            "annotator": annotation.annotator,
            "field": field.name,
            "values": list(annotation.values[field.name]),
            "counts": annotation.problem is None,
            "problem": annotation.problem,
            "suggested": annotation.suggested,
            "origin": _origin(annotation.filled_in.get(field.name), annotation.values[field.name]),
            "seconds": annotation.seconds,
            "created_at": annotation.created_at,
            "updated_at": annotation.updated_at,
        }
        for annotation in annotations
        for field in configuration.fields
    ]
    return ANNOTATIONS.ordered(pa.Table.from_pylist(rows, schema=ANNOTATIONS.schema))


def _filled_in(
    annotation: Mapping[str, Any], configuration: Configuration
) -> Mapping[str, tuple[str, ...]]:
    """Return the suggestion that an answer was begun from, by field; empty where it was none."""
    begun_from = annotation.get("prediction")
    result = begun_from.get("result") if isinstance(begun_from, Mapping) else None
    if not result:
        return {}
    return {name: values for name, values in check(configuration, result).values.items() if values}


def _origin(filled_in: tuple[str, ...] | None, values: tuple[str, ...]) -> str | None:
    if not filled_in:
        return None
    return "accepted" if set(filled_in) == set(values) else "changed"
