"""Says how far annotators are: `goldpan annotate status`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import Any

from goldpan.annotation.studio.project import Journal, open_project
from goldpan.annotation.studio.pull import read_table
from goldpan.workspace import Workspace

_LATELY = timedelta(days=7)
_LEAST_SPAN = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class AnnotatorProgress:
    """One annotator's work."""

    annotator: str
    answers: int
    """That count."""
    skipped: int
    other: int
    """Answers that do not count for another reason."""
    doubts: int
    seconds: float | None
    """Median time per task."""
    last_at: datetime | None


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a project is, as of its last pull."""

    project: str
    form: str
    page: str
    subjects: int
    finished: int
    """Subjects with as many answers as are wanted."""
    begun: int
    """Subjects with some answers, but not enough."""
    wanted: int
    """Answers of the whole project."""
    answers: int
    """Answers that count."""
    problems: tuple[tuple[str, int], ...]
    """Answers that do not count, by reason."""
    annotators: tuple[AnnotatorProgress, ...]
    seconds: float | None
    """Median time per task, over all annotators."""
    work_left: timedelta | None
    """What the missing answers take one person at that pace."""
    ends_at: datetime | None
    """When all is answered if people go on as in the last seven days with an answer."""


def progress(workspace: Workspace, name: str) -> Progress:
    """Return how far a project is; raises `WorkspaceError` before the first pull."""
    project = open_project(workspace, name)
    answers = _answers(read_table(workspace, name).to_pylist())
    subjects = set(Journal(project.path("tasks.jsonl")).subjects.values())
    counting = [one for one in answers if one["counts"]]
    each = Counter(one["subject_id"] for one in counting)
    enough = project.facts.annotators
    finished = sum(count >= enough for count in each.values())
    wanted = enough * len(subjects)
    seconds = _median(counting)
    left = max(0, wanted - len(counting))
    return Progress(
        name,
        project.facts.form,
        project.page,
        len(subjects),
        finished,
        len(each) - finished,
        wanted,
        len(counting),
        tuple(sorted(Counter(one["problem"] for one in answers if one["problem"]).items())),
        tuple(_by_annotator(answers)),
        seconds,
        None if seconds is None else timedelta(seconds=round(seconds * left)),
        _end([one["created_at"] for one in counting], left),
    )


def _answers(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one row an answer, with whether its annotator was in doubt."""
    found: dict[int, dict[str, Any]] = {}
    for row in rows:
        answer = found.setdefault(row["annotation"], {**row, "doubt": False})
        if row["field"] == "doubt":
            answer["doubt"] = bool(row["values"])
    return list(found.values())


def _by_annotator(answers: Sequence[dict[str, Any]]) -> list[AnnotatorProgress]:
    grouped: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for one in answers:
        grouped[one["annotator"]].append(one)
    found = []
    for annotator, own in sorted(grouped.items()):
        counting = [one for one in own if one["counts"]]
        skipped = sum(one["problem"] == "skipped" for one in own)
        found.append(
            AnnotatorProgress(
                annotator,
                len(counting),
                skipped,
                len(own) - len(counting) - skipped,
                sum(one["doubt"] for one in counting),
                _median(counting),
                max(one["updated_at"] for one in own),
            )
        )
    return found


def _median(answers: Sequence[dict[str, Any]]) -> float | None:
    known = [one["seconds"] for one in answers if one["seconds"] is not None]
    return median(known) if known else None


def _end(times: Sequence[datetime], left: int) -> datetime | None:
    """Return when the rest is done at the pace of the last seven days that hold an answer."""
    if not times or not left:
        return None
    last = max(times)
    lately = [time for time in times if last - time <= _LATELY]
    span = max(last - min(lately), _LEAST_SPAN)
    return last + span * (left / len(lately))
