"""How much of a test was seen in training: equal and near texts, shared documents, projects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

import pyarrow as pa

from goldpan.datasets.task import Task
from goldpan.datasets.task_rows import input_column
from goldpan.filters.duplicates.leaks import find_leaks_of_batches
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
    """Which test rows resemble rows that were learned from."""

    test: int
    """Rows of the test."""
    rows: Mapping[Kind, frozenset[str]]
    """Ids by kind; no `document` or `project` where rows name none. No id is `text` and `near`."""

    def kinds_of(self, row: str) -> list[Kind]:
        """Return the ways in which a test row resembles train."""
        return [kind for kind in KINDS if row in self.rows.get(kind, ())]

    @property
    def repeated(self) -> int:
        """How many test rows have a text that stands in train, exactly or nearly."""
        return len(self.rows["text"]) + len(self.rows["near"])

    def plain(self) -> dict[str, int]:
        """Return how many test rows resemble train, by kind, as plain data."""
        return {"test": self.test, **{kind: len(rows) for kind, rows in self.rows.items()}}

    def sentences(self) -> list[str]:
        """Return what is to be known of a test that resembles train, the worst first."""
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
                    f"{len(rows):,} of {self.test:,} test rows are of {noun} that are in train"
                )
        return sentences


def find_overlap(
    task: Task, train: Iterable[pa.RecordBatch], test: Iterable[pa.RecordBatch]
) -> Overlap:
    """Compare the rows of a test with those that were learned from; batches are not kept.

    Memory follows the number of texts, about 1 KB each, not their length.
    """
    name = input_column(task.type).name
    train_side = _TrainSide(set(), set())
    ids: list[str] = []
    documents: set[str] = set()
    projects: set[str] = set()
    named = _Named()

    def learned() -> Iterator[list[str]]:
        for row_batch in _batches(train, name):
            for row in row_batch:
                train_side.documents.add((row["repo"], row["document"]))
                train_side.projects.add(row["repo"])
            yield [_text(row[name]) for row in row_batch]

    def tested() -> Iterator[list[str]]:
        for row_batch in _batches(test, name):
            for row in row_batch:
                ids.append(row["id"])
                if row["document"] is not None:
                    named.documents = True
                    if (row["repo"], row["document"]) in train_side.documents:
                        documents.add(row["id"])
                if row["repo"] is not None:
                    named.projects = True
                    if row["repo"] in train_side.projects:
                        projects.add(row["id"])
            yield [_text(row[name]) for row in row_batch]

    leaks = find_leaks_of_batches(learned(), tested(), DuplicateSettings())
    rows: dict[Kind, frozenset[str]] = {
        "text": frozenset(ids[leak.query] for leak in leaks if leak.relation == "exact"),
        "near": frozenset(ids[leak.query] for leak in leaks if leak.relation == "near"),
    }
    if named.documents:
        rows["document"] = frozenset(documents)
    if named.projects:
        rows["project"] = frozenset(projects)
    return Overlap(len(ids), rows)


@dataclass(slots=True)
class _TrainSide:
    documents: set[tuple[str | None, str | None]]
    projects: set[str | None]


@dataclass(slots=True)
class _Named:
    """Whether test rows name what they are from."""

    documents: bool = False
    projects: bool = False


def _batches(tables: Iterable[pa.RecordBatch], name: str) -> Iterator[list[dict[str, Any]]]:
    """Yield a few rows at a time: as Python objects they take many times the room."""
    for table in tables:
        columns = table.select(["id", "repo", "document", name])
        for start in range(0, len(columns), _BATCH):
            yield columns.slice(start, _BATCH).to_pylist()


def _text(value: Any) -> str:
    return value if isinstance(value, str) else " ".join(value or ())
