"""The table of annotations: what people answered, and which answers count.

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

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import pyarrow as pa

from goldpan.annotation.studio.configuration import Configuration, check
from goldpan.annotation.studio.people import People
from goldpan.annotation.studio.raw import KEYS
from goldpan.core.schemas import ANNOTATIONS

_KINDS: tuple[Any, ...] = (str, str, str, int | None, str | None, int | None)


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
    """What stood in the form before the annotator looked, by field."""
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
        for one in task["annotations"]:
            author = author_of(one)
            checked = check(configuration, one["result"])
            filled_in = _filled_in(one, configuration)
            problem = "skipped" if one["was_cancelled"] else checked.problem
            yield Annotation(
                int(one["id"]),
                int(task["id"]),
                data,
                people.annotator(author, named=named),
                checked.values,
                problem or ("unknown-annotator" if author is None else None),
                bool(filled_in) or bool(task.get("total_predictions")),
                filled_in,
                one["lead_time"],
                datetime.fromisoformat(one["created_at"]),
                datetime.fromisoformat(one["updated_at"]),
            )


def author_of(annotation: Mapping[str, Any]) -> int | None:
    """Return the number of who gave an exported answer; None where nobody is known to have."""
    author = annotation["completed_by"]
    return author.get("id") if isinstance(author, Mapping) else author


def settle(
    annotations: Sequence[Annotation],
    annotators: int,
    barred: Mapping[str, Set[str]] | None = None,
) -> list[Annotation]:
    """Return the answers with those marked that do not count beside the others of their subject.

    Of one person's answers the last counts, of several people those who answered first.
    `barred` names those who may not answer a subject.
    """
    by_subject: dict[str, list[Annotation]] = defaultdict(list)
    for one in annotations:
        by_subject[one.data["id"]].append(one)
    settled: list[Annotation] = []
    for subject, given in by_subject.items():
        marked = {one.number: one for one in given}
        for one in given:
            if one.problem is None and one.annotator in (barred or {}).get(subject, ()):
                marked[one.number] = replace(one, problem="own-case")
        good = [one for one in marked.values() if one.problem is None]
        last: dict[str, Annotation] = {}
        begun: dict[str, tuple[datetime, int]] = {}
        for one in sorted(good, key=lambda one: (one.updated_at, one.number)):
            last[one.annotator] = one
            begun[one.annotator] = min(
                begun.get(one.annotator, (one.created_at, one.number)), (one.created_at, one.number)
            )
        chosen = set(sorted(begun, key=lambda name: begun[name])[:annotators])
        for one in good:
            if last[one.annotator].number != one.number:
                marked[one.number] = replace(one, problem="superseded")
            elif one.annotator not in chosen:
                marked[one.number] = replace(one, problem="surplus")
        settled += marked.values()
    return settled


def table(
    annotations: Iterable[Annotation], configuration: Configuration, project: str
) -> pa.Table:
    """Return the rows, one a field, of settled answers."""
    digest = configuration.digest
    rows = [
        {
            "repo": one.data["repo"],
            "subject": one.data["subject"],
            "subject_id": one.data["id"],
            "issue": one.data["issue"],
            "pull_repo": one.data["pull_repo"],
            "pull": one.data["pull"],
            "project": project,
            "form": configuration.name,
            "configuration": digest,
            "task": one.task,
            "annotation": one.number,
            "annotator": one.annotator,
            "field": field.name,
            "values": list(one.values[field.name]),
            "counts": one.problem is None,
            "problem": one.problem,
            "suggested": one.suggested,
            "origin": _origin(one.filled_in.get(field.name), one.values[field.name]),
            "seconds": one.seconds,
            "created_at": one.created_at,
            "updated_at": one.updated_at,
        }
        for one in annotations
        for field in configuration.fields
    ]
    made = pa.Table.from_pylist(rows, schema=ANNOTATIONS.schema)
    return made.sort_by([(name, "ascending") for name in ANNOTATIONS.order])


def _filled_in(
    annotation: Mapping[str, Any], configuration: Configuration
) -> Mapping[str, tuple[str, ...]]:
    """Return the suggestion that an answer was begun from, by field; empty where it was none."""
    begun_from = annotation.get("prediction")
    result = begun_from.get("result") if isinstance(begun_from, Mapping) else None
    if not result:
        return {}
    return {name: told for name, told in check(configuration, result).values.items() if told}


def _origin(filled_in: tuple[str, ...] | None, values: tuple[str, ...]) -> str | None:
    if not filled_in:
        return None
    return "accepted" if set(filled_in) == set(values) else "changed"
