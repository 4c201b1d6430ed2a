"""Scores of parts of the test: by a column, and without rows seen in training.

A model may have read in training what was public before its cut-off date, answers included. Only
rows from after it are surely new to the model.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from statistics import fmean
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from goldpan.core.errors import UsageError
from goldpan.datasets.tasks.data import TaskData
from goldpan.datasets.tasks.leakage import ALARM, KINDS, WARNING, Kind, Overlap, find_overlap
from goldpan.datasets.tasks.task import Task
from goldpan.evaluation.metrics.estimate import Interval, Scores
from goldpan.evaluation.task_input import values_of

ALWAYS = "repo"
"""The column by which every run is scored, where its rows name 2 to 200 projects."""
_MOST_BY_DEFAULT, _MOST = 200, 5_000
_RESAMPLES = 500


@dataclass(frozen=True, slots=True)
class PartScore:
    """The score of the rows with one value of the column."""

    value: str
    examples: int
    score: float | None
    """In the run's main metric."""
    interval: Interval | None
    """95%, by bootstrap over the units of these rows."""


@dataclass(frozen=True, slots=True)
class ByColumn:
    """A run's scores by a column."""

    column: str
    metric: str
    mean: float | None
    """Over the values, each counting the same however many rows it has."""
    spread: float | None
    """The standard deviation over them; None of a single one."""
    parts: tuple[PartScore, ...]
    """The values with most rows first."""


Scoring = Callable[..., Scores]
"""`score` of a part of a test's predictions, to be called with them and `resamples`."""


def scores_by(scoring: Scoring, predictions: pa.Table, column: str, main: str) -> ByColumn:
    """Score the rows of each value of a column that `predictions` has.

    Raises `UsageError` where it has more values than anyone reads.
    """
    rows_of: dict[str, list[int]] = defaultdict(list)
    for position, value in enumerate(values_of(predictions, column)):
        rows_of[value].append(position)
    if len(rows_of) > _MOST:
        raise UsageError(
            f"The predictions have {len(rows_of):,} values of {column}",
            f"Give a column with {_MOST:,} values or fewer",
        )
    resamples = _RESAMPLES if len(rows_of) <= _MOST_BY_DEFAULT else 0
    parts = []
    for value in sorted(rows_of, key=lambda name: (-len(rows_of[name]), name)):
        rows = predictions.take(pa.array(rows_of[value], pa.int64()))
        metric = scoring(rows, resamples=resamples).metric(main)
        parts.append(PartScore(value, len(rows), metric.value, metric.interval))
    values = [part.score for part in parts if part.score is not None]
    mean = fmean(values) if values else None
    spread = None
    if mean is not None and len(values) > 1:
        spread = math.sqrt(math.fsum((x - mean) ** 2 for x in values) / (len(values) - 1))
    return ByColumn(column, main, mean, spread, tuple(parts))


def default_columns(predictions: pa.Table) -> tuple[str, ...]:
    """Return the columns by which a run is scored in any case."""
    projects = set(predictions[ALWAYS].to_pylist()) - {None}
    return (ALWAYS,) if 2 <= len(projects) <= _MOST_BY_DEFAULT else ()


@dataclass(frozen=True, slots=True)
class RowDates:
    """The dates of a run's test rows, and how many lie on either side of the cut-off."""

    oldest: str | None
    """As YYYY-MM-DD, UTC; None where no row has a date."""
    newest: str | None
    undated: int
    """Rows without a date."""
    cutoff: str | None
    """The last day of the model's training data, where the run names it."""
    until: int | None
    """Rows written on that day or before; None without a cut-off."""
    after: int | None
    """Rows written later."""


def find_dates(test: pa.Table, cutoff: str | None) -> RowDates:
    """Return the dates of test rows, by the column `created_at`."""
    moments = test["created_at"]
    dates = pc.drop_null(moments)
    span = pc.min_max(dates).as_py() if len(dates) else {}
    until = after = None
    if cutoff is not None:
        days = dates.cast(pa.date32())
        until = pc.sum(pc.less_equal(days, date.fromisoformat(cutoff))).as_py() or 0
        after = len(dates) - until
    oldest, newest = (span[end].date().isoformat() if span else None for end in ("min", "max"))
    return RowDates(oldest, newest, moments.null_count, cutoff, until, after)


COLUMN = "leaks"
"""The column of `predictions.parquet` that says how a test row resembles train."""
FEWEST_ROWS = 20
"""Fewer rows give no score worth comparing."""
_MOST_GENERATED = 2_000
"""Generated texts that are compared anew; more would take too long."""
_MARKS = pa.list_(pa.field("item", pa.string(), nullable=False))
_KINDS_SEEN: Mapping[str, tuple[Kind, ...]] = {
    "texts": ("text", "near"),
    "documents": ("document",),
    "projects": ("project",),
}
Level = Literal["none", "note", "warning", "alarm"]
_NOTHING_NEW = 0.5
"""The share of repeated texts from which on a score says nothing of new ones."""


@dataclass(frozen=True, slots=True)
class ScoreWithout:
    """The score on the test rows that remain when those seen in training are left out."""

    seen: str
    """Rows that were left out: `texts` (equal or near), `documents` or `projects`."""
    left: int
    """Rows that remain."""
    metric: str
    value: float | None
    """None where too few remain, or the metric is undefined on them."""
    interval: Interval | None
    reason: str = ""
    """Why there is no value."""


@dataclass(frozen=True, slots=True)
class Leaks:
    """How many test rows resemble train, and the scores without them."""

    test: int
    """Rows of the test."""
    text: int
    """Whose text stands in train, but for case, white space and HTML comments."""
    near: int
    """Whose text nearly does (`datasets/tasks/leakage.py`), and not exactly."""
    document: int | None
    """Whose document has rows in train; None where rows name no documents."""
    project: int | None
    """Whose project has rows in train; None where rows name no projects."""
    learned: bool
    """True if the model learns from train: to others, nothing can leak here."""
    without: tuple[ScoreWithout, ...]

    @property
    def repeated(self) -> int:
        """Test rows whose text stands in train, exactly or nearly."""
        return self.text + self.near

    def seen(self, kind: str) -> int | None:
        """Return how many test rows have `texts`, `documents` or `projects` of train."""
        return {"texts": self.repeated, "documents": self.document, "projects": self.project}[kind]

    @property
    def share(self) -> float:
        """The share of the test that these are."""
        return self.repeated / self.test if self.test else 0.0

    @property
    def level(self) -> Level:
        """How serious they are: from 1% on a warning, from 10% on an alarm."""
        if not self.repeated or not self.learned:
            return "none"
        if self.share < WARNING:
            return "note"
        return "warning" if self.share < ALARM else "alarm"

    def score_without(self, kind: str) -> ScoreWithout | None:
        """Return the score without texts, documents or projects seen, None where none was."""
        return next((part for part in self.without if part.seen == kind), None)


_OVERLAPS: dict[tuple[str, str], Overlap] = {}
"""Those of this process, by the hashes of data and split: several models are run on a task."""


def overlap_of(data: TaskData, splits: Mapping[str, pa.Table]) -> Overlap:
    """Return the overlap of the test with all other splits, of a task or of a part of it."""
    key = (data.data_hash, data.split_hash)
    whole = splits is data.splits
    if whole and key in _OVERLAPS:
        return _OVERLAPS[key]
    train = (
        batch for name, rows in splits.items() if name != "test" for batch in rows.to_batches()
    )
    overlap = find_overlap(data.task, train, splits["test"].to_batches())
    if whole:
        _OVERLAPS[key] = overlap
    return overlap


def with_leaks(predictions: pa.Table, overlap: Overlap) -> pa.Table:
    """Return predictions with the column of how each row resembles train."""
    kinds = [overlap.kinds_of(row) for row in predictions["id"].to_pylist()]
    return predictions.append_column(
        pa.field(COLUMN, _MARKS, nullable=False), pa.array(kinds, _MARKS)
    )


def leaks_of(
    scoring: Scoring, predictions: pa.Table, task: Task, *, kinds: frozenset[str], learned: bool
) -> Leaks:
    """Count the leaks that stored predictions name, and score the rows without them.

    `kinds` are those that are known: rows without documents have no `document`.
    """
    marks = predictions[COLUMN].to_pylist()
    counts = {kind: sum(kind in mark for mark in marks) for kind in KINDS}
    without = [
        _score_without(scoring, predictions, marks, task, part_name)
        for part_name, which in _KINDS_SEEN.items()
        if any(counts[kind] for kind in which)
    ]
    return Leaks(
        test=len(predictions),
        text=counts["text"],
        near=counts["near"],
        document=counts["document"] if "document" in kinds else None,
        project=counts["project"] if "project" in kinds else None,
        learned=learned,
        without=tuple(without),
    )


def headline(leaks: Leaks, metric: str, value: float | None) -> str:
    """Return the sentence on repeated texts that stands before a score; empty without any."""
    if leaks.level == "none":
        return ""
    start = {"note": "", "warning": "Warning: ", "alarm": "WARNING: "}[leaks.level]
    text = (
        f"{start}{leaks.repeated:,} of {leaks.test:,} test rows ({leaks.share:.1%}) have a text "
        f"that is also in train ({leaks.text:,} exactly, {leaks.near:,} nearly)"
    )
    without = leaks.score_without("texts")
    if without is not None and without.value is not None and value is not None:
        text += f"; without them {metric} is {without.value:.4f}, with them {value:.4f}"
    elif without is not None and without.value is None:
        text += f"; {without.reason}"
    if leaks.share >= _NOTHING_NEW:
        text += ". This score says nothing about new texts"
    return f"{text}."


def _score_without(
    scoring: Scoring, predictions: pa.Table, marks: list[list[str]], task: Task, part: str
) -> ScoreWithout:
    seen = set(_KINDS_SEEN[part])
    left = predictions.filter(pa.array([not seen & set(mark) for mark in marks], pa.bool_()))
    reason = ""
    if len(left) < FEWEST_ROWS:
        reason = f"without them {len(left):,} rows are left, too few to score ({FEWEST_ROWS})"
    elif task.type == "text-generation" and len(left) > _MOST_GENERATED:
        reason = f"without them {len(left):,} generated texts are left, too many to score again"
    if reason:
        return ScoreWithout(part, len(left), task.metric, None, None, reason)
    main = scoring(left).metric(task.metric)
    return ScoreWithout(part, len(left), main.name, main.value, main.interval, main.reason)
