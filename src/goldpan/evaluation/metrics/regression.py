"""Metrics of tasks that ask for a number."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from goldpan.evaluation.metrics.estimate import (
    Floats,
    Measure,
    MetricEvidence,
    Totals,
    mean_of,
    means,
    ratio,
)

_WORST = 2.0
_NO_MEAN = "there are no examples, or errors are too large to sum"


def smape_errors(truths: Floats, answers: Floats) -> Floats:
    """Return each example's term of SMAPE (SELU, Equation 2): |y' - y| / ((|y'| + |y|) / 2).

    It lies in [0, 2], although the paper says [0, 1]: 2 where the signs differ or one number
    alone is 0. Where both are 0 it is 0. An answer that is not finite has 2.
    """
    finite = np.isfinite(answers)
    answered = np.where(finite, answers, 0.0)
    largest = np.maximum(np.abs(truths), np.abs(answered))
    scale = np.where(largest > 0, largest, 1.0)  # lest a sum of large numbers overflow
    truth, other = truths / scale, answered / scale
    under = np.abs(truth) + np.abs(other)
    terms = 2 * np.abs(other - truth) / np.where(under > 0, under, 1.0)
    return np.where(finite, terms, _WORST)


def count_invalid(answers: Sequence[float | None]) -> int:
    """Count answers that are no finite number."""
    return sum(answer is None or not math.isfinite(answer) for answer in answers)


def regression_evidence(
    truths: Sequence[float], answers: Sequence[float | None]
) -> list[MetricEvidence]:
    """Return what the metrics of a regression task follow from.

    `smape_score` is 1 - SMAPE, by which SELU ranks; it lies in [-1, 1]. The mean absolute error
    has no worst value, so it is undefined where an answer is not valid; `valid_mae` is of the
    others.
    """
    right = np.array(truths, dtype=np.float64)
    answered = np.array(
        [math.nan if answer is None else answer for answer in answers], dtype=np.float64
    )
    valid = np.isfinite(answered)
    terms = smape_errors(right, answered)
    with np.errstate(over="ignore"):
        errors = np.abs(np.where(valid, answered, right) - right)
    columns = np.column_stack([errors, valid, np.ones(len(right))])
    wrong = int((~valid).sum())
    measures = [
        Measure(
            "mae",
            lambda totals: np.where(
                totals[:, 1] == totals[:, 2], ratio(totals[:, 0], totals[:, 2]), np.nan
            ),
            f"{wrong} of {len(right)} answers are not valid" if wrong else _NO_MEAN,
            higher_is_better=False,
        ),
        Measure(
            "valid_mae",
            mean_of(0, 1),
            "no answer is valid, or errors are too large to sum",
            higher_is_better=False,
        ),
    ]
    return [
        means({"smape": terms}, lower=frozenset({"smape"})),
        means({"smape_score": 1 - terms}),
        Totals(columns, measures),
    ]
