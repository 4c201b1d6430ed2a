"""Predictions from elsewhere as answers to a task, so that they are scored as runs are.

The metric says what the answers are: labels, numbers, texts, or, in lists, labels and tags.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import pyarrow as pa

from goldpan.core.errors import EvaluationError
from goldpan.datasets.tasks.task import (
    CLASSIFICATION,
    Label,
    Task,
    TaskPrompt,
    TaskSource,
    TaskType,
)
from goldpan.evaluation.compare.evidence import (
    ExampleNumbers,
    TaskAnswers,
    example_numbers,
    task_evidence,
)
from goldpan.evaluation.compare.score_files import Key, Prediction, ScoreFile, Truth
from goldpan.evaluation.compare.scores import TaskEvidence
from goldpan.evaluation.metrics.estimate import Scores
from goldpan.evaluation.metrics.words_and_numbers import TAG
from goldpan.evaluation.score import metric_names, predictions_schema, score

Runs = Mapping[tuple[str, str], Sequence[Key]]
"""The runs on each data set by each model, by seed and fold."""
_TYPES: Mapping[bool, tuple[TaskType, ...]] = {
    False: ("multi-class", "regression", "text-generation"),
    True: ("multi-label", "ner", "mlm"),
}
"""Types of tasks whose answers are lists, and of those whose are not."""
SHORT = {name: f"macro_{name}" for name in ("f1", "precision", "recall", "specificity")}
"""Metrics of labels by the names that files are asked for; others are those of runs."""
_SHOWN: Mapping[TaskType, tuple[str, ...]] = {
    "multi-class": ("precision", "recall", "f1"),
    "multi-label": ("precision", "recall", "f1"),
    "regression": ("mae", "smape"),
    "ner": ("seqeval_precision", "seqeval_recall", "seqeval_f1"),
    "text-generation": ("exact_match", "edit_similarity", "bleu"),
}
_NAMED = 5
"""Labels that a sentence names."""
_FEW_ROWS = 20


@dataclass(frozen=True, slots=True, eq=False)
class FileAnswers:
    """The predictions of a file as answers to tasks."""

    file: ScoreFile
    tasks: Mapping[str, Task]
    scores: Mapping[Key, Scores]
    """Of the test parts, by the names that are shown, the one that ranks first."""

    def evidence(
        self, models: Sequence[str], datasets: Sequence[str], runs: Runs
    ) -> tuple[TaskEvidence, ...] | str:
        """Return evidence on data sets, or why the metric gives none.

        Raises `EvaluationError` for folds with rows of their own.
        """
        answers = []
        for dataset in datasets:
            keys = {model: runs[dataset, model] for model in models}
            tests = {
                tuple(row.id for row in self.file.predictions[key])
                for key in chain.from_iterable(keys.values())
            }
            if len(tests) > 1:
                raise EvaluationError(
                    f"{self.file.path}: the folds of {dataset} have different rows, so they do not"
                    " compare",
                    "Leave out the column fold, or choose another approach, which takes scores"
                    " alone",
                )
            numbers = {
                model: [self._numbers(key) for key in own_keys] for model, own_keys in keys.items()
            }
            trainings = {model: self.file.training(own_keys) for model, own_keys in keys.items()}
            answers.append(TaskAnswers(dataset, dataset, numbers, trainings))
        return task_evidence(answers)

    def _numbers(self, key: Key) -> ExampleNumbers | None:
        task = self.tasks[key.task]
        table = _table(task, self.file.predictions[key])
        return example_numbers(task, table, task.metric, part=bool(key.project))


def file_answers(file: ScoreFile, keys: Sequence[Key], metric: str) -> FileAnswers:
    """Return the predictions of these runs as answers to tasks that rank by a metric.

    The labels of a task are those of all its parts.

    Raises `EvaluationError` for a metric that does not fit them.
    """
    rows: dict[str, list[Prediction]] = defaultdict(list)
    for key in keys:
        rows[key.task] += file.predictions[key]
    every = list(chain.from_iterable(rows.values()))
    lists = {isinstance(row.truth, tuple) for row in every}
    if len(lists) > 1:
        raise EvaluationError(
            f"{file.path} has lists among its truths, and values that are not lists",
            "Give a list in each row, or in none",
        )
    shown, type_ = _metric(file, every, metric, lists=True in lists)
    tasks = {name: _task(name, type_, SHORT.get(shown, shown), own) for name, own in rows.items()}
    if type_ in CLASSIFICATION:
        if not any(lists) and all(
            re.fullmatch(r"\[.*\]", str(row.truth), re.DOTALL) for row in every
        ):
            raise EvaluationError(
                f"{file.path} has its truths as lists that are written as text, such as"
                f" {str(every[0].truth)[:40]}",
                "Give a JSON or Parquet file, whose lists are lists",
            )
        _check_labels(file, keys)
    names = dict.fromkeys((shown, *_SHOWN.get(type_, ())))
    scores = {}
    for key in keys:
        if key.part == "test":
            table = _table(tasks[key.task], file.predictions[key])
            own = score(tasks[key.task], table, seed=key.seed, resamples=0, part=bool(key.project))
            metrics = (replace(own.metric(SHORT.get(name, name)), name=name) for name in names)
            scores[key] = replace(own, main=shown, metrics=tuple(metrics))
    return FileAnswers(file, tasks, scores)


def _metric(
    file: ScoreFile, rows: Sequence[Prediction], metric: str, *, lists: bool
) -> tuple[str, TaskType]:
    """Return the metric that ranks, and the type of task that it is of."""
    types = _TYPES[lists]
    if not metric:
        words = {word for row in rows if isinstance(row.truth, tuple) for word in row.truth}
        if words and all(map(TAG.fullmatch, words)):
            return "seqeval_f1", "ner"
        if (
            not lists
            and len(rows) >= _FEW_ROWS
            and len({row.truth for row in rows}) > len({(row.id, row.truth) for row in rows}) / 2
        ):
            raise EvaluationError(
                f"{file.path} has a different truth in most rows, so they are hardly labels",
                "Name the metric: mae or smape of numbers, exact_match of texts, f1 of labels",
            )
        return "f1", types[0]
    shown = metric.removeprefix("macro_") if metric.removeprefix("macro_") in SHORT else metric
    known = {name: type_ for type_ in reversed(types) for name in _names(type_)}
    full = SHORT.get(shown, shown)
    if full not in known:
        choices = sorted((known.keys() - set(SHORT.values())) | SHORT.keys())
        raise EvaluationError(f"Predictions give no {metric}", f"Choose {', '.join(choices)}")
    return shown, known[full]


def _names(type_: TaskType) -> list[str]:
    labels = ("a", "b") if type_ in CLASSIFICATION else ()
    names = metric_names(_task("", type_, "", (), labels))
    return [name for name in names if not name.startswith("macro_au")]


def _task(
    name: str, type_: TaskType, metric: str, rows: Iterable[Prediction], labels: Sequence[str] = ()
) -> Task:
    """Return the task that these rows are answers to; its labels are those of the truths."""
    if type_ in CLASSIFICATION and not labels:
        labels = sorted(set().union(*(_labels(row.truth) for row in rows)))
    return Task(
        name=name,
        title=name,
        type=type_,
        description="",
        definition="",
        category="",
        activity="maintenance",
        source=TaskSource("", "", "unknown", "", "public", name),
        prompt=TaskPrompt("", "", "", ""),
        labels=tuple(Label(label, "", label) for label in labels),
        metric=metric,
    )


def _table(task: Task, rows: Sequence[Prediction]) -> pa.Table:
    """Return predictions as the table of a run holds them."""
    nothing = [None] * len(rows)
    columns: dict[str, list[Any]] = {
        "id": [row.id for row in rows],
        "repo": nothing,
        "document": [row.document or None for row in rows],
        "truth": [_shaped(task, row.truth, row) for row in rows],
        "answer": [_shaped(task, row.answer) for row in rows],
        "scores": nothing,
        "raw": nothing,
    }
    return pa.table(columns, schema=predictions_schema(task.type))


def _shaped(task: Task, value: Truth, truth_of: Prediction | None = None) -> Any:
    """Return an answer as the task has them; None where it is empty or of another form.

    Raises `EvaluationError` for a truth that is no number where numbers are asked for.
    """
    if task.type == "regression":
        with suppress(ValueError, TypeError):
            if math.isfinite(number := float(value)):  # type: ignore[arg-type]
                return number
        if truth_of:
            raise EvaluationError(
                f"The truth of row {truth_of.id!r} of {task.name} is {str(value)[:40]!r}, which is"
                " not a number",
                "Name a metric of labels or texts, or correct the row",
            )
        return None
    if task.type in CLASSIFICATION:
        given = sorted(_labels(value))
        if task.type == "multi-label":
            return given if given or isinstance(value, tuple) else None
        return given[0] if len(given) == 1 else None
    if isinstance(value, tuple) != (task.type in _TYPES[True]):
        return None
    return value if isinstance(value, tuple) else value or None


def _check_labels(file: ScoreFile, keys: Sequence[Key]) -> None:
    """Raise `EvaluationError` where no answer of a model is one of the truths of its task."""
    truths: dict[str, set[str]] = defaultdict(set)
    answers: dict[tuple[str, str], set[str]] = defaultdict(set)
    for key in keys:
        for row in file.predictions[key] if key.part == "test" else ():
            truths[key.task] |= _labels(row.truth)
            answers[key.task, key.model] |= _labels(row.answer)
    for (task, model), given in answers.items():
        if given and truths[task] and not given & truths[task]:
            ours, theirs = (", ".join(sorted(texts)[:_NAMED]) for texts in (given, truths[task]))
            raise EvaluationError(
                f"{file.path}: no answer of {model} to {task} ({ours}) is one of its truths"
                f" ({theirs})",
                "Write the labels of both columns alike, one label per row; of numbers and texts,"
                " name the metric",
            )


def _labels(value: Truth) -> set[str]:
    return {label.strip() for label in ([value] if isinstance(value, str) else value)} - {""}
