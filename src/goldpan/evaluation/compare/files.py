"""Compares models by scores, counts or predictions from elsewhere: S10 of ECSER."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from goldpan.core.errors import EvaluationError
from goldpan.core.result import count
from goldpan.evaluation.compare.file_answers import SHORT, Runs, file_answers
from goldpan.evaluation.compare.question import ComparisonQuestion, ComparisonResult, System
from goldpan.evaluation.compare.score_files import Key, ScoreFile, Truth, check_range
from goldpan.evaluation.compare.scores import TaskEvidence
from goldpan.evaluation.compare.stored_runs import compare_systems
from goldpan.evaluation.metrics.classification import label_metric
from goldpan.evaluation.metrics.estimate import Metric, Scores


def _check_alike(
    file: ScoreFile, models: Sequence[str], datasets: Sequence[str], runs: Runs
) -> None:
    """Raise `EvaluationError` where models do not share rows, truths or labels with the others."""
    if file.layout == "scores":
        return
    noun = "row" if file.layout == "predictions" else "label"
    for dataset in datasets:
        first: set[tuple[str, Truth]] = set()
        for model in models:
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


def compare_file(
    file: ScoreFile,
    question: ComparisonQuestion,
    *,
    metric: str = "",
    tasks: Collection[str] = (),
    models: Collection[str] = (),
) -> ComparisonResult:
    """Compare the models of a file by their test parts, of all tasks where none is named.

    Raises `EvaluationError` for a metric that the file does not allow, for rows that contradict
    each other, and where fewer than two models are left, and what `compare_systems` raises.
    """
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
        results = answers.scores
    elif file.layout == "counts":
        results = _of_counts(file, tests, metric)
    else:
        check_range(file, metric)
        results = {key: _plain(key, {metric or "score": file.scores[key]}) for key in tests}
    runs = _runs(tests)
    own: dict[str, dict[str, tuple[Scores, ...]]] = defaultdict(dict)
    for (dataset, model), seeds in runs.items():
        own[model][dataset] = tuple(results[key] for key in seeds)

    def evidence(systems: Sequence[System], names: Sequence[str]) -> Sequence[TaskEvidence] | str:
        compared = [system.name for system in systems]
        _check_alike(file, compared, names, runs)
        if answers and question.approach == "calibrated":
            return answers.evidence(compared, names, runs)
        return f"{file.layout.capitalize()} alone do not say which rows are right: give predictions"

    systems = tuple(System(model, model, "", own[model]) for model in sorted(own))
    result = compare_systems(systems, question, evidence, keep_models=True)
    if isinstance(result.comparison, str):
        problem = next(iter(result.without_value), result.comparison)
        raise EvaluationError(
            f"{file.path}: {problem}",
            "Give scores of two models on the same task, or choose another --metric",
        )
    origin = f"{count(len(tests), 'set')} of {file.layout} from {file.path.name}"
    return replace(result, origin=origin)


def _of_counts(file: ScoreFile, keys: Sequence[Key], metric: str) -> dict[Key, Scores]:
    """Return the metrics of counts, the one that ranks first.

    Raises `EvaluationError` for a metric that counts do not give.
    """
    ranked = metric.removeprefix("macro_") or "f1"
    if ranked not in SHORT:
        raise EvaluationError(f"Counts give no {metric}", f"Choose {', '.join(SHORT)}")
    names = dict.fromkeys((ranked, "precision", "recall", "f1"))
    return {key: _plain(key, {name: _of_labels(file, key, name) for name in names}) for key in keys}


def _plain(key: Key, values: Mapping[str, float | None]) -> Scores:
    """Return scores whose rows are not known, the one that ranks first."""
    return Scores(
        task=key.task,
        task_type="multi-class",
        main=next(iter(values)),
        examples=0,
        invalid=0,
        unit="",
        units=0,
        resamples=0,
        seed=key.seed,
        metrics=tuple(
            Metric(name, value, None, "it would divide by zero" if value is None else "")
            for name, value in values.items()
        ),
    )


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
