"""Areas under the ROC and precision-recall curves, as the bootstrap draws them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

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
        measures = []
        for index, name in enumerate(("auc", "auprc")):
            measures.append(
                Measure(f"macro_{name}", partial(_mean_area, index), "no label has one")
            )
            measures += [
                Measure(name, partial(_area, 2 * number + index), one_kind, label)
                for number, label in shown_labels(self.labels, self.positive_label)
            ]
        return measures

    def by_unit(self, unit_of: Whole, units: int) -> Callable[[Floats], Floats]:
        """Return how draws x units become draws x (two areas a label)."""
        ranked = [
            _rank(self.positive[:, number], self.scores[:, number])
            for number in range(len(self.labels))
        ]
        return lambda weights: np.hstack([_areas(order, weights[:, unit_of]) for order in ranked])


def shown_labels(labels: Sequence[str], positive: str | None) -> list[tuple[int, str | None]]:
    """Return the numbers and names of labels; without a name first, the one that stands for all."""
    first: list[tuple[int, str | None]] = []
    if positive is not None:
        first.append((labels.index(positive), None))
    return [*first, *enumerate(labels)]


def _area(column: int, areas: Floats) -> Floats:
    return areas[:, column]


def _mean_area(index: int, areas: Floats) -> Floats:
    areas_of_metric = areas[:, index::2]
    defined = np.isfinite(areas_of_metric)
    total = np.where(defined, areas_of_metric, 0.0).sum(axis=1)
    return ratio(total, defined.sum(axis=1).astype(np.float64))


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
