"""Trains a model and asks it: what a run does once, or once a project."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from goldpan.core.errors import EvaluationError, UsageError
from goldpan.core.plugins.loading import attribute_to_plugin
from goldpan.core.resources import named
from goldpan.core.storage.workspace import WorkspaceLayout, make_directory
from goldpan.core.terminal import Reporter
from goldpan.datasets.tasks.data import TaskData, with_validation
from goldpan.datasets.tasks.leakage import Overlap
from goldpan.datasets.tasks.task import Task, target_column
from goldpan.evaluation.model import Answers, Costs, Fitted, Model, TrainingContext
from goldpan.evaluation.protocol import Protocol
from goldpan.evaluation.score import predictions_of, predictions_schema
from goldpan.evaluation.slices import with_leaks
from goldpan.evaluation.task_input import values_of

Splits = Mapping[str, pa.Table]
"""Rows that one model learns from and answers."""


def parts_of(data: TaskData, protocol: Protocol, *, needs_train: bool) -> Mapping[str, Splits]:
    """Return the parts that a protocol asks for; every test row is in one of them.

    They are named by the value of a column; the name is empty where one model does all. Raises
    `UsageError` where rows lack the column, `EvaluationError` where a part has nothing to
    learn from.
    """
    column = protocol.leave_out or protocol.model_per
    if not column:
        return {"": data.splits}
    for name, rows in data.splits.items():
        if column not in rows.column_names or rows[column].null_count:
            raise UsageError(
                f"The protocol {protocol.name} wants a {column} of each row, and the {name} rows "
                f"of {data.task.name} lack some",
                "Choose another --protocol, or import the rows with their projects",
            )
    values = {
        name: np.array(values_of(rows, column), dtype=object) for name, rows in data.splits.items()
    }
    parts: dict[str, Splits] = {}
    for value in sorted(set(values["test"])):
        splits = {}
        for name, rows in data.splits.items():
            without = bool(protocol.leave_out) and name != "test"
            matching = rows.filter(pa.array((values[name] == value) != without))
            if len(matching):
                splits[name] = matching
        if needs_train and not len(splits.get("train", ())):
            raise EvaluationError(
                f"{data.task.name} has no train rows for {column} {value}, and the protocol "
                f"{protocol.name} trains a model for each",
                "Choose another --protocol",
            )
        parts[value] = splits
    return parts


@contextmanager
def counting(costs: Costs) -> Iterator[None]:
    """Add the time that a block takes to the costs, also where it fails."""
    started, before = time.monotonic(), sum(os.times()[:4])
    try:
        yield
    finally:
        costs.wall_seconds += time.monotonic() - started
        costs.cpu_seconds += sum(os.times()[:4]) - before


TEST = "the test set"
"""Name of the rows that chose, where the test did."""
_TRAIN_ROWS = 5_000
_OPENED = "test-opened"


@dataclass(frozen=True, slots=True)
class Answered:
    """Answers of the model of one part of a run."""

    context: TrainingContext
    overlap: Overlap
    predictions: pa.Table
    learned: pa.Table
    chosen: pa.Table
    notes: Mapping[str, int]
    opened: int
    """How often the test was opened."""
    learned_from: tuple[int, int]
    """How many rows of train, and of those that chose."""


def train_and_ask(
    model: Model, context: TrainingContext, test: pa.Table, overlap: Overlap, title: str
) -> Answered:
    """Train one model, then open the test."""
    task = context.task
    make_directory(context.directory)
    with attribute_to_plugin("model", model.name):
        with counting(context.costs), context.reporter.task(title, 2) as progress:
            fitted = model.fit(context)
            progress.advance()
            opened = _open_test(context.directory)
            answers = _ask(task, fitted, test)
            predictions = with_leaks(predictions_of(task, test, answers), overlap)
            progress.advance()
        train_rows = context.train.slice(0, _TRAIN_ROWS if model.predict_train else 0)
        return Answered(
            context,
            overlap,
            predictions,
            predictions_of(
                task, train_rows, _ask(task, fitted, train_rows) if len(train_rows) else None
            ),
            _chosen(task, context, fitted),
            answers.notes,
            opened,
            _learned_from(model, context),
        )


def training_context(
    workspace: WorkspaceLayout,
    data: TaskData,
    protocol: Protocol,
    seed: int,
    work: Path,
    reporter: Reporter,
    costs: Costs,
) -> tuple[TrainingContext, pa.Table]:
    """Return what a model may learn from under a protocol, and the rows of the test."""
    target = target_column(data.task.type).name
    test = data.splits["test"]
    every = pa.concat_tables(data.splits.values()).drop_columns(target).sort_by("id")
    whole = data.splits.get("train", test.slice(0, 0))
    train, validation, name = whole, data.splits.get("validation"), "the validation split"
    if protocol.validation == "test":
        validation, name = test, TEST
    elif protocol.validation == "train" and len(whole):
        carved = with_validation(data, protocol.share, seed)
        name = name if validation is not None else "a part of train"
        train, validation = carved.splits["train"], carved.splits["validation"]
    context = TrainingContext(
        task=data.task,
        train=train,
        validation=validation,
        whole_train=whole,
        unlabeled=every,
        seed=seed,
        directory=work,
        reporter=reporter,
        costs=costs,
        protocol=protocol,
        validation_name=name,
        replies=workspace.root / "prompts" / data.task.name,
    )
    return context, test


def _chosen(task: Task, context: TrainingContext, fitted: Fitted) -> pa.Table:
    """Return the answers to the rows that chose, of the model or of those in cross-validation."""
    learning = context.learning
    if learning.unseen is not None:
        rows, answers = learning.unseen
        return predictions_of(task, rows, answers)
    if learning.chosen_on != context.validation_name or context.validation_name == TEST:
        return predictions_schema(task.type).empty_table()
    assert context.validation is not None
    return predictions_of(task, context.validation, _ask(task, fitted, context.validation))


def _learned_from(model: Model, context: TrainingContext) -> tuple[int, int]:
    if not model.needs_train:
        return 0, 0
    return len(context.train), 0 if context.validation is None else len(context.validation)


def _ask(task: Task, fitted: Fitted, rows: pa.Table) -> Answers:
    answers: object = fitted.answer(unanswered(task, rows))
    if not isinstance(answers, Answers):  # a plugin's model may return anything
        raise TypeError(f"answer returned a {type(answers).__name__}, not Answers")
    return answers


def unanswered(task: Task, rows: pa.Table) -> pa.Table:
    """Return rows without their answers; masks stay, as they say which words are asked for."""
    return rows if task.type == "mlm" else rows.drop_columns(target_column(task.type).name)


def _open_test(work: Path) -> int:
    """Count that the test is opened, before it is: a run that was killed may open it again."""
    path = work / _OPENED
    with named(path), path.open("ab") as file:
        file.write(b"\n")
        os.fsync(file.fileno())
    return path.stat().st_size


def joined(tables: Iterable[pa.Table]) -> pa.Table:
    """Return the answers of several models as one table, a row that several answered once."""
    together = pa.concat_tables(tables).sort_by("id")
    ids = together["id"].to_numpy()
    first = np.append([True], ids[1:] != ids[:-1])[: len(ids)]
    return together.filter(pa.array(first))
