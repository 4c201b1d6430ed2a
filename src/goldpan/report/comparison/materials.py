"""The rows behind predictions, read from the workspace where they still are."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from goldpan.core.errors import DatasetError
from goldpan.core.workspace import Workspace
from goldpan.datasets.provenance import PROVENANCE
from goldpan.datasets.task import Task
from goldpan.datasets.task_data import read_task_data, task_directory
from goldpan.datasets.task_rows import input_column, target_column
from goldpan.evaluation.comparison_units import split_of
from goldpan.evaluation.runs import Run

_BATCH = 4_096


@dataclass(frozen=True, slots=True)
class Row:
    """A test row."""

    text: str
    given: Any
    """As the task's rows hold it."""
    target: Any


@dataclass(frozen=True, slots=True)
class Overlap:
    """Which test rows resemble train rows."""

    same_text: frozenset[str]
    """Ids of rows whose text, but for case and spaces, stands in train."""
    same_document: frozenset[str]
    """Ids of rows whose document has other rows in train."""
    documents: bool
    """Whether rows name documents at all."""


@dataclass(frozen=True, slots=True)
class Material:
    """What the rows of one task tell; it holds digests, and texts only of those asked for."""

    rows: Mapping[str, Row]
    overlap: Overlap


def read_material(
    workspace: Workspace, task: Task, runs: Iterable[Run], wanted: Collection[str]
) -> Material | str:
    """Read the rows of a task, or say why they are no help: they are not those of the runs."""
    directory = task_directory(workspace, task)
    if not (directory / PROVENANCE).exists():
        return f"The rows of {task.name} are not in the workspace"
    input_name, target = input_column(task.type).name, target_column(task.type).name
    train_texts: set[bytes] = set()
    train_documents: set[bytes] = set()
    tested: dict[str, tuple[bytes, bytes | None]] = {}
    rows: dict[str, Row] = {}
    try:
        data = read_task_data(directory, task)
    except DatasetError as error:
        return error.problem
    if any(split_of(run) != (data.data_hash, data.split_hash) for run in runs):
        return f"The rows of {task.name} in the workspace are not those that were tested"
    for split, table in data.splits.items():
        # A batch at a time: rows as Python objects take many times the room.
        for row in (row for batch in table.to_batches(_BATCH) for row in batch.to_pylist()):
            text = (
                row[input_name] if isinstance(row[input_name], str) else " ".join(row[input_name])
            )
            marks = _digest(" ".join(text.casefold().split())), _document(row)
            if split == "test":
                tested[row["id"]] = marks
                if row["id"] in wanted:
                    rows[row["id"]] = Row(text, row[input_name], row[target])
            else:
                train_texts.add(marks[0])
                if marks[1] is not None:
                    train_documents.add(marks[1])
    return Material(
        rows,
        Overlap(
            frozenset(name for name, marks in tested.items() if marks[0] in train_texts),
            frozenset(name for name, marks in tested.items() if marks[1] in train_documents),
            documents=any(marks[1] is not None for marks in tested.values()),
        ),
    )


def _document(row: Mapping[str, Any]) -> bytes | None:
    if row["document"] is None:
        return None
    return _digest(repr((row["repo"], row["document"])))


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).digest()
