"""Metrics of one confusion matrix, and of several that are pooled (ECSER, section 4.2, Table 4).

A metric is None where its formula divides by zero, as in the paper's Table 5. The F-scores of
`classification.py` are 0 there instead, where a model simply found nothing (SELU, Equation 1).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BinaryConfusion:
    """How many examples were rightly and wrongly taken for positive and for negative."""

    tp: int
    fp: int
    tn: int
    fn: int

    @property
    def size(self) -> int:
        """How many examples there are."""
        return self.tp + self.fp + self.tn + self.fn

    @property
    def precision(self) -> float | None:
        """The share of those taken for positive that are."""
        return _share(self.tp, self.tp + self.fp)

    @property
    def recall(self) -> float | None:
        """The share of positives that were found: sensitivity, true positive rate."""
        return _share(self.tp, self.tp + self.fn)

    @property
    def specificity(self) -> float | None:
        """The share of negatives that were told: true negative rate."""
        return _share(self.tn, self.tn + self.fp)

    @property
    def accuracy(self) -> float | None:
        """The share of right answers."""
        return _share(self.tp + self.tn, self.size)

    @property
    def f1(self) -> float | None:
        """The harmonic mean of precision and recall."""
        return self.f_beta(1)

    def f_beta(self, beta: float) -> float | None:
        """Return the F-score that takes recall for `beta` times as important as precision."""
        precision, recall = self.precision, self.recall
        if precision is None or recall is None:
            return None
        square = beta * beta
        return _share((1 + square) * precision * recall, square * precision + recall)


def pool(confusions: Iterable[BinaryConfusion]) -> BinaryConfusion:
    """Add up confusion matrices, as of the folds of a cross-validation or of several data sets.

    Metrics of the sum weigh each example alike; the mean over data sets weighs each data set
    alike, so the two differ (ECSER's Tables 9 and 10).
    """
    tp = fp = tn = fn = 0
    for confusion in confusions:
        tp, fp, tn, fn = tp + confusion.tp, fp + confusion.fp, tn + confusion.tn, fn + confusion.fn
    return BinaryConfusion(tp, fp, tn, fn)


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None
