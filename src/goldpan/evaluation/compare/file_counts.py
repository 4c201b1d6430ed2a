"""Confusion counts from elsewhere: their metrics, and evidence where no rows are known."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from goldpan.core.errors import EvaluationError
from goldpan.evaluation.compare.file_answers import SHORT, Runs
from goldpan.evaluation.compare.score_files import Key, ScoreFile
from goldpan.evaluation.compare.scores import (
    BINS,
    Floats,
    ModelEvidence,
    ScoreMatrix,
    TaskEvidence,
    model_evidence,
)
from goldpan.evaluation.metrics.classification import FORMULAS as LABEL_FORMULAS
from goldpan.evaluation.metrics.classification import Formula, LabelCounts
from goldpan.evaluation.metrics.estimate import Confusion, ratio
from goldpan.evaluation.units import counted

_COUNTS = 4


FORMULAS: Mapping[str, Formula] = {name: LABEL_FORMULAS[name] for name in SHORT}
"""Formulas on the counts of each label; a score is their mean over labels."""
_ACCURACY = "accuracy"


def _measure(metric: str, labels: int) -> Callable[[Floats], Floats]:
    """Return a metric of the sums of true and false positives, true and false negatives.

    Of several labels it is the mean over those that occur, 0 where one is not defined, and
    accuracy the share of rows that have their label right.
    """

    def measure(sums: Floats) -> Floats:
        counts = sums.reshape(len(sums), labels, _COUNTS)
        tp, fp, tn, fn = np.moveaxis(counts, -1, 0)
        if metric == _ACCURACY:
            right = tp + tn if labels == 1 else tp
            return ratio(right.sum(axis=1), counts[:, 0].sum(axis=1))
        values = np.nan_to_num(FORMULAS[metric](LabelCounts(tp, fp, tn, fn, np.zeros(1))))
        told = labels == 1 and metric == "specificity"  # which needs no row with the label
        occur = ((tp + fp + fn > 0) | told).astype(np.float64)
        return ratio((values * occur).sum(axis=1), occur.sum(axis=1))

    return measure


def _table(labels: Mapping[str, Confusion]) -> Floats:
    """Return counts as labels x 4, sorted by label."""
    return np.array([labels[label].counts for label in sorted(labels)], dtype=np.float64)


def _check_shares(file: ScoreFile, keys: Sequence[Key]) -> None:
    """Raise `EvaluationError` where counts of several labels do not say which rows are right."""
    for key in keys:
        table = _table(file.counts[key])
        rows = table.sum(axis=1)
        if len(table) > 1 and not (rows == table[:, [0, 3]].sum()).all():
            raise EvaluationError(
                f"{file.path}: the counts of {key.model} on {key.dataset} do not have one label"
                " for each row, so they do not say how many rows are right",
                "Give the counts of all labels, or predictions, or choose another --metric",
            )


def other_rows(file: ScoreFile, matrix: ScoreMatrix, runs: Runs) -> Iterator[str]:
    """Yield a doubt where counts of one data set add up to other numbers of rows."""
    for dataset in matrix.tasks if file.layout == "counts" else ():
        rows = {
            count.size: model
            for model in matrix.models
            for key in runs[dataset, model]
            for count in file.counts[key].values()
        }
        if len(rows) > 1:
            (few, one), *_, (many, other) = sorted(rows.items())
            yield (
                f"Warning: the counts of {one} on {dataset} are of {counted(few, 'rows')}, those of"
                f" {other} of {counted(many, 'rows')}"
            )


_COUNTING = {"f1": (0, 1, 3), "precision": (0, 1), "recall": (0, 3), "specificity": (1, 2)}
"""Places of the counts that a metric goes by."""


def _unseen(metric: str, table: Floats) -> float:
    """Return the variance that a row unlike all others would add: a model without an error errs."""
    places = list(_COUNTING.get(metric, range(_COUNTS)))
    labels = 1 if metric == _ACCURACY else len(table)
    rows = np.maximum(1.0, table[:labels, places].sum(axis=1))
    return float((1 / (labels * rows) ** 2).sum())


def count_evidence(file: ScoreFile, matrix: ScoreMatrix, runs: Runs) -> tuple[TaskEvidence, ...]:
    """Return evidence on data sets of which only counts are known, and no rows."""
    return tuple(_counted(file, matrix, dataset, runs) for dataset in matrix.tasks)


def _counted(file: ScoreFile, matrix: ScoreMatrix, dataset: str, runs: Runs) -> TaskEvidence:
    labels = sorted(file.counts[runs[dataset, matrix.models[0]][0]])
    measure = _measure(matrix.metric, len(labels))
    models: dict[str, ModelEvidence] = {}
    rows: list[int] = []
    for model in matrix.models:
        counts = [[file.counts[key][label] for label in labels] for key in runs[dataset, model]]
        rows += [count.size for count in chain.from_iterable(counts)]
        training = file.training(runs[dataset, model])
        models[model] = replace(
            model_evidence(np.stack([*map(_spread, counts)]), measure, training),
            unseen=_unseen(
                matrix.metric, np.array([label.counts for label in counts[0]], dtype=np.float64)
            ),
        )
    return TaskEvidence(
        dataset,
        dataset,
        "rows",
        min(rows),
        max(rows),
        np.arange(BINS),
        models,
        measure,
        paired=False,
    )


def _spread(labels: Sequence[Confusion]) -> Floats:
    """Spread counted rows over bins at random, so that bins vary as rows do."""
    random = np.random.default_rng(0)
    columns = np.zeros((BINS, len(labels), _COUNTS))
    for at, counts in enumerate(labels):
        for kind, count in enumerate(counts.counts):
            columns[:, at, kind] = random.multinomial(count, np.full(BINS, 1 / BINS))
    return columns.reshape(BINS, -1)


def count_values(file: ScoreFile, keys: Sequence[Key], metric: str) -> dict[str, dict[Key, float]]:
    """Return the metrics of counts where they are defined, the one that ranks first.

    Raises `EvaluationError` for a metric that counts do not give.
    """
    ranked = metric.removeprefix("macro_") or "f1"
    if ranked == _ACCURACY:
        _check_shares(file, keys)
    elif ranked not in FORMULAS:
        choices = ", ".join((*FORMULAS, _ACCURACY))
        raise EvaluationError(f"Counts give no {metric}", f"Choose {choices}")
    names = dict.fromkeys((ranked, "precision", "recall", "f1"))
    tables = {key: _table(file.counts[key]) for key in keys}
    return {
        name: {
            key: value
            for key, table in tables.items()
            if math.isfinite(value := float(_measure(name, len(table))(table.reshape(1, -1))[0]))
        }
        for name in names
    }
