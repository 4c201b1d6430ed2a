"""Progress of annotators: `goldpan annotate status`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

from goldpan.annotation.studio.annotations import Annotation, stored_annotations
from goldpan.annotation.studio.exports import newest_export, pulled_at, stored_tasks
from goldpan.annotation.studio.project import open_project
from goldpan.core.result import Result
from goldpan.core.storage.workspace import WorkspaceLayout

_LATELY = timedelta(days=7)
_LEAST_SPAN = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class AnnotatorProgress:
    """One annotator's work."""

    annotator: str
    answers: int
    """Answers that count."""
    skipped: int
    other: int
    """Answers that do not count for another reason."""
    doubts: int
    filled_in: int
    """Answers that count where something was filled in before the annotator looked."""
    accepted: int
    """Suggestions that were left as they were filled in."""
    seconds: float | None
    """Median time per task."""
    last_at: datetime | None


@dataclass(frozen=True, slots=True)
class Progress(Result):
    """The progress of a project, as of its last pull."""

    project: str
    form: str
    pulled_at: datetime | None
    """When the last pull began; what was answered later is not counted."""
    page: str
    subjects: int
    """Subjects on the server."""
    finished: int
    """Subjects with as many answers as are wanted."""
    begun: int
    """Subjects with some answers, but not enough."""
    passed_over: int
    """Subjects that lack answers and that somebody skipped: someone else has to answer them."""
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
    """The time of one person for the missing answers, at that pace."""
    ends_at: datetime | None
    """When all is answered if people go on as in the last seven days with an answer."""


def progress(workspace: WorkspaceLayout, name: str) -> Progress:
    """Return how far a project is; raises `WorkspaceError` before the first pull."""
    project = open_project(workspace, name)
    answers = stored_annotations(project)
    subjects = {task.data.get("id") for task in stored_tasks(project)} - {None}
    counting = [
        answer for answer in answers if answer.problem is None and answer.key.subject_id in subjects
    ]
    counts = Counter(answer.key.subject_id for answer in counting)
    enough = project.facts.annotators
    finished = {subject for subject, count in counts.items() if count >= enough}
    skipped = {answer.key.subject_id for answer in answers if answer.problem == "skipped"}
    target = enough * len(subjects)
    seconds = _median(counting)
    left = max(0, target - len(counting))
    export = newest_export(project)
    return Progress(
        name,
        project.facts.form,
        pulled_at(export) if export else None,
        project.page,
        len(subjects),
        len(finished),
        len(counts) - len(finished),
        len((skipped & subjects) - finished),
        target,
        len(counting),
        tuple(sorted(Counter(answer.problem for answer in answers if answer.problem).items())),
        tuple(_by_annotator(answers)),
        seconds,
        None if seconds is None else timedelta(seconds=round(seconds * left)),
        _end([answer.created_at for answer in counting], left),
    )


def _by_annotator(answers: Sequence[Annotation]) -> Iterator[AnnotatorProgress]:
    grouped: dict[str, list[Annotation]] = defaultdict(list)
    for answer in answers:
        grouped[answer.annotator].append(answer)
    for annotator, own in sorted(grouped.items()):
        counting = [answer for answer in own if answer.problem is None]
        origins = Counter(answer.origin for answer in counting)
        skipped = sum(answer.problem == "skipped" for answer in own)
        yield AnnotatorProgress(
            annotator,
            len(counting),
            skipped,
            len(own) - len(counting) - skipped,
            sum(answer.doubt for answer in counting),
            len(counting) - origins[None],
            origins["accepted"],
            _median(counting),
            max(answer.updated_at for answer in own),
        )


def _median(answers: Sequence[Annotation]) -> float | None:
    seconds = [answer.seconds for answer in answers if answer.seconds is not None]
    return median(seconds) if seconds else None


def _end(times: Sequence[datetime], left: int) -> datetime | None:
    """Return when the rest is done at the pace of the last seven days that hold an answer."""
    if not times or not left:
        return None
    last = max(times)
    lately = [time for time in times if last - time <= _LATELY]
    span = max(last - min(lately), _LEAST_SPAN)
    try:
        return last + span * (left / len(lately))
    except OverflowError:  # later than dates go
        return None
