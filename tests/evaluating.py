"""Small tasks for evaluation: rows that a bag of words can learn, written here."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.datasets.tasks.data import TaskData, task_data
from goldpan.datasets.tasks.registry import find_task
from goldpan.datasets.tasks.task import Task, input_column, target_column, task_family
from goldpan.evaluation.model import Model, find_model
from goldpan.evaluation.protocol import Protocol, find_protocol
from goldpan.evaluation.record import RunRecord
from goldpan.evaluation.run import run

QUIET = Reporter(quiet=True)
_WORDS = {
    "functional": ("shall", "compute", "display", "store", "notify"),
    "non-functional": ("fast", "secure", "reliable", "within", "seconds"),
}
_FILLER = ("the", "system", "user", "of", "a", "gravel", "sieve", "record", "station", "creek")


def labeled(count: int = 80, seed: int = 0) -> list[tuple[str, str]]:
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
    return rows_of("requirement_type", labeled(train + test), train)


def changed(data: TaskData, **facts: Any) -> TaskData:
    """Return the data with another task."""
    return task_data(replace(data.task, **facts), data.splits)


def rows_of(name: str, pairs: list[tuple[Any, Any]], cut: int) -> TaskData:
    """Return rows of a task from inputs and targets, of which the first are train."""
    task = find_task(name)
    train, test = rows(task, pairs[:cut]), rows(task, pairs[cut:], start=cut)
    return task_data(task, {"train": train, "test": test})


def types(count: int = 160) -> list[tuple[str, str]]:
    """Return texts whose words tell the type of an issue."""
    words = {"bug": "crash error wrong", "enhancement": "please add", "question": "how what"}
    names = list(words)
    return [
        (f"{words[names[index % 3]]} sieve {text}", names[index % 3])
        for index, (text, _) in enumerate(labeled(count))
    ]


def comments(count: int = 160) -> list[tuple[str, list[str]]]:
    """Return texts with one or two categories of comments."""
    task = find_task("comment_type_python")
    first, second = task.label_names[:2]
    words = {0: ("summary", [first]), 1: ("usage", [second]), 2: ("summary usage", [first, second])}
    return [
        (f"{words[index % 3][0]} {text}", words[index % 3][1])
        for index, (text, _) in enumerate(labeled(count))
    ]


def points(count: int = 160) -> list[tuple[str, float]]:
    """Return texts with a large or a small number."""
    return [
        ((f"rewrite everything {text}", 20.0) if index % 2 else (f"typo {text}", 1.0))
        for index, (text, _) in enumerate(labeled(count))
    ]


def ran(
    root: Path,
    data: TaskData,
    model: str | Model,
    protocol: str | Protocol = "default",
    seed: int = 0,
    **settings: Any,
) -> RunRecord:
    """Run a model, or that of a name with its settings, in a workspace."""
    found = find_model(model, settings) if isinstance(model, str) else model
    rules = find_protocol(protocol) if isinstance(protocol, str) else protocol
    return run(WorkspaceLayout(root), data, found, rules, seed, QUIET)


def replaced(table: pa.Table, **columns: Any) -> pa.Table:
    """Return a table with other values in some of its columns."""
    for name, values in columns.items():
        place = table.schema.get_field_index(name)
        field = table.schema.field(place)
        table = table.set_column(place, field, pa.array(values, field.type))
    return table


def learns_every_type(root: Path, name: str, least: float = 0.8, **settings: Any) -> None:
    """Check that a model learns one label of two or three, several labels, and numbers."""

    def value(data: TaskData, metric: str, model: str = name, **options: Any) -> float:
        return ran(root, data, model, **options).scores.value(metric) or 0.0

    for data in (requirements(120, 40), rows_of("issue_type", types(), 120)):
        assert value(data, "macro_f1", **settings) > least
    several = rows_of("comment_type_python", comments(), 120)
    assert value(several, "micro_f1", **settings) > least
    efforts = rows_of("story_points", points(), 120)
    assert 0 < value(efforts, "smape", **settings) < value(efforts, "smape", "majority")
