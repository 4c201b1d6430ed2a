"""Metrics of tasks that ask for one label: binary and multi-class.

An answer that is not valid is wrong: it misses the right label and finds no other. So it lowers
recall, and precision stays what it is among valid answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from goldpan.evaluation.metrics.curves import Ranking
from goldpan.evaluation.metrics.estimate import Evidence, Floats, Measure, Totals, Whole, ratio
from goldpan.evaluation.metrics.multi_label import (
    label_confusions,
    label_measures,
    one_vs_rest,
)
from goldpan.evaluation.metrics.result import ConfusionMatrix, LabelConfusion


@dataclass(frozen=True, slots=True, eq=False)
class SingleLabel:
    """Truths and answers as numbers of labels; an answer that is not valid is the last number."""

    labels: tuple[str, ...]
    truth: Whole
    answer: Whole
    positive: str | None
    """Of a binary task."""

    @property
    def invalid(self) -> int:
        """How many answers are not valid."""
        return int((self.answer == len(self.labels)).sum())


def number_labels(
    labels: Sequence[str],
    truths: Sequence[str],
    answers: Sequence[str | None],
    positive: str | None,
) -> SingleLabel:
    """Return truths and answers as numbers; raises `KeyError` for a truth that is no label."""
    numbers = {label: number for number, label in enumerate(labels)}
    return SingleLabel(
        tuple(labels),
        np.array([numbers[truth] for truth in truths], dtype=np.int64),
        np.array(
            [
                len(labels) if answer is None else numbers.get(answer, len(labels))
                for answer in answers
            ],
            dtype=np.int64,
        ),
        positive,
    )


def confusion_matrix(data: SingleLabel) -> ConfusionMatrix:
    """Count how often each label was answered with each, and with nothing valid."""
    size = len(data.labels)
    cells = data.truth * (size + 1) + data.answer
    counts = np.bincount(cells, minlength=size * (size + 1)).reshape(size, size + 1)
    return ConfusionMatrix(data.labels, tuple(tuple(row) for row in counts.tolist()))


def single_label_evidence(data: SingleLabel, scores: Floats | None) -> list[Evidence]:
    """Return what the metrics of a binary or multi-class task follow from."""
    columns = _one_vs_rest(data)
    evidence: list[Evidence] = [
        Totals(columns, label_measures(data.labels, data.positive)),
        _matrix_evidence(data),
    ]
    if scores is not None:
        positive = np.arange(len(data.labels)) == data.truth[:, None]
        evidence.append(Ranking(data.labels, positive, scores, data.positive))
    return evidence


def single_label_confusions(data: SingleLabel) -> tuple[LabelConfusion, ...]:
    """Return each label against the rest."""
    return label_confusions(data.labels, _one_vs_rest(data))


def _one_vs_rest(data: SingleLabel) -> Floats:
    numbers = np.arange(len(data.labels))
    truth = (numbers == data.truth[:, None]).astype(np.float64)
    answer = (numbers == data.answer[:, None]).astype(np.float64)
    return one_vs_rest(truth, answer, (data.answer < len(data.labels)).astype(np.float64))


def _matrix_evidence(data: SingleLabel) -> Totals:
    """Return accuracy and what else needs the whole matrix, from its cells that are not empty."""
    size = len(data.labels) + 1
    cells, cell_of = np.unique(data.truth * size + data.answer, return_inverse=True)
    columns = np.zeros((len(data.truth), len(cells)))
    columns[np.arange(len(data.truth)), cell_of] = 1.0
    true_label, answered = np.divmod(cells, size)
    right = (true_label == answered).astype(np.float64)
    measures = [
        Measure("accuracy", _share_of(right), "there are no examples"),
        Measure(
            "hamming_loss",
            _share_of(1 - right),
            "there are no examples",
            higher_is_better=False,
        ),
        Measure(
            "mcc",
            _matthews(true_label, answered, size),
            "all truths, or all answers, are the same label",
        ),
    ]
    return Totals(columns, measures)


def _share_of(cells: Floats) -> Callable[[Floats], Floats]:
    return lambda totals: ratio(totals @ cells, totals.sum(axis=1))


def _matthews(true_label: Whole, answered: Whole, size: int) -> Callable[[Floats], Floats]:
    """Return the multi-class Matthews correlation coefficient of draws x cells (Gorodkin 2004)."""
    by_truth = np.eye(size)[true_label]
    by_answer = np.eye(size)[answered]
    right = (true_label == answered).astype(np.float64)

    def matthews(totals: Floats) -> Floats:
        examples = totals.sum(axis=1)
        truths, answers = totals @ by_truth, totals @ by_answer
        over = (totals @ right) * examples - (truths * answers).sum(axis=1)
        spread = [examples**2 - (counts**2).sum(axis=1) for counts in (truths, answers)]
        return ratio(over, np.sqrt(spread[0] * spread[1]))

    return matthews
