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
from goldpan.annotation.studio.fetch import KEYS
from goldpan.annotation.studio.people import People
from goldpan.core.schemas import ANNOTATIONS

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
    annotations: Sequence[Annotation],
    annotators: int,
    barred: Mapping[str, Set[str]] | None = None,
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
            "repo": annotation.data["repo"],
            "subject": annotation.data["subject"],
            "subject_id": annotation.data["id"],
            "issue": annotation.data["issue"],
            "pull_repo": annotation.data["pull_repo"],
            "pull": annotation.data["pull"],
            "comment": annotation.data["comment"],
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
    unsorted = pa.Table.from_pylist(rows, schema=ANNOTATIONS.schema)
    return unsorted.sort_by([(name, "ascending") for name in ANNOTATIONS.order])


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
