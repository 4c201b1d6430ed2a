"""Metrics of tasks that ask for labels: one of two, one of several, or any number.

An answer that is not valid is wrong: it misses the right label and finds no other. So it lowers
recall, and precision stays what it is among valid answers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goldpan.evaluation.metrics.curves import Ranking, shown_labels
from goldpan.evaluation.metrics.estimate import (
    Confusion,
    ConfusionMatrix,
    Floats,
    Measure,
    MetricEvidence,
    Totals,
    Whole,
    means,
    ratio,
)

# Precision, recall and their kin from counts of each label against the rest.
#
# Counts are draws x (five a label): true positives, false positives, true negatives, false
# negatives, and negatives without a valid answer, which are no true negatives.

COUNTS = 5
"""Columns a label."""
BETAS = {"f1": 1.0, "f2": 2.0, "f0.5": 0.5}
Formula = Callable[["LabelCounts"], Floats]


class LabelCounts(NamedTuple):
    """Counts of one label or of all, a number a draw; or draws x labels."""

    tp: Floats
    fp: Floats
    tn: Floats
    fn: Floats
    invalid: Floats


def label_counts(totals: Floats) -> LabelCounts:
    """Return the counts of all labels, each draws x labels."""
    return LabelCounts(*np.moveaxis(totals.reshape(len(totals), -1, COUNTS), -1, 0))


def _f_score(beta: float) -> Formula:
    """Return Equation 1 of SELU, for any beta: 0 where nothing is right, undefined without any."""
    square = beta * beta

    def f_score(counts: LabelCounts) -> Floats:
        over = (1 + square) * counts.tp
        return ratio(over, over + square * counts.fn + counts.fp)

    return f_score


FORMULAS: dict[str, Formula] = {
    "precision": lambda counts: ratio(counts.tp, counts.tp + counts.fp),
    "recall": lambda counts: ratio(counts.tp, counts.tp + counts.fn),
    "specificity": lambda counts: ratio(counts.tn, counts.tn + counts.fp + counts.invalid),
    **{name: _f_score(beta) for name, beta in BETAS.items()},
    "jaccard": lambda counts: ratio(counts.tp, counts.tp + counts.fp + counts.fn),
}
_UNDEFINED = {
    "precision": "the label was never answered",
    "recall": "the label is never right",
    "specificity": "the label is always right",
}
_NEVER_SEEN = "the label is neither right nor answered"


def label_measures(
    labels: Sequence[str], positive: str | None, always: NDArray[np.bool_]
) -> list[Measure]:
    """Return each formula's macro and micro average and its value for each label.

    That of a binary task's positive label stands once more without a label. A macro average is
    over the labels that occur, right or answered, and those that count `always`; a label without
    a value counts 0, as in scikit-learn.
    """
    measures: list[Measure] = []
    for name, formula in FORMULAS.items():
        measures.append(Measure(f"macro_{name}", partial(_macro, formula, always)))
        measures.append(Measure(f"micro_{name}", partial(_micro, formula)))
        if name == "f1":
            measures.append(Measure("weighted_f1", partial(_weighted, formula)))
        measures += [
            Measure(
                name, partial(_of_label, formula, number), _UNDEFINED.get(name, _NEVER_SEEN), label
            )
            for number, label in shown_labels(labels, positive)
        ]
    return measures


def label_metric(confusion: Confusion, name: str) -> float | None:
    """Return a metric of one label by its counts, None where it is undefined."""
    counts = (*confusion.counts, confusion.invalid)
    (value,) = FORMULAS[name](LabelCounts(*np.array(counts, dtype=np.float64)[:, None]))
    return float(value) if math.isfinite(value) else None


def _of_label(formula: Formula, number: int, totals: Floats) -> Floats:
    return formula(label_counts(totals))[:, number]


def _label_values(formula: Formula, totals: Floats) -> Floats:
    """Return draws x labels, 0 where a label has no value."""
    return np.nan_to_num(formula(label_counts(totals)))


def _macro(formula: Formula, always: NDArray[np.bool_], totals: Floats) -> Floats:
    counts = label_counts(totals)
    occur = ((counts.tp + counts.fp + counts.fn > 0) | always).astype(np.float64)
    averages = ratio((_label_values(formula, totals) * occur).sum(axis=1), occur.sum(axis=1))
    return np.where(totals[:, :COUNTS].sum(axis=1) > 0, averages, np.nan)


def _micro(formula: Formula, totals: Floats) -> Floats:
    return formula(LabelCounts(*(counts.sum(axis=1) for counts in label_counts(totals))))


def _weighted(formula: Formula, totals: Floats) -> Floats:
    counts = label_counts(totals)
    support = counts.tp + counts.fn
    weighed = _label_values(formula, totals) * support
    return ratio(weighed.sum(axis=1), support.sum(axis=1))


def label_confusions(data: LabelAnswers) -> tuple[Confusion, ...]:
    """Return the counts of each label against the rest over all examples."""
    totals = data.counts().sum(axis=0).reshape(-1, COUNTS)
    return tuple(
        Confusion(*map(int, counts), label=label)
        for label, counts in zip(data.labels, totals, strict=True)
    )


@dataclass(frozen=True, slots=True, eq=False)
class LabelAnswers:
    """Truths and answers as indicators, examples x labels; an answer that is not valid has none."""

    labels: tuple[str, ...]
    truth: Floats
    answer: Floats
    valid: Floats
    """1.0 for each example with a valid answer."""

    @property
    def invalid(self) -> int:
        """How many answers are not valid."""
        return int((self.valid == 0).sum())

    def counts(self) -> Floats:
        """Return each label against the rest, examples x (five a label)."""
        truth, answer, answered = self.truth, self.answer, self.valid[:, None]
        counts = [
            truth * answer,
            (1 - truth) * answer,
            (1 - truth) * (1 - answer) * answered,
            truth * (1 - answer),
            (1 - truth) * (1 - answered),
        ]
        return np.stack(counts, axis=2).reshape(len(truth), COUNTS * truth.shape[1])

    def always(self, part: bool) -> NDArray[np.bool_]:
        """Return which labels count in a macro average even of draws that have none of them.

        Those that no row of the whole test has; of a part of the test, none.
        """
        has_rows = self.truth.sum(axis=0) > 0
        return np.zeros_like(has_rows) if part else ~has_rows

    def numbers(self) -> tuple[Whole, Whole]:
        """Return truths and answers of one label each as numbers; the last is no valid answer."""
        answered = np.where(self.valid > 0, self.answer.argmax(axis=1), len(self.labels))
        return self.truth.argmax(axis=1), answered


def indicate_labels(
    labels: Sequence[str], truths: Sequence[Sequence[str]], answers: Sequence[Sequence[str] | None]
) -> LabelAnswers:
    """Return truths and answers as indicators; an answer with an unknown label is not valid.

    Raises `KeyError` for a truth that is no label.
    """
    numbers = {label: number for number, label in enumerate(labels)}
    truth, answer = np.zeros((2, len(truths), len(labels)))
    valid = np.ones(len(truths))
    for index, (right, answered) in enumerate(zip(truths, answers, strict=True)):
        truth[index, [numbers[label] for label in right]] = 1.0
        if answered is None or not numbers.keys() >= set(answered):
            valid[index] = 0.0
        else:
            answer[index, [numbers[label] for label in answered]] = 1.0
    return LabelAnswers(tuple(labels), truth, answer, valid)


def multi_label_evidence(
    data: LabelAnswers, scores: Floats | None, *, part: bool = False
) -> list[MetricEvidence]:
    """Return what the metrics of a multi-label task follow from, on all of a test or a `part`.

    An example's Jaccard index is the shared part of its true and its answered labels, 1 where
    both are none. An answer that is not valid has every label wrong.
    """
    wrong = np.abs(data.truth - data.answer)
    hamming = np.where(data.valid > 0, wrong.mean(axis=1), 1.0)
    shared = (data.truth * data.answer).sum(axis=1)
    either = np.maximum(data.truth, data.answer).sum(axis=1)
    jaccard = np.where(either > 0, shared / np.maximum(either, 1), 1.0) * data.valid
    exact = (wrong.sum(axis=1) == 0) * data.valid
    evidence: list[MetricEvidence] = [
        Totals(data.counts(), label_measures(data.labels, None, data.always(part))),
        means(
            {"accuracy": exact, "hamming_loss": hamming, "example_jaccard": jaccard},
            lower=frozenset({"hamming_loss"}),
        ),
    ]
    if scores is not None:
        evidence.append(Ranking(data.labels, data.truth > 0, scores, None))
    return evidence


def confusion_matrix(data: LabelAnswers) -> ConfusionMatrix:
    """Count how often each label was answered with each, and with nothing valid."""
    size = len(data.labels)
    truth, answer = data.numbers()
    counts = np.bincount(truth * (size + 1) + answer, minlength=size * (size + 1))
    rows = counts.reshape(size, size + 1).tolist()
    return ConfusionMatrix(data.labels, tuple(map(tuple, rows)))


def single_label_evidence(
    data: LabelAnswers, positive: str | None, scores: Floats | None, *, part: bool = False
) -> list[MetricEvidence]:
    """Return what the metrics of a binary or multi-class task follow from, as above."""
    evidence: list[MetricEvidence] = [
        Totals(data.counts(), label_measures(data.labels, positive, data.always(part))),
        _matrix_evidence(data),
    ]
    if scores is not None:
        evidence.append(Ranking(data.labels, data.truth > 0, scores, positive))
    return evidence


def _matrix_evidence(data: LabelAnswers) -> Totals:
    """Return accuracy and what else needs the whole matrix, from its cells that are not empty."""
    size = len(data.labels) + 1
    truth, answer = data.numbers()
    cells, cell_of = np.unique(truth * size + answer, return_inverse=True)
    columns = np.zeros((len(truth), len(cells)))
    columns[np.arange(len(truth)), cell_of] = 1.0
    true_label, answered = np.divmod(cells, size)
    right = (true_label == answered).astype(np.float64)
    none, same = "there are no examples", "all truths, or all answers, are the same label"
    measures = [
        Measure("accuracy", partial(_share_of, right), none),
        Measure("hamming_loss", partial(_share_of, 1 - right), none, higher_is_better=False),
        Measure("mcc", _matthews(true_label, answered, size), same, limits=(-1.0, 1.0)),
    ]
    return Totals(columns, measures)


def _share_of(cells: Floats, totals: Floats) -> Floats:
    return ratio(totals @ cells, totals.sum(axis=1))


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
