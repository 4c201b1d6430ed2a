"""Counts and shortcuts of CrossCodeBench from task files, the authors' as they are.

Task files are looked for in all folders below the data folder. Which cells come of them is the
table's key: 2 averages, 3 types, 4 tasks of the splits, 4-train and 4-evaluation their instances,
5 the two shortcuts.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from math import fsum
from typing import Any

from goldpan.core.errors import UsageError
from goldpan.papers.crosscodebench.build import find_tasks
from goldpan.papers.crosscodebench.instance import read_instances
from goldpan.papers.crosscodebench.meta import META, Example, Meta
from goldpan.papers.crosscodebench.percentages import percentages
from goldpan.papers.crosscodebench.splits import Assigned, assign_tasks, shipped_splits
from goldpan.papers.crosscodebench.spool import TaskFiles
from goldpan.reproduce.cells import Outcome, State
from goldpan.reproduce.context import Context
from goldpan.reproduce.recipe import TableRecipe

_TASKS = 216
_EVALUATED = 500
"""The first instances of each task, as the authors' code takes them."""
_SEED = 42
"""Of the authors' shortcut, where none is said."""
_TOTAL = "Total"
_COPY_OUTPUT, _COPY_INPUT = "Copy Ex-output", "Copy Ins-input"
_METRICS = {"EM": "exact_match", "BLEU": "bleu", "ROUGE-L": "rouge_l"}
_MILLION, _THOUSAND = 1_000_000, 1_000


def compute(context: Context, table: TableRecipe, settings: Mapping[str, Any]) -> Iterator[Outcome]:
    """Yield the cells of a table that follow from the task files that are there."""
    folders = sorted({path.parent for path in context.data.root.rglob(f"task_*{META}")})
    if not folders:
        context.note(
            "No task_*.meta.json is below the data folder: get the tasks from "
            "https://doi.org/10.5281/zenodo.7321934."
        )
        return
    tasks = find_tasks(folders)
    ways: Mapping[str, Callable[[Sequence[TaskFiles]], Iterator[tuple[str, str, float]]]] = {
        "2": _averages,
        "3": _types,
        "4": _split_tasks,
        "4-train": lambda tasks: _split_instances(tasks, "train", _MILLION),
        "4-evaluation": lambda tasks: _split_instances(tasks, "evaluation", _THOUSAND),
        "5": _shortcuts,
    }
    if table.key not in ways:
        raise UsageError(f"Table {table.key} is not one of {', '.join(ways)}", "Correct the recipe")
    whole = len(tasks) == _TASKS
    state: State = "run" if whole else "in part"
    note = "" if whole else f"{len(tasks)} of {_TASKS} tasks"
    for row, column, value in ways[table.key](tasks):
        if row in table.rows and column in table.columns:
            yield Outcome(row, column, value, state, note, {"tasks": len(tasks)})


def _instances(tasks: Sequence[TaskFiles]) -> int:
    """Return how many instances tasks have, as their files say it, else by counting."""
    return sum(
        task.meta.counts.get("total") or sum(1 for _ in read_instances(task.data)) for task in tasks
    )


def _averages(tasks: Sequence[TaskFiles]) -> Iterator[tuple[str, str, float]]:
    def words(texts: Sequence[str]) -> float:
        return fsum(len(text.split()) for text in texts) / len(texts)

    def examples(side: Callable[[Meta], Sequence[Example]], part: str) -> float | None:
        lengths = [
            words([getattr(example, part) for example in side(task.meta)])
            for task in tasks
            if side(task.meta)
        ]
        return fsum(lengths) / len(lengths) if lengths else None

    values = {
        "instances per task": _instances(tasks) / len(tasks),
        "description length": words([task.meta.description for task in tasks]),
        "definition length": words([task.meta.definition for task in tasks]),
        "positive example input length": examples(lambda meta: meta.positive, "input"),
        "positive example output length": examples(lambda meta: meta.positive, "output"),
        "negative example input length": examples(lambda meta: meta.negative, "input"),
        "negative example output length": examples(lambda meta: meta.negative, "output"),
    }
    for row, value in values.items():
        if value is not None:
            yield row, "average", value


def _types(tasks: Sequence[TaskFiles]) -> Iterator[tuple[str, str, float]]:
    by_kind: dict[str, list[TaskFiles]] = {}
    for task in tasks:
        for name in {task.meta.kind.type, str(task.meta.kind), _TOTAL}:
            by_kind.setdefault(name, []).append(task)
    for name, members in by_kind.items():
        yield name, "tasks", len(members)
        yield name, "categories", len({task.meta.category for task in members})
        yield name, "instances", _instances(members)


def _splits(tasks: Sequence[TaskFiles]) -> Iterator[Assigned]:
    metas = [task.meta for task in tasks]
    for name, split in shipped_splits().items():
        yield assign_tasks(name, split, metas)


def _split_tasks(tasks: Sequence[TaskFiles]) -> Iterator[tuple[str, str, float]]:
    for split in _splits(tasks):
        yield split.name, "train", len(split.train)
        yield split.name, "evaluation", len(split.evaluation)


def _split_instances(
    tasks: Sequence[TaskFiles], side: str, unit: int
) -> Iterator[tuple[str, str, float]]:
    by_stem = {task.meta.stem: task for task in tasks}
    for split in _splits(tasks):
        metas = split.train if side == "train" else split.evaluation
        yield split.name, side, _instances([by_stem[meta.stem] for meta in metas]) / unit


def _shortcuts(tasks: Sequence[TaskFiles]) -> Iterator[tuple[str, str, float]]:
    by_stem = {task.meta.stem: task for task in tasks}
    for split in _splits(tasks):
        drawing = random.Random(_SEED)  # noqa: S311 - repeats the authors' drawing
        truths: list[str] = []
        answers: dict[str, list[str | None]] = {_COPY_OUTPUT: [], _COPY_INPUT: []}
        for meta in split.evaluation:
            outputs = [example.output for example in meta.positive]
            for instance in islice(read_instances(by_stem[meta.stem].data), _EVALUATED):
                truths.append(instance.output)
                answers[_COPY_OUTPUT].append(drawing.choice(outputs) if outputs else None)
                answers[_COPY_INPUT].append(instance.input)
        for row, copied in answers.items():
            scores = percentages(truths, copied)
            for metric, attribute in _METRICS.items():
                value = getattr(scores, attribute)
                if value is not None:
                    yield row, f"{split.name} {metric}", value
