"""The rules of the competitions of NLBSE'23.

Code comments (section III-B): 0.75 x mean F1 over the 19 categories + 0.25 x share of categories
in which the F1 is above that of the organizers' random forest. Issue reports (section II-B): the
micro-averaged F1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean

from goldpan.papers.nlbse.comment_tasks import categories
from goldpan.plugins import evaluation
from goldpan.plugins.data import EvaluationError

_F1_WEIGHT = 0.75
_OUTPERFORMED_WEIGHT = 0.25
_MEANS = (("Precision", "precision"), ("Recall", "recall"), ("F1", "f1"))

BASELINE: Mapping[str, evaluation.Confusion] = {
    name: evaluation.Confusion(*category["forest"]) for name, category in categories().items()
}
"""Answers of the official random forest on the test sets, by task (Rani et al.; the results in
github.com/nlbse2023/code-comment-classification). Its mean F1 is Table III's 0.309."""


@dataclass(frozen=True, slots=True)
class CommentScore:
    """How a model does in the code-comment competition."""

    mean_f1: float
    won: tuple[str, ...]
    """The categories in which it is above the baseline."""
    score: float


def baseline_f1() -> dict[str, float]:
    """Return the F1 of the organizers' random forest by task; 0 where it found nothing."""
    return {name: evaluation.label_metric(own, "f1") or 0.0 for name, own in BASELINE.items()}


def comment_score(f1: Mapping[str, float | None]) -> CommentScore:
    """Score a model by its F1 in every category; an undefined F1 counts 0.

    A category is won by a strictly higher F1. Raises `EvaluationError` where a category is
    missing or unknown, since a mean over others would not be comparable.
    """
    baseline = baseline_f1()
    if f1.keys() != baseline.keys():
        missing, unknown = sorted(baseline.keys() - f1.keys()), sorted(f1.keys() - baseline.keys())
        raise EvaluationError(
            "The code-comment score takes one F1 for each category: "
            f"missing {', '.join(missing) or 'none'}, unknown {', '.join(unknown) or 'none'}",
            "Run the model on all tasks of the suite nlbse23 that classify comments",
        )
    exact = evaluation.as_decimal
    values = {name: f1[name] or 0.0 for name in sorted(baseline)}
    won = tuple(name for name in values if exact(values[name]) > exact(baseline[name]))
    mean = fmean(values.values())
    return CommentScore(mean, won, comment_rule(mean, len(won), len(values)))


def comment_rule(mean_f1: float, outperformed: int, categories: int) -> float:
    """Return the formula of section III-B."""
    return _F1_WEIGHT * mean_f1 + _OUTPERFORMED_WEIGHT * outperformed / categories


def mean_scores(answered: Iterable[evaluation.Confusion]) -> dict[str, float]:
    """Return precision, recall and F1, means over categories, by the column that shows them."""
    confusions = list(answered)
    return {
        column: fmean(evaluation.label_metric(confusion, metric) or 0.0 for confusion in confusions)
        for column, metric in _MEANS
    }


def issue_rule(recalls: Mapping[str, float], support: Mapping[str, int]) -> float:
    """Return the micro-averaged F1 of section II-B from each class's recall and size.

    Every issue has one class and gets one answer, so it is the share of right answers, which is
    the mean of the recalls weighted by size.
    """
    if recalls.keys() != support.keys():
        raise EvaluationError(
            "Recalls and sizes are not of the same classes", "Give both for every class"
        )
    total = sum(support.values())
    return math.fsum(recalls[name] * support[name] for name in sorted(support)) / total
