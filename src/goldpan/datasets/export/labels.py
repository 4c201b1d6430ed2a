"""Rows of classification tasks as questions: the text, and which of the task's labels it has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

from goldpan.core.parquet import read_table
from goldpan.core.sanitize import for_prompt, line, without_tokens
from goldpan.datasets.provenance import shard_paths
from goldpan.datasets.registry import load_tasks

LABEL, LABELS = "label", "labels"
"""The kinds of task, and the columns that hold the right answer: one label, or several."""
NO_LABEL = "none"
"""The answer where none of several labels applies."""


@dataclass(frozen=True, slots=True)
class Labelling:
    """What a classification dataset asks of a text."""

    kind: str
    """`LABEL` or `LABELS`."""
    definition: str
    labels: tuple[str, ...]

    @property
    def instruction(self) -> str:
        """The question, with the labels to choose from."""
        names = ", ".join(line(without_tokens(for_prompt(name))) for name in self.labels)
        if self.kind == LABEL:
            answer = f"Answer only with one of these labels: {names}."
        else:
            answer = (
                "Answer only with the labels that apply, separated by commas, or with "
                f"{NO_LABEL}: {names}."
            )
        return f"{self.definition}\n\n{answer}"

    def answer(self, row: Mapping[str, Any]) -> str:
        """Return the right answer about a row."""
        if self.kind == LABEL:
            return str(row[LABEL])
        return ", ".join(name for name in self.labels if name in row[LABELS]) or NO_LABEL


def find_labelling(dataset: Path, family: str, tasks: Path | None) -> Labelling | None:
    """Return what a dataset of a classification task asks; None for any other.

    The task is a shipped one or lies in the directory `tasks`. Where it is not known, as of a
    stranger's dataset, the labels are those that occur.
    """
    paths = shard_paths(dataset)
    names = set(pq.read_schema(paths[0]).names) if paths else set()
    kind = LABEL if LABEL in names else LABELS
    if "text" not in names or kind not in names:
        return None
    task = load_tasks(tasks).get(family)
    if task is not None and task.labels:
        return Labelling(kind, task.definition, tuple(label.name for label in task.labels))
    found: set[str] = set()
    for path in paths:
        column = read_table(path, [kind])[kind]
        values = pc.list_flatten(column) if kind == LABELS else column
        found.update(value for value in pc.unique(values).to_pylist() if value is not None)
    return Labelling(kind, "Classify the text.", tuple(sorted(found)))
