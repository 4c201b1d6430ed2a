"""The ranking rules of the NLBSE'23 tool competition (sections II-B and III-B).

Issue reports: the micro-averaged F1 over the classes. Code comments: 0.75 x mean F1 over the 19
categories + 0.25 x share of categories in which the F1 is above that of the organizers' random
forest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from goldpan.core.errors import EvaluationError
from goldpan.evaluation.metrics.confusion import BinaryConfusion
from goldpan.evaluation.statistics.scores import as_decimal

F1_WEIGHT = 0.75
OUTPERFORMED_WEIGHT = 0.25

BASELINE: Mapping[str, BinaryConfusion] = {
    f"nlbse23_{category}": BinaryConfusion(*counts)
    for category, counts in {
        "java_deprecation": (0, 1, 459, 27),
        "java_expand": (34, 63, 297, 93),
        "java_ownership": (17, 0, 464, 8),
        "java_pointer": (18, 9, 405, 57),
        "java_rational": (17, 10, 421, 40),
        "java_summary": (25, 40, 363, 62),
        "java_usage": (66, 56, 247, 118),
        "pharo_class_references": (1, 2, 338, 16),
        "pharo_collaborators": (7, 8, 323, 21),
        "pharo_example": (66, 20, 185, 86),
        "pharo_intent": (15, 11, 300, 30),
        "pharo_key_implementation": (5, 23, 288, 43),
        "pharo_key_messages": (10, 22, 273, 53),
        "pharo_responsibilities": (23, 16, 274, 46),
        "python_development_notes": (11, 53, 398, 54),
        "python_expand": (20, 56, 358, 82),
        "python_parameters": (36, 34, 323, 125),
        "python_summary": (7, 50, 373, 86),
        "python_usage": (30, 34, 320, 133),
    }.items()
}
"""What the official random forest answered on the test sets, by task (Rani et al.; the results in
github.com/nlbse2023/code-comment-classification). Its mean F1 is Table III's 0.309."""


@dataclass(frozen=True, slots=True)
class CommentScore:
    """How a model does in the code-comment competition."""

    mean_f1: float
    outperformed: int
    categories: int
    score: float
    won: tuple[str, ...] = ()
    """The categories in which it is above the baseline, where they are known one by one."""


def baseline_f1() -> dict[str, float]:
    """Return the F1 of the organizers' random forest by task; 0 where it found nothing."""
    return {name: confusion.f1 or 0.0 for name, confusion in BASELINE.items()}


def comment_score(
    f1: Mapping[str, float | None], baseline: Mapping[str, float] | None = None
) -> CommentScore:
    """Score a model by its F1 in every category of the baseline; an undefined F1 counts 0.

    Without `baseline` the organizers' random forest is the baseline. A category is won by a
    strictly higher F1. Raises `EvaluationError` where a category is missing or unknown, since a
    mean over others would not be comparable.
    """
    baseline_scores = baseline_f1() if baseline is None else baseline
    if f1.keys() != baseline_scores.keys():
        missing, unknown = (
            sorted(baseline_scores.keys() - f1.keys()),
            sorted(f1.keys() - baseline_scores.keys()),
        )
        raise EvaluationError(
            "The code-comment score takes one F1 for each category: "
            f"missing {', '.join(missing) or 'none'}, unknown {', '.join(unknown) or 'none'}",
            "Run the model on all tasks of the suite nlbse23 that classify comments",
        )
    values = {name: f1[name] or 0.0 for name in sorted(baseline_scores)}
    won = tuple(
        name
        for name, value in values.items()
        if as_decimal(value) > as_decimal(baseline_scores[name])
    )
    mean = math.fsum(values.values()) / len(values)
    return CommentScore(
        mean,
        len(won),
        len(baseline_scores),
        comment_rule(mean, len(won), len(baseline_scores)),
        won,
    )


def comment_rule(mean_f1: float, outperformed: int, categories: int) -> float:
    """Return the formula of section III-B."""
    return F1_WEIGHT * mean_f1 + OUTPERFORMED_WEIGHT * outperformed / categories


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
