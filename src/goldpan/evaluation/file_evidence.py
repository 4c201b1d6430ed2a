"""Evidence out of files of predictions or counts, and the metrics that counts give."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from goldpan.core.errors import EvaluationError
from goldpan.evaluation.metrics.estimate import ratio
from goldpan.evaluation.score_files import Key, Prediction, ScoreFile
from goldpan.evaluation.statistics.curves import Counts
from goldpan.evaluation.statistics.evidence import (
    BINS,
    TaskEvidence,
    add_up,
    bins_of,
    model_evidence,
)
from goldpan.evaluation.statistics.scores import Floats, ScoreMatrix
from goldpan.evaluation.task_evidence import Units, units_of

# Checks predictions from elsewhere before models are compared: the same rows, the same labels.

_NAMED = 5
"""Labels that a sentence names."""


def check_rows(
    path: Path,
    dataset: str,
    model: str,
    first: Sequence[Prediction],
    rows: Sequence[Prediction],
) -> None:
    """Raise `EvaluationError` where a model answered other rows than the first, or other truths."""
    truths, others = ({row.id: row.truth for row in table} for table in (first, rows))
    if truths == others:
        return
    remedy = "Give all models and seeds the same rows with the same truths"
    if missing := sorted(truths.keys() ^ others.keys()):
        count = "1 row" if len(missing) == 1 else f"{len(missing):,} rows"
        verb = "is" if len(missing) == 1 else "are"
        raise EvaluationError(
            f"{path}: {count} of {dataset}, such as {missing[0]!r}, {verb} not there for both"
            f" {model} and the first model",
            remedy,
        )
    id_ = next(name for name in truths if truths[name] != others[name])
    raise EvaluationError(
        f"{path}: models do not agree on row {id_!r} of {dataset}, which {model} has with the"
        f" truth {others[id_]!r} and the first model with {truths[id_]!r}",
        remedy,
    )


def check_labels(
    path: Path, dataset: str, by_model: Mapping[str, Sequence[Sequence[Prediction]]]
) -> None:
    """Raise `EvaluationError` where no answer of any model is one of the labels."""
    rows = [row for several in by_model.values() for part in several for row in part]
    truths, answers = {row.truth for row in rows}, {row.answer for row in rows if row.answer}
    if answers and not truths & answers:
        named = [", ".join(sorted(texts)[:_NAMED]) for texts in (answers, truths)]
        raise EvaluationError(
            f"{path}: no answer to {dataset} ({named[0]}) is one of its truths ({named[1]})",
            "Write the labels of both columns alike, one label per row",
        )


_COUNTS = 4


def _precision(counts: Floats) -> Floats:
    return ratio(counts[..., 0], counts[..., 0] + counts[..., 1])


def _recall(counts: Floats) -> Floats:
    return ratio(counts[..., 0], counts[..., 0] + counts[..., 3])


def _f1(counts: Floats) -> Floats:
    return ratio(2 * counts[..., 0], 2 * counts[..., 0] + counts[..., 1] + counts[..., 3])


def _specificity(counts: Floats) -> Floats:
    return ratio(counts[..., 2], counts[..., 2] + counts[..., 1])


def _accuracy(counts: Floats) -> Floats:
    return ratio(counts[..., 0] + counts[..., 2], counts.sum(axis=-1))


FORMULAS: Mapping[str, Callable[[Floats], Floats]] = {
    "f1": _f1,
    "precision": _precision,
    "recall": _recall,
    "specificity": _specificity,
    "accuracy": _accuracy,
}
"""Of counts (true and false positives, true and false negatives); a mean over labels."""


def one_vs_rest(rows: Sequence[Prediction]) -> dict[str, Counts]:
    """Return the counts of each label against all others."""
    labels = sorted({row.truth for row in rows} | {row.answer for row in rows if row.answer})
    columns = _columns(rows, labels).sum(axis=0).reshape(-1, _COUNTS).astype(int)
    return {label: Counts(*row) for label, row in zip(labels, columns.tolist(), strict=True)}


def _columns(rows: Sequence[Prediction], labels: Sequence[str]) -> Floats:
    """Return what rows add to the counts of each label, rows x (4 x labels)."""
    numbers = {label: at for at, label in enumerate(labels)}
    truth = np.array([numbers[row.truth] for row in rows])[:, None] == np.arange(len(labels))
    answer = np.array([numbers.get(row.answer, -1) for row in rows])[:, None] == np.arange(
        len(labels)
    )
    parts = [truth & answer, ~truth & answer, ~truth & ~answer, truth & ~answer]
    return np.stack(parts, axis=-1).reshape(len(rows), -1).astype(np.float64)


def _mean_over_labels(metric: str, labels: int) -> Callable[[Floats], Floats]:
    def measure(sums: Floats) -> Floats:
        by_label = FORMULAS[metric](sums.reshape(len(sums), labels, _COUNTS))
        return np.asarray(np.nan_to_num(by_label).mean(axis=1), dtype=np.float64)

    return measure


def prediction_evidence(
    file: ScoreFile, matrix: ScoreMatrix, tests: Sequence[Key]
) -> list[TaskEvidence]:
    """Return evidence on data sets whose rows all models answered."""
    units: list[Units] = []
    runs: list[dict[str, list[Sequence[Prediction]]]] = []
    for dataset in matrix.tasks:
        by_model: dict[str, list[Sequence[Prediction]]] = {name: [] for name in matrix.models}
        for key in sorted(tests, key=lambda key: (key.seed, key.fold)):
            if key.dataset == dataset:
                by_model[key.model].append(file.predictions[key])
        first = by_model[matrix.models[0]][0]
        for name, several in by_model.items():
            for rows in several:
                check_rows(file.path, dataset, name, first, rows)
        ids = [row.id for row in first]
        units.append(units_of(ids, [None] * len(ids), [row.document or None for row in first]))
        runs.append(by_model)
    starts = np.cumsum([0, *(len(unit.names) for unit in units)])
    numbered = []
    for unit, start in zip(units, starts, strict=False):
        _, numbers = np.unique(np.array(unit.names, dtype=object).astype(str), return_inverse=True)
        numbered.append((numbers.reshape(-1) + start).astype(np.intp))
    tasks = []
    for dataset, unit, bins, by_model in zip(
        matrix.tasks, units, bins_of(numbered), runs, strict=True
    ):
        check_labels(file.path, dataset, by_model)
        labels = sorted(
            {
                value
                for several in by_model.values()
                for rows in several
                for row in rows
                for value in (row.truth, row.answer)
                if value
            }
        )
        measure = _mean_over_labels(matrix.metric, len(labels))
        own_bins = bins
        models = {}
        for name, several in by_model.items():
            summed = []
            for rows in several:
                own_bins, sums = add_up(_columns(rows, labels), bins)
                summed.append(sums)
            training = file.training(name, dataset)
            models[name] = model_evidence(np.stack(summed), measure, training)
        count = len(set(unit.names))
        tasks.append(
            TaskEvidence(
                dataset, dataset, unit.kind, count, len(unit.names), own_bins, models, measure
            )
        )
    return tasks


def count_evidence(
    file: ScoreFile, matrix: ScoreMatrix, tests: Sequence[Key]
) -> list[TaskEvidence]:
    """Return evidence on data sets of which only counts are known, not which rows are whose."""
    tasks = []
    for dataset in matrix.tasks:
        keys = sorted(
            (key for key in tests if key.dataset == dataset),
            key=lambda key: (key.seed, key.fold),
        )
        labels = sorted({label for key in keys for label in file.counts[key]})
        measure = _mean_over_labels(matrix.metric, len(labels))
        runs: dict[str, list[Floats]] = {name: [] for name in matrix.models}
        rows = 0
        for key in keys:
            if key.model in runs:
                by_label = file.counts[key]
                missing = [label for label in labels if label not in by_label]
                if missing:
                    raise EvaluationError(
                        f"{file.path} has no counts of {key.model} for the label {missing[0]!r} of"
                        f" {dataset}",
                        "Give every model's counts for every label",
                    )
                runs[key.model].append(_spread([by_label[label] for label in labels]))
                rows = max(rows, *(sum(_four(counts)) for counts in by_label.values()))
        models = {
            name: model_evidence(np.stack(sums), measure, file.training(name, dataset))
            for name, sums in runs.items()
        }
        tasks.append(
            TaskEvidence(
                dataset,
                dataset,
                "rows",
                rows,
                rows,
                np.arange(BINS),
                models,
                measure,
                paired=False,
            )
        )
    return tasks


def _spread(labels: Sequence[Counts]) -> Floats:
    """Spread counted rows over bins at random: what bins differ by is what rows differ by."""
    random = np.random.default_rng(0)
    columns = np.zeros((BINS, len(labels), _COUNTS))
    for at, counts in enumerate(labels):
        for kind, count in enumerate(_four(counts)):
            columns[:, at, kind] = random.multinomial(count, np.full(BINS, 1 / BINS))
    return columns.reshape(BINS, -1)


def _four(counts: Counts) -> tuple[int, int, int, int]:
    return counts.tp, counts.fp, counts.tn, counts.fn
