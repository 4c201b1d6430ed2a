"""Compares models by scores, counts or predictions from elsewhere: S8 to S10 of ECSER."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from goldpan.core.errors import EvaluationError
from goldpan.evaluation.comparison_result import METHODS, Question
from goldpan.evaluation.file_evidence import (
    FORMULAS,
    count_evidence,
    one_vs_rest,
    prediction_evidence,
)
from goldpan.evaluation.score_files import Key, ScoreFile
from goldpan.evaluation.statistics.calibrated import ROPE, answer_questions, no_rows
from goldpan.evaluation.statistics.compare import compare
from goldpan.evaluation.statistics.comparison import Comparison
from goldpan.evaluation.statistics.drift import (
    Degradation,
    Overfitting,
    degradation,
    overfitting,
)
from goldpan.evaluation.statistics.errors import check_settings
from goldpan.evaluation.statistics.ranking import arrange
from goldpan.evaluation.statistics.scores import Score, ScoreMatrix, score_matrix

_BAYESIAN_ROPE = 0.1


@dataclass(frozen=True, slots=True)
class Drift:
    """How one model's scores on one task change from training to validation to test (S8)."""

    task: str
    model: str
    metric: str
    overfitting: Overfitting | None
    degradation: Degradation | None


@dataclass(frozen=True, slots=True)
class FileComparison:
    """What a file says of models."""

    file: ScoreFile
    metric: str
    matrix: ScoreMatrix
    """Of the test parts; a data set a task, or a project of it."""
    comparison: Comparison
    new_tasks: Comparison | None
    drift: tuple[Drift, ...]
    scores: tuple[tuple[str, str, str, float], ...]
    """Data set, model, metric and mean over seeds and folds, of the test parts (S7)."""


def compare_file(
    file: ScoreFile,
    question: Question,
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
    shown = _metrics(file, metric)
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
    values = {name: _values(file, keys, name) for name in shown}
    numbered = _numbered(tests)
    matrix = score_matrix(
        [Score(key.model, key.dataset, numbered[key], values[shown[0]][key]) for key in tests],
        shown[0],
        drop_incomplete_tasks=True,
    )
    comparison, new_tasks = _compared(file, matrix, tests, question)
    return FileComparison(
        file=file,
        metric=shown[0],
        matrix=matrix,
        comparison=comparison,
        new_tasks=new_tasks,
        drift=tuple(_drift(keys, values, question.alpha)),
        scores=tuple(_test_scores(tests, values)),
    )


def _metrics(file: ScoreFile, metric: str) -> list[str]:
    """Return the metrics to show, the one that ranks first."""
    if file.layout == "scores":
        return [metric or "score"]
    ranked = metric.removeprefix("macro_") or "f1"
    if ranked not in FORMULAS:
        raise EvaluationError(
            f"{file.layout.capitalize()} give no {metric}", f"Choose {', '.join(FORMULAS)}"
        )
    return [ranked, *(name for name in ("precision", "recall", "f1") if name != ranked)]


def _values(file: ScoreFile, keys: Sequence[Key], metric: str) -> dict[Key, float]:
    if file.layout == "scores":
        return {key: file.scores[key] for key in keys}
    measure = FORMULAS[metric]
    values = {}
    for key in keys:
        counts = file.counts[key] if file.layout == "counts" else one_vs_rest(file.predictions[key])
        table = np.array([[c.tp, c.fp, c.tn, c.fn] for c in counts.values()], dtype=np.float64)
        values[key] = float(np.nan_to_num(measure(table)).mean())
    return values


def _numbered(keys: Sequence[Key]) -> dict[Key, int]:
    """Return a number for each seed and fold of a model and data set."""
    runs: dict[tuple[str, str], list[Key]] = {}
    for key in keys:
        runs.setdefault((key.model, key.dataset), []).append(key)
    return {
        key: at
        for group in runs.values()
        for at, key in enumerate(sorted(group, key=lambda key: (key.seed, key.fold)))
    }


def _compared(
    file: ScoreFile, matrix: ScoreMatrix, tests: Sequence[Key], question: Question
) -> tuple[Comparison, Comparison | None]:
    approach, choice = METHODS[question.approach]
    alpha, seed = question.alpha, question.seed
    if approach != "calibrated":
        rope = _BAYESIAN_ROPE if question.rope is None else question.rope
        return compare(
            matrix, alpha=alpha, rope=rope, approach=approach, seed=seed, choice=choice
        ), None
    rope = ROPE if question.rope is None else question.rope
    if file.layout == "scores":
        why = "Scores alone do not say how many rows they stand on: give counts or predictions"
        on_tasks = compare(
            matrix, alpha=alpha, rope=rope, rope_kind="absolute", approach=approach, seed=seed
        )
        return arrange(matrix, no_rows(len(matrix.models), why, alpha)), on_tasks
    make = prediction_evidence if file.layout == "predictions" else count_evidence
    evidence = make(file, matrix, tests)
    answers = answer_questions(evidence, matrix.models, alpha=alpha, rope=rope, seed=seed)
    return arrange(matrix, answers.new_rows), arrange(matrix, answers.new_tasks)


def _drift(
    keys: Sequence[Key], values: Mapping[str, Mapping[Key, float]], alpha: float
) -> Iterator[Drift]:
    """Yield overfitting and degradation of each task and model (S8, Equation 1)."""
    for task, model in dict.fromkeys((key.task, key.model) for key in keys):
        own_keys = [key for key in keys if (key.task, key.model) == (task, model)]
        for metric, of in values.items():
            train, validation, test = (
                _by_dataset([key for key in own_keys if key.part == part], of)
                for part in ("train", "validation", "test")
            )
            if not test or not (train or validation):
                continue
            yield Drift(
                task,
                model,
                metric,
                overfitting(float(np.mean(train)), test) if train else None,
                degradation(validation, test, alpha=alpha) if validation else None,
            )


def _by_dataset(keys: Sequence[Key], values: Mapping[Key, float]) -> list[float]:
    """Return a score a project and fold: seeds are no further data sets, so they are averaged."""
    groups: dict[tuple[str, str], list[float]] = {}
    for key in keys:
        groups.setdefault((key.project, key.fold), []).append(values[key])
    return [float(np.mean(group)) for group in groups.values()]


def _test_scores(
    tests: Sequence[Key], values: Mapping[str, Mapping[Key, float]]
) -> Iterator[tuple[str, str, str, float]]:
    groups: dict[tuple[str, str], list[Key]] = {}
    for key in tests:
        groups.setdefault((key.dataset, key.model), []).append(key)
    for (dataset, model), keys in sorted(groups.items()):
        for metric, of in values.items():
            yield dataset, model, metric, float(np.mean([of[key] for key in keys]))
