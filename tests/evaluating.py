"""Small tasks for evaluation: rows that a bag of words can learn, written here."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pyarrow as pa

from goldpan.datasets.registry import find_task
from goldpan.datasets.task import Task, input_column, target_column, task_family
from goldpan.datasets.task_data import TaskData, task_data

_WORDS = {
    "functional": ("shall", "compute", "display", "store", "notify"),
    "non-functional": ("fast", "secure", "reliable", "within", "seconds"),
}
_FILLER = ("the", "system", "user", "of", "a", "gravel", "sieve", "record", "station", "creek")


def labelled(count: int = 80, seed: int = 0) -> list[tuple[str, str]]:
    """Return texts with their label, evenly mixed."""
    names = find_task("requirement_type").label_names
    kinds = list(_WORDS.values())
    draw = random.Random(seed)
    pairs = []
    for index in range(count):
        side = index % 2
        words = [*draw.choices(_FILLER, k=5), *draw.choices(kinds[side], k=3)]
        draw.shuffle(words)
        pairs.append((" ".join(words) + f" {index}", names[side]))
    return pairs


def rows(task: Task, pairs: list[tuple[Any, Any]], *, start: int = 0) -> pa.Table:
    """Return rows of a task from inputs and targets; four documents of two projects."""
    family = task_family(task)
    source, target = input_column(task.type).name, target_column(task.type).name
    made = []
    for index, (text, answer) in enumerate(pairs, start):
        row = dict.fromkeys(family.schema.names)
        row |= {
            "id": f"{task.name}:{index:05d}",
            "repo": f"octo/gem{index % 2}",
            "document": f"Class{index % 4}",
            "position": index // 4,
            "source": f"made#{index}",
            source: text,
            target: answer,
        }
        made.append(row)
    return pa.Table.from_pylist(made, schema=family.schema)


def requirements(train: int = 80, test: int = 40) -> TaskData:
    """Return a binary task that can be learned."""
    task = find_task("requirement_type")
    pairs = labelled(train + test)
    return task_data(
        task,
        {"train": rows(task, pairs[:train]), "test": rows(task, pairs[train:], start=train)},
    )


def changed(data: TaskData, **facts: Any) -> TaskData:
    """Return the data with another task."""
    return task_data(replace(data.task, **facts), data.splits)
