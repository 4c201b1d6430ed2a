"""Metrics of tasks that ask for any number of labels (ECSER, section 4.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from goldpan.evaluation.metrics.bootstrap import Floats
from goldpan.evaluation.metrics.curves import Ranking
from goldpan.evaluation.metrics.estimate import Evidence, Totals, means
from goldpan.evaluation.metrics.label_counts import (
    label_confusions,
    label_measures,
    one_vs_rest,
)
from goldpan.evaluation.metrics.result import LabelConfusion


@dataclass(frozen=True, slots=True, eq=False)
class MultiLabel:
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


def indicate_labels(
    labels: Sequence[str],
    truths: Sequence[Sequence[str]],
    answers: Sequence[Sequence[str] | None],
) -> MultiLabel:
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
    return MultiLabel(tuple(labels), truth, answer, valid)


def multi_label_evidence(data: MultiLabel, scores: Floats | None) -> list[Evidence]:
    """Return what the metrics of a multi-label task follow from.

    An example's Jaccard index is the shared part of its true and its answered labels, 1 where
    both are none. An answer that is not valid has every label wrong.
    """
    wrong = np.abs(data.truth - data.answer)
    hamming = np.where(data.valid > 0, wrong.mean(axis=1), 1.0)
    shared = (data.truth * data.answer).sum(axis=1)
    either = np.maximum(data.truth, data.answer).sum(axis=1)
    jaccard = np.where(either > 0, shared / np.maximum(either, 1), 1.0) * data.valid
    exact = (wrong.sum(axis=1) == 0) * data.valid
    evidence: list[Evidence] = [
        Totals(_counts(data), label_measures(data.labels, None)),
        means(
            {"accuracy": exact, "hamming_loss": hamming, "example_jaccard": jaccard},
            lower=frozenset({"hamming_loss"}),
        ),
    ]
    if scores is not None:
        evidence.append(Ranking(data.labels, data.truth > 0, scores, None))
    return evidence


def multi_label_confusions(data: MultiLabel) -> tuple[LabelConfusion, ...]:
    """Return each label against the rest."""
    return label_confusions(data.labels, _counts(data))


def _counts(data: MultiLabel) -> Floats:
    return one_vs_rest(data.truth, data.answer, data.valid)
