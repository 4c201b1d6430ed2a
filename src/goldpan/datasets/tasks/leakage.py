"""Leakage: the part of a test that was seen in training, and how far dates alone predict labels.

Where the texts of each label were collected from another time, a model that reads dates, or traces
of them (versions, templates, names), scores without knowing what labels mean. That may happen
without intent: the latest texts of each label of a project are of different years where one label
is rarer.
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, ClassVar, Literal, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from goldpan.core.result import NOT_IN_JSON
from goldpan.datasets.tasks.task import Task, input_column, target_column
from goldpan.filters.duplicates.near import find_leaks_of_batches
from goldpan.filters.duplicates.settings import DuplicateSettings

Kind = Literal["text", "near", "document", "project"]
KINDS: tuple[Kind, ...] = ("text", "near", "document", "project")
"""`text`: the same text but for case, white space and HTML comments; `near`: at least 0.7 of the
three-word sequences in common (Jaccard), of texts with 16 words or more; `document` and `project`:
another row of it is in train."""
WARNING, ALARM = 0.01, 0.1
"""Shares of the test from which on repeated texts are a warning, and an alarm."""
_BATCH = 1_024


@dataclass(frozen=True, slots=True)
class Overlap:
    """Test rows that resemble rows of train."""

    shown_in_json: ClassVar[tuple[str, ...]] = ("counts",)

    test: int
    """Rows of the test."""
    rows: Mapping[Kind, frozenset[str]] = field(metadata=NOT_IN_JSON)
    """Ids by kind; no `document` or `project` where rows name none. No id is `text` and `near`."""

    def kinds_of(self, row: str) -> list[Kind]:
        """Return the ways in which a test row resembles train."""
        return [kind for kind in KINDS if row in self.rows.get(kind, ())]

    @property
    def repeated(self) -> int:
        """The number of test rows whose text occurs in train, exactly or nearly."""
        return len(self.rows["text"]) + len(self.rows["near"])

    @property
    def counts(self) -> dict[Kind, int]:
        """How many test rows resemble train, by kind."""
        return {kind: len(rows) for kind, rows in self.rows.items()}

    def sentences(self) -> list[str]:
        """Return warnings on test rows that resemble train, the worst first."""
        share = self.repeated / self.test if self.test else 0.0
        sentences = []
        if self.repeated:
            start = "WARNING: " if share >= ALARM else "Warning: " if share >= WARNING else ""
            exact, near = (len(self.rows[kind]) for kind in ("text", "near"))
            sentences.append(
                f"{start}{self.repeated:,} of {self.test:,} test rows ({share:.1%}) have a text "
                f"that is also in train ({exact:,} exactly, {near:,} nearly)"
            )
        for kind, noun in (("document", "documents"), ("project", "projects")):
            if rows := self.rows.get(cast("Kind", kind)):
                sentences.append(
                    f"{len(rows):,} of {self.test:,} test rows come from {noun} that are in train"
                )
        return sentences


def find_overlap(
    task: Task, train: Iterable[pa.RecordBatch], test: Iterable[pa.RecordBatch]
) -> Overlap:
    """Compare the rows of a test with those of training; batches are not kept.

    Memory follows the number of texts, about 2.4 KB each.
    """
    name = input_column(task.type).name
    learned: list[dict[str, Any]] = []
    tested: list[dict[str, Any]] = []
    leaks = find_leaks_of_batches(
        _texts(train, name, learned), _texts(test, name, tested), DuplicateSettings()
    )
    rows: dict[Kind, frozenset[str]] = {
        "text": frozenset(tested[leak.query]["id"] for leak in leaks if leak.relation == "exact"),
        "near": frozenset(tested[leak.query]["id"] for leak in leaks if leak.relation == "near"),
    }
    places: dict[Kind, tuple[str, ...]] = {"document": ("repo", "document"), "project": ("repo",)}
    for kind, columns in places.items():
        named = [row for row in tested if row[columns[-1]] is not None]
        if named:
            seen = {itemgetter(*columns)(row) for row in learned}
            rows[kind] = frozenset(row["id"] for row in named if itemgetter(*columns)(row) in seen)
    return Overlap(len(tested), rows)


def _texts(
    batches: Iterable[pa.RecordBatch], name: str, rows: list[dict[str, Any]]
) -> Iterator[list[str]]:
    """Yield the texts of a few rows at a time, and add the other compared columns to `rows`.

    All texts at once, as Python objects, would take many times the memory.
    """
    for batch in batches:
        columns = batch.select(["id", "repo", "document", name])
        for start in range(0, len(columns), _BATCH):
            some = columns.slice(start, _BATCH).to_pylist()
            values = [row.pop(name) for row in some]
            rows += some
            yield [v if isinstance(v, str) else " ".join(v or ()) for v in values]


Indexes = npt.NDArray[np.int64]
NEAREST = 14
"""Texts nearest in time whose labels are read, half of them earlier and half later."""
_FEWEST = 30
"""Dated texts of a project; fewer have no neighbors to speak of."""
_NOTABLE, _DEVIATIONS = 0.1, 3.0
"""The least gain of dates over the most frequent label, in rows' share and deviations."""


@dataclass(frozen=True, slots=True)
class DateSignal:
    """The train rows whose label is predicted by their date alone."""

    rows: int
    """Train rows with a date, of projects with at least 30 such rows."""
    right: int
    """Whose label is the most frequent of the 14 texts nearest in time, of the same project."""
    majority: int
    """Whose label is the most frequent of its project."""
    discordant: int
    """Rows whose label only one of the two predicts."""

    @property
    def notable(self) -> bool:
        """True where dates predict at least a tenth of the rows more, beyond three deviations."""
        more = self.right - self.majority
        return more >= _NOTABLE * self.rows and more > _DEVIATIONS * math.sqrt(self.discordant)

    def sentence(self) -> str:
        """Return a warning for those who quote a score; empty where nothing is notable."""
        if not self.notable:
            return ""
        return (
            f"Warning: the date alone tells the label of {self.right / self.rows:.1%} of "
            f"{self.rows:,} train rows ({self.majority / self.rows:.1%} by the most frequent label "
            "of each project): labels were collected from different times, so versions, templates "
            "and names may tell them too"
        )


def date_signal(task: Task, train: Iterable[pa.RecordBatch]) -> DateSignal | None:
    """Measure how dates predict labels; None for tasks without one label a text, or no dates.

    Of a project's texts with the same date only one counts, so that sentences of a document do
    not predict each other's labels.
    """
    if task.type not in ("binary", "multi-class"):
        return None
    target = target_column(task.type).name
    dated: dict[tuple[str | None, int], tuple[str, str]] = {}
    for batch in train:
        rows = batch.select(["id", "repo", "created_at", target])
        rows = rows.filter(rows["created_at"].is_valid())
        keys = zip(
            rows["repo"].to_pylist(), rows["created_at"].cast(pa.int64()).to_pylist(), strict=True
        )
        marks = zip(rows["id"].to_pylist(), rows[target].to_pylist(), strict=True)
        for key, (name, label) in zip(keys, marks, strict=True):
            digest = hashlib.sha256(name.encode()).hexdigest()
            dated[key] = min(dated.get(key, (digest, label)), (digest, label))
    names = sorted({label for _, label in dated.values()})
    projects: dict[str | None, list[int]] = defaultdict(list)
    for project, moment in sorted(dated, key=itemgetter(1)):
        projects[project].append(names.index(dated[project, moment][1]))
    timelines = [np.array(labels) for labels in projects.values() if len(labels) >= _FEWEST]
    return _signal(timelines, len(names)) if timelines else None


def _nearest(truth: Indexes, names: int) -> Indexes:
    """Return how many of the texts nearest to each have each label, given all in order of time.

    At both ends these are the first and the last; of a short timeline, all.
    """
    places = np.arange(len(truth))
    before = np.zeros((len(truth) + 1, names), dtype=np.int64)
    before[places + 1, truth] = 1
    before = before.cumsum(axis=0)
    first = np.clip(places - NEAREST // 2, 0, max(len(truth) - NEAREST - 1, 0))
    around = np.asarray(before[np.minimum(first + NEAREST + 1, len(truth))] - before[first])
    around[places, truth] -= 1  # not by itself
    return around


def _signal(timelines: Iterable[Indexes], names: int) -> DateSignal:
    total = right = majority = discordant = 0
    for truth in timelines:
        around = _nearest(truth, names)
        whole = np.bincount(truth, minlength=names)
        # Of labels that are as frequent nearby, the one that is more frequent in the project.
        by_date = (around + whole / (len(truth) + 1)).argmax(axis=1) == truth
        by_majority = truth == whole.argmax()
        total += len(truth)
        right += int(by_date.sum())
        majority += int(by_majority.sum())
        discordant += int((by_date != by_majority).sum())
    return DateSignal(total, right, majority, discordant)
