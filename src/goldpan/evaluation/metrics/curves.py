"""Areas under the ROC curve and the precision-recall curve, and the curves' points (ECSER, S9)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from goldpan.evaluation.metrics.estimate import Floats, Measure, Whole, ratio

Truths = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class _Ranked:
    """Examples from the best score to the worst; those with equal scores are one step."""

    order: Whole
    starts: Whole
    """Where in the order each step begins."""
    positive: Floats
    """1.0 where the label is right, in the order of scores."""


def _rank(positive: Truths, scores: Floats) -> _Ranked:
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    starts = np.flatnonzero(np.concatenate([[True], ranked[1:] != ranked[:-1]]))
    return _Ranked(order, starts, positive[order].astype(np.float64))


def _steps(ranked: _Ranked, weights: Floats) -> tuple[Floats, Floats]:
    """Return the weight of positives and negatives at each step (draws x steps)."""
    sorted_weights = weights[:, ranked.order]
    positives = np.add.reduceat(sorted_weights * ranked.positive, ranked.starts, axis=1)
    all_weights = np.add.reduceat(sorted_weights, ranked.starts, axis=1)
    return positives, all_weights - positives


def _areas(ranked: _Ranked, weights: Floats) -> Floats:
    """Return both areas a draw: ROC (ties count half), average precision."""
    tp, fp = _steps(ranked, weights)
    tp_so_far, fp_so_far = np.cumsum(tp, axis=1), np.cumsum(fp, axis=1)
    positives, negatives = tp_so_far[:, -1], fp_so_far[:, -1]
    below = negatives[:, None] - fp_so_far + fp / 2
    roc = ratio((tp * below).sum(axis=1), positives * negatives)
    precision = np.nan_to_num(ratio(tp_so_far, tp_so_far + fp_so_far))
    return np.column_stack([roc, ratio((tp * precision).sum(axis=1), positives)])


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """How well scores put the examples of each label before the others, one-vs-rest."""

    labels: tuple[str, ...]
    positive: Truths
    """Examples x labels."""
    scores: Floats
    """Examples x labels: higher is more likely."""
    positive_label: str | None
    """The label whose areas also stand for the task, where it is binary."""

    @property
    def measures(self) -> Sequence[Measure]:
        """Both areas for each label, and their means over labels that have them."""
        one_kind = "all examples, or none, have the label"
        return [
            measure
            for index, name in enumerate(("auc", "auprc"))
            for measure in (
                Measure(f"macro_{name}", _mean_area(index), "no label has one"),
                *self._of_positive(name, index, one_kind),
                *(
                    Measure(name, _area(2 * number + index), one_kind, label)
                    for number, label in enumerate(self.labels)
                ),
            )
        ]

    def _of_positive(self, name: str, index: int, undefined: str) -> tuple[Measure, ...]:
        if self.positive_label is None:
            return ()
        number = self.labels.index(self.positive_label)
        return (Measure(name, _area(2 * number + index), undefined),)

    def by_unit(self, unit_of: Whole, units: int) -> Callable[[Floats], Floats]:
        """Return how draws x units become draws x (two areas a label)."""
        ranked = [
            _rank(self.positive[:, number], self.scores[:, number])
            for number in range(len(self.labels))
        ]
        return lambda weights: np.hstack([_areas(order, weights[:, unit_of]) for order in ranked])


def _area(column: int) -> Callable[[Floats], Floats]:
    return lambda areas: areas[:, column]


def _mean_area(index: int) -> Callable[[Floats], Floats]:
    def mean(areas: Floats) -> Floats:
        areas_of_metric = areas[:, index::2]
        defined = np.isfinite(areas_of_metric)
        total = np.where(defined, areas_of_metric, 0.0).sum(axis=1)
        return ratio(total, defined.sum(axis=1).astype(np.float64))

    return mean


def check_scores(
    scores: Sequence[Sequence[float] | None], labels: int
) -> tuple[Floats | None, str]:
    """Return scores as examples x labels, or why there are no areas."""
    missing = sum(row is None for row in scores)
    if not scores or missing == len(scores):
        return None, "the model gives no scores"
    if missing:
        return None, f"{missing} of {len(scores)} examples have no scores"
    rows = [row for row in scores if row is not None]
    if any(len(row) != labels for row in rows):
        return None, f"some examples do not have {labels} scores, one a label"
    matrix = np.array(rows, dtype=np.float64)
    if np.isnan(matrix).any():
        return None, "some scores are not numbers"
    return matrix, ""
