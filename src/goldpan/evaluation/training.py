"""Trains one model and asks it: what a run does once, or once a project."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

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
class PartResult:
    """Answers of the model of one part of a run."""

    context: TrainingContext
    overlap: Overlap
    predictions: pa.Table
    learned: pa.Table
    chosen: pa.Table
    notes: Mapping[str, int]
    opened: int
    learned_from: Mapping[str, int]


def train_and_ask(
    model: Model, context: TrainingContext, test: pa.Table, overlap: Overlap, title: str
) -> PartResult:
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
        return PartResult(
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
        unlabelled=every,
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


def _learned_from(model: Model, context: TrainingContext) -> dict[str, int]:
    if not model.needs_train:
        return {"train": 0, "validation": 0}
    chosen_by = 0 if context.validation is None else len(context.validation)
    return {"train": len(context.train), "validation": chosen_by}


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
