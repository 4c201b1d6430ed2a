"""Draws the examples that a prompt shows: the task's own, or rows that a model may learn from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from goldpan.core.errors import EvaluationError
from goldpan.datasets.splits import draw_number
from goldpan.datasets.task import CLASSIFICATION, input_column, target_column
from goldpan.datasets.wording import Wording, WordingError, output_text, read_texts
from goldpan.evaluation.prompting.inputs import KEYS, PromptRow, show_row, show_text, written_answer


@dataclass(frozen=True, slots=True)
class Example:
    """An input with its right answer, in words and in the form of JSON where there is one."""

    shown: PromptRow
    answer: str
    written: str
    reason: str = ""


def own_examples(
    wording: Wording, examples: Sequence[tuple[str, str, str]], count: int, seed: int
) -> tuple[Example, ...]:
    """Return so many of a task's own examples, drawn by the seed."""
    name = wording.task.name
    order = sorted(range(len(examples)), key=lambda at: draw_number(seed, name, str(at)))
    return tuple(_own(wording, examples[at]) for at in order[:count])


def train_examples(
    wording: Wording, train: pa.Table, count: int, seed: int, most: int
) -> tuple[Example, ...]:
    """Return so many train rows, drawn by the seed; of classes, each label in turn.

    Each is shown with at most about `most` characters. Raises `EvaluationError` where train has
    too few rows.
    """
    task = wording.task
    if len(train) < count:
        raise EvaluationError(
            f"{task.name} has {len(train)} train rows, too few for {count} examples",
            "Set examples=task, or import it with a split that has train",
        )
    target = target_column(task.type).name
    indexes = _in_turn(_groups(task.type in CLASSIFICATION, train, target, task.name, seed), count)
    input_name = input_column(task.type).name
    examples = []
    for row in train.take(indexes).to_pylist():
        answer = output_text(wording, row[input_name], row[target])
        examples.append(
            Example(
                show_row(task, row, most),
                answer,
                _written(wording, row[input_name], row[target], answer),
            )
        )
    return tuple(examples)


def _own(wording: Wording, example: tuple[str, str, str]) -> Example:
    value, answer, reason = example
    try:
        read = read_texts(wording, value, answer)
        written = _written(wording, *read, answer)
    except WordingError:  # the answer of a task of one's own is told as it stands
        written = answer
    return Example(show_text(value), answer, written, reason)


def _written(wording: Wording, value: Any, target: Any, answer: str) -> str:
    return written_answer(wording, value, target) if wording.task.type in KEYS else answer


def _groups(by_label: bool, train: pa.Table, target: str, name: str, seed: int) -> list[list[int]]:
    """Return the places of rows in the order of their draw, those of each label apart."""
    ids = train["id"].to_pylist()
    order = sorted(range(len(ids)), key=lambda at: draw_number(seed, name, ids[at]))
    if not by_label:
        return [order]
    labels = train[target].to_pylist()
    groups: dict[str, list[int]] = defaultdict(list)
    for at in order:
        groups[str(labels[at])].append(at)
    return [groups[label] for label in sorted(groups)]


def _in_turn(groups: list[list[int]], count: int) -> list[int]:
    examples = [
        group[turn]
        for turn in range(max(map(len, groups), default=0))
        for group in groups
        if turn < len(group)
    ]
    return examples[:count]
