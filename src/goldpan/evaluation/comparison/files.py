"""Compares models by scores, counts or predictions from elsewhere: S8 to S10 of ECSER."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from goldpan.core.errors import EvaluationError
from goldpan.evaluation.comparison.evidence import TaskAnswers, Units, task_evidence, units_of
from goldpan.evaluation.comparison.question import ComparisonQuestion
from goldpan.evaluation.comparison.score_files import PARTS, Key, Prediction, ScoreFile
from goldpan.evaluation.metrics.classification import FORMULAS as LABEL_FORMULAS
from goldpan.evaluation.metrics.classification import Formula, LabelCounts
from goldpan.evaluation.metrics.curves import BinaryConfusion
from goldpan.evaluation.metrics.estimate import ratio
from goldpan.evaluation.statistics.calibrated import answer_questions, new_tasks_by_scores, no_rows
from goldpan.evaluation.statistics.comparison import Comparison, arrange
from goldpan.evaluation.statistics.effects import Degradation, Overfitting, degradation, overfitting
from goldpan.evaluation.statistics.scores import (
    BINS,
    Floats,
    ModelEvidence,
    RunScore,
    ScoreMatrix,
    TaskEvidence,
    check_settings,
    model_evidence,
    score_matrix,
)

Runs = Mapping[tuple[str, str], Sequence[Key]]
"""The runs on each data set by each model, by seed and fold."""
_NAMED = 5
"""Labels that a sentence names."""


def check_alike(file: ScoreFile, matrix: ScoreMatrix, runs: Runs) -> None:
    """Raise `EvaluationError` where models do not share rows, truths or labels with the others."""
    if file.layout == "predictions":
        _check_answers(file, matrix, runs)
        _check_labels(file, [key for key in chain(*runs.values()) if key.dataset in matrix.tasks])
    elif file.layout == "counts":
        _check_counts(file, matrix, runs)


def _check_answers(file: ScoreFile, matrix: ScoreMatrix, runs: Runs) -> None:
    for dataset in matrix.tasks:
        first: Mapping[str, str] = {}
        for model in matrix.models:
            for truths in _truths(file, runs[dataset, model]):
                first = first or truths
                _check_rows(file.path, dataset, model, first, truths)


def _truths(file: ScoreFile, keys: Sequence[Key]) -> Iterator[Mapping[str, str]]:
    """Yield the truths of each seed by row; each fold has rows of its own."""
    truths: dict[int, dict[str, str]] = defaultdict(dict)
    for key in keys:
        fold = f" of fold {key.fold}" if key.fold else ""
        truths[key.seed].update((row.id + fold, row.truth) for row in file.predictions[key])
    yield from truths.values()


def _check_rows(
    path: Path, dataset: str, model: str, truths: Mapping[str, str], others: Mapping[str, str]
) -> None:
    if truths == others:
        return
    remedy = "Give all models and seeds the same rows with the same truths"
    if missing := sorted(truths.keys() ^ others.keys()):
        more = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
        raise EvaluationError(
            f"{path}: the runs of {model} and of the first model on {dataset} do not share the row"
            f" {missing[0]!r}{more}",
            remedy,
        )
    id_ = next(name for name in truths if truths[name] != others[name])
    raise EvaluationError(
        f"{path}: models do not agree on row {id_!r} of {dataset}, which {model} has with the"
        f" truth {others[id_]!r} and the first model with {truths[id_]!r}",
        remedy,
    )


def _check_counts(file: ScoreFile, matrix: ScoreMatrix, runs: Runs) -> None:
    for dataset in matrix.tasks:
        keys = [key for model in matrix.models for key in runs[dataset, model]]
        labels = set().union(*map(file.counts.__getitem__, keys))
        for key in keys:
            if missing := sorted(labels - file.counts[key].keys()):
                raise EvaluationError(
                    f"{file.path} has no counts of {key.model} for the label {missing[0]!r} of"
                    f" {dataset}",
                    "Give every model's counts for every label",
                )


def _check_labels(file: ScoreFile, tests: Sequence[Key]) -> None:
    """Raise `EvaluationError` where no answer of a model is one of the truths of its task."""
    truths: dict[str, set[str]] = defaultdict(set)
    answers: dict[tuple[str, str], set[str]] = defaultdict(set)
    for key in tests:
        truths[key.task].update(row.truth for row in file.predictions[key])
        answers[key.task, key.model].update(row.answer for row in file.predictions[key])
    for (task, model), given in answers.items():
        if given - {""} and not given & truths[task]:
            named = [", ".join(sorted(texts)[:_NAMED]) for texts in (given - {""}, truths[task])]
            raise EvaluationError(
                f"{file.path}: no answer of {model} to {task} ({named[0]}) is one of its truths"
                f" ({named[1]})",
                "Write the labels of both columns alike, one label per row",
            )


_COUNTS = 4


def _accuracy(counts: LabelCounts) -> Floats:
    return ratio(counts.tp + counts.tn, counts.tp + counts.fp + counts.tn + counts.fn)


FORMULAS: Mapping[str, Formula] = {
    **{name: LABEL_FORMULAS[name] for name in ("f1", "precision", "recall", "specificity")},
    "accuracy": _accuracy,
}
"""Formulas on the counts of each label; a score is their mean over labels."""


def _by_label(metric: str, counts: Floats) -> Floats:
    """Return a metric of true and false positives, true and false negatives; 0 if undefined."""
    tp, fp, tn, fn = np.moveaxis(counts, -1, 0)
    return np.nan_to_num(FORMULAS[metric](LabelCounts(tp, fp, tn, fn, np.zeros(1))))


def one_vs_rest(rows: Sequence[Prediction]) -> dict[str, BinaryConfusion]:
    """Return the counts of each true label against all others; other answers are wrong."""
    labels = sorted({row.truth for row in rows})
    columns = _columns(rows, labels).sum(axis=0).reshape(-1, _COUNTS).astype(int)
    return {
        label: BinaryConfusion(*row) for label, row in zip(labels, columns.tolist(), strict=True)
    }


def _columns(rows: Sequence[Prediction], labels: Sequence[str]) -> Floats:
    """Return the counts of each label by row, rows x (4 x labels)."""
    numbers = {label: at for at, label in enumerate(labels)}
    columns = np.arange(len(labels))
    truth = np.array([numbers[row.truth] for row in rows])[:, None] == columns
    answer = np.array([numbers.get(row.answer, -1) for row in rows])[:, None] == columns
    parts = [truth & answer, ~truth & answer, ~truth & ~answer, truth & ~answer]
    return np.stack(parts, axis=-1).reshape(len(rows), -1).astype(np.float64)


def _mean_over_labels(metric: str, labels: int) -> Callable[[Floats], Floats]:
    def measure(sums: Floats) -> Floats:
        by_label = _by_label(metric, sums.reshape(len(sums), labels, _COUNTS))
        return np.asarray(by_label.mean(axis=1), dtype=np.float64)

    return measure


def prediction_evidence(
    file: ScoreFile, matrix: ScoreMatrix, runs: Runs
) -> tuple[TaskEvidence, ...]:
    """Return evidence on data sets; raises `EvaluationError` for folds with rows of their own."""
    tasks = []
    for dataset in matrix.tasks:
        by_model = {
            model: [file.predictions[key] for key in runs[dataset, model]]
            for model in matrix.models
        }
        first = by_model[matrix.models[0]][0]
        labels = sorted({row.truth for row in first})
        ids, documents = _ids(first), [row.document or None for row in first]
        if any(_ids(rows) != ids for rows in chain.from_iterable(by_model.values())):
            raise EvaluationError(
                f"{file.path}: the folds of {dataset} have different rows, so they do not compare",
                "Leave out the column fold, or choose another approach, which takes scores alone",
            )
        units = units_of(ids, [None] * len(ids), documents)
        order = sorted(range(len(ids)), key=units.names.__getitem__)
        tasks.append(
            TaskAnswers(
                dataset,
                dataset,
                Units(units.kind, tuple(units.names[at] for at in order)),
                {
                    name: [_columns(rows, labels)[order] for rows in answered]
                    for name, answered in by_model.items()
                },
                {name: file.training(runs[dataset, name]) for name in by_model},
                _mean_over_labels(matrix.metric, len(labels)),
            )
        )
    return task_evidence(tasks)


def _ids(rows: Sequence[Prediction]) -> list[str]:
    return [row.id for row in rows]


def count_evidence(file: ScoreFile, matrix: ScoreMatrix, runs: Runs) -> tuple[TaskEvidence, ...]:
    """Return evidence on data sets of which only counts are known, and no rows."""
    return tuple(_counted(file, matrix, dataset, runs) for dataset in matrix.tasks)


def _counted(file: ScoreFile, matrix: ScoreMatrix, dataset: str, runs: Runs) -> TaskEvidence:
    labels = sorted(file.counts[runs[dataset, matrix.models[0]][0]])
    measure = _mean_over_labels(matrix.metric, len(labels))
    models: dict[str, ModelEvidence] = {}
    rows = 0
    for model in matrix.models:
        counts = [[file.counts[key][label] for label in labels] for key in runs[dataset, model]]
        rows = max(rows, *(count.size for count in chain.from_iterable(counts)))
        training = file.training(runs[dataset, model])
        models[model] = model_evidence(np.stack([*map(_spread, counts)]), measure, training)
    return TaskEvidence(
        dataset, dataset, "rows", rows, rows, np.arange(BINS), models, measure, paired=False
    )


def _spread(labels: Sequence[BinaryConfusion]) -> Floats:
    """Spread counted rows over bins at random, so that bins vary as rows do."""
    random = np.random.default_rng(0)
    columns = np.zeros((BINS, len(labels), _COUNTS))
    for at, counts in enumerate(labels):
        for kind, count in enumerate(astuple(counts)):
            columns[:, at, kind] = random.multinomial(count, np.full(BINS, 1 / BINS))
    return columns.reshape(BINS, -1)


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
    """Comparison of the models of a file."""

    file: ScoreFile
    metric: str
    matrix: ScoreMatrix
    """Scores of the test parts; a data set a task, or a project of it."""
    comparison: Comparison
    new_tasks: Comparison | None
    drift: tuple[Drift, ...]
    scores: tuple[tuple[str, str, str, float], ...]
    """Data set, model, metric and mean over seeds and folds, of the test parts (S7)."""


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
    runs = _runs(tests)
    matrix = score_matrix(
        [
            RunScore(model, dataset, number, values[shown[0]][key])
            for (dataset, model), own_keys in runs.items()
            for number, key in enumerate(own_keys)
        ],
        shown[0],
        drop_incomplete_tasks=True,
    )
    check_alike(file, matrix, runs)
    comparison, new_tasks = _compared(file, matrix, runs, question)
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
    values = {}
    for key in keys:
        counts = file.counts[key] if file.layout == "counts" else one_vs_rest(file.predictions[key])
        table = np.array([astuple(label) for label in counts.values()], dtype=np.float64)
        values[key] = float(_by_label(metric, table).mean())
    return values


def _runs(keys: Sequence[Key]) -> dict[tuple[str, str], list[Key]]:
    """Return the runs of each data set and model, by seed and fold."""
    runs: dict[tuple[str, str], list[Key]] = defaultdict(list)
    for key in sorted(keys, key=lambda key: (key.seed, key.fold)):
        runs[key.dataset, key.model].append(key)
    return runs


def _compared(
    file: ScoreFile, matrix: ScoreMatrix, runs: Runs, question: ComparisonQuestion
) -> tuple[Comparison, Comparison | None]:
    if question.approach != "calibrated":
        return question.over_tasks(matrix), None
    criteria = question.criteria()
    if file.layout == "scores":
        why = "Scores alone do not say how many rows they stand on: give counts or predictions"
        on_rows = no_rows(len(matrix.models), why, criteria.alpha)
        return arrange(matrix, on_rows), arrange(matrix, new_tasks_by_scores(matrix, criteria))
    make = prediction_evidence if file.layout == "predictions" else count_evidence
    evidence = make(file, matrix, runs)
    answers = answer_questions(evidence, matrix.models, criteria)
    return arrange(matrix, answers.new_rows), arrange(matrix, answers.new_tasks)


def _drift(
    keys: Sequence[Key], values: Mapping[str, Mapping[Key, float]], alpha: float
) -> Iterator[Drift]:
    """Yield overfitting and degradation of each task and model (S8, Equation 1)."""
    keys_of: dict[tuple[str, str], list[Key]] = defaultdict(list)
    for key in keys:
        keys_of[key.task, key.model].append(key)
    for (task, model), own_keys in keys_of.items():
        for metric, scores in values.items():
            train, validation, test = (
                _by_dataset([key for key in own_keys if key.part == part], scores) for part in PARTS
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
    groups: dict[tuple[str, str], list[float]] = defaultdict(list)
    for key in keys:
        groups[key.project, key.fold].append(values[key])
    return [float(np.mean(group)) for group in groups.values()]


def _test_scores(
    tests: Sequence[Key], values: Mapping[str, Mapping[Key, float]]
) -> Iterator[tuple[str, str, str, float]]:
    for (dataset, model), keys in sorted(_runs(tests).items()):
        for metric, scores in values.items():
            yield dataset, model, metric, float(np.mean([scores[key] for key in keys]))
