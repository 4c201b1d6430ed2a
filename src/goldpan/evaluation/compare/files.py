"""Compares models by scores, counts or predictions from elsewhere: S8 to S10 of ECSER."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from goldpan.core.errors import EvaluationError
from goldpan.evaluation.compare.file_answers import SHORT, Runs, file_answers
from goldpan.evaluation.compare.question import ComparisonQuestion, complete
from goldpan.evaluation.compare.result import Comparison
from goldpan.evaluation.compare.score_files import Key, Part, ScoreFile, Truth, check_range
from goldpan.evaluation.compare.scores import (
    ScoreMatrix,
    TaskEvidence,
    check_settings,
    score_matrix,
)
from goldpan.evaluation.metrics.classification import label_metric


def _check_alike(file: ScoreFile, matrix: ScoreMatrix, runs: Runs) -> None:
    """Raise `EvaluationError` where models do not share rows, truths or labels with the others."""
    if file.layout == "scores":
        return
    noun = "row" if file.layout == "predictions" else "label"
    for dataset in matrix.tasks:
        first: set[tuple[str, Truth]] = set()
        for model in matrix.models:
            for held in _held(file, runs[dataset, model]):
                first = first or held
                if apart := sorted(name for name, _ in first ^ held):
                    raise EvaluationError(
                        f"{file.path}: {model} and the first model on {dataset} do not share the"
                        f" {noun} {apart[0]!r} with one truth",
                        f"Give every model and seed each {noun}, with the same truths",
                    )


def _held(file: ScoreFile, keys: Sequence[Key]) -> Iterator[set[tuple[str, Truth]]]:
    """Yield the rows of each seed with their truths, or the labels of each run's counts."""
    if file.layout == "counts":
        for key in keys:
            yield {(label, "") for label in file.counts[key]}
        return
    rows: dict[int, set[tuple[str, Truth]]] = defaultdict(set)
    for key in keys:
        fold = f" of fold {key.fold}" if key.fold else ""
        rows[key.seed].update((row.id + fold, row.truth) for row in file.predictions[key])
    yield from rows.values()


@dataclass(frozen=True, slots=True)
class Drift:
    """How one model's scores on one task change from training and validation to test (S8).

    Means over data sets and folds, of each the mean over seeds.
    """

    task: str
    model: str
    metric: str
    train: float | None
    validation: float | None
    test: float


@dataclass(frozen=True, slots=True)
class FileComparison:
    """Comparison of the models of a file."""

    file: ScoreFile
    metric: str
    left_out: tuple[str, ...]
    """Data sets outside the comparison, with the reason, a sentence each."""
    comparison: Comparison
    new_tasks: Comparison | None
    drift: tuple[Drift, ...]
    scores: tuple[tuple[str, str, str, float], ...]
    """Data set, model, metric and mean over seeds and folds, of the test parts (S7)."""
    invalid: Mapping[str, float]
    """Of predictions, the share of each model's test answers that are none of the task."""


def compare_file(
    file: ScoreFile,
    question: ComparisonQuestion,
    *,
    metric: str = "",
    tasks: Collection[str] = (),
    models: Collection[str] = (),
) -> FileComparison:
    """Compare the models of a file by their test parts, of all tasks where none is named.

    Raises `EvaluationError` for a metric that the file does not allow and for rows that
    contradict each other, `StatisticsError` where fewer than two models are left.
    """
    check_settings(question.alpha, question.rope or 0.0)
    keys = [
        key
        for key in file.keys
        if (not tasks or key.task in tasks) and (not models or key.model in models)
    ]
    tests = [key for key in keys if key.part == "test"]
    if not tests:
        raise EvaluationError(
            f"{file.path} has no test row of what was asked for",
            "Name its tasks and models, or leave out the column part",
        )
    answers = None
    if file.layout == "predictions":
        answers = file_answers(file, keys, metric)
        values = answers.values()
    elif file.layout == "counts":
        values = _of_counts(file, keys, metric)
    else:
        check_range(file, metric)
        values = {metric or "score": {key: file.scores[key] for key in keys}}
    ranked = next(iter(values))
    runs = _runs(tests)
    scored: dict[str, set[str]] = {key.model: set() for key in tests}
    for (dataset, model), own_keys in runs.items():
        if all(key in values[ranked] for key in own_keys):
            scored[model].add(dataset)
    block = complete(scored, keep_models=True)
    undefined = next((key for key in tests if key not in values[ranked]), None)
    if undefined and not block.tasks:
        reason = answers.reason(undefined) if answers else "it would divide by zero"
        raise EvaluationError(
            f"{file.path}: {ranked} of {undefined.model} on {undefined.dataset} is not defined"
            f" ({reason})",
            "Choose another --metric, or leave the model out",
        )
    matrix = score_matrix(
        {
            (model, dataset): [values[ranked][key] for key in own_keys]
            for (dataset, model), own_keys in runs.items()
            if dataset in block.tasks
        },
        ranked,
    )
    _check_alike(file, matrix, runs)
    evidence: Sequence[TaskEvidence] | str = (
        f"{file.layout.capitalize()} alone do not say which rows are right: give predictions"
    )
    if answers and question.approach == "calibrated":
        evidence = answers.evidence(matrix, runs)
    comparison, new_tasks = question.answer(matrix, evidence)
    return FileComparison(
        file=file,
        metric=ranked,
        left_out=block.left_out,
        comparison=comparison,
        new_tasks=new_tasks,
        drift=tuple(_drift(keys, values)),
        scores=tuple(_test_scores(tests, values)),
        invalid={
            model: answers.invalid(key for key in tests if key.model == model)
            for model in matrix.models
        }
        if answers
        else {},
    )


def _of_counts(file: ScoreFile, keys: Sequence[Key], metric: str) -> dict[str, dict[Key, float]]:
    """Return the metrics of counts where they are defined, the one that ranks first.

    Raises `EvaluationError` for a metric that counts do not give.
    """
    ranked = metric.removeprefix("macro_") or "f1"
    if ranked not in SHORT:
        raise EvaluationError(f"Counts give no {metric}", f"Choose {', '.join(SHORT)}")
    return {
        name: {key: value for key in keys if (value := _of_labels(file, key, name)) is not None}
        for name in dict.fromkeys((ranked, "precision", "recall", "f1"))
    }


def _of_labels(file: ScoreFile, key: Key, metric: str) -> float | None:
    """Return a metric of one label, or the mean over those that occur, 0 where one has none."""
    labels = list(file.counts[key].values())
    if len(labels) == 1:
        return label_metric(labels[0], metric)
    occurring = [label for label in labels if label.tp + label.fp + label.fn]
    values = [label_metric(label, metric) or 0.0 for label in occurring]
    return float(np.mean(values)) if values else None


def _runs(keys: Sequence[Key]) -> dict[tuple[str, str], list[Key]]:
    """Return the runs of each data set and model, by seed and fold."""
    runs: dict[tuple[str, str], list[Key]] = defaultdict(list)
    for key in sorted(keys, key=lambda key: (key.seed, key.fold)):
        runs[key.dataset, key.model].append(key)
    return runs


def _drift(keys: Sequence[Key], values: Mapping[str, Mapping[Key, float]]) -> Iterator[Drift]:
    """Yield the scores by part of tasks and models that have more than the test.

    Means over projects and folds: seeds are no further data sets.
    """
    for metric, scores in values.items():
        parts: dict[tuple[str, str], dict[Part, dict[tuple[str, str], list[float]]]]
        parts = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
        for key in keys:
            if key in scores:
                own = parts[key.task, key.model][key.part]
                own[key.project, key.fold].append(scores[key])
        for (task, model), by_part in parts.items():
            means = {part: fmean(map(fmean, seeds.values())) for part, seeds in by_part.items()}
            if "test" in means and len(means) > 1:
                before = means.get("train"), means.get("validation")
                yield Drift(task, model, metric, *before, means["test"])


def _test_scores(
    tests: Sequence[Key], values: Mapping[str, Mapping[Key, float]]
) -> Iterator[tuple[str, str, str, float]]:
    for (dataset, model), keys in sorted(_runs(tests).items()):
        for metric, scores in values.items():
            if known := [scores[key] for key in keys if key in scores]:
                yield dataset, model, metric, float(np.mean(known))
