"""Checks what a test takes for granted, so that the data choose the test (ECSER, Table 6)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from goldpan.evaluation.statistics.errors import scipy_stats
from goldpan.evaluation.statistics.scores import Floats


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What the scores of several models look like over tasks."""

    normal: bool
    normality: tuple[float | None, ...]
    """Shapiro-Wilk p of each model; None where its scores are all the same."""
    normality_alpha: float
    """Bonferroni-corrected for the number of models."""
    same_variance: bool
    variance_test: Literal["bartlett", "levene"]
    variance_p: float | None
    """None where a model's scores are all the same."""
    sphericity_p: float | None
    """Mauchly's p; None with two models, or with too few tasks for it."""
    spherical: bool
    """Whether variances and those of differences are alike, as far as can be tested."""


def check_assumptions(values: Floats, alpha: float) -> Assumptions:
    """Check normality and equal variances of models (rows) over tasks (columns, at least 3).

    As Autorank does: Shapiro-Wilk a model, then Bartlett for normal data, Levene for other.
    Mauchly's sphericity comes on top, because ECSER's Table 6 asks for it.
    """
    stats = scipy_stats()
    varied = [bool(np.ptp(row) > 0) for row in values]
    normality = tuple(
        float(stats.shapiro(row).pvalue) if varies else None
        for row, varies in zip(values, varied, strict=True)
    )
    level = alpha / len(values)
    normal = all(p is not None and p >= level for p in normality)
    variance_p = None
    if all(varied):
        test = stats.bartlett if normal else stats.levene
        variance_p = float(test(*values).pvalue)
    same_variance = variance_p is not None and variance_p >= alpha
    sphericity_p = mauchly(values) if all(varied) else None
    return Assumptions(
        normal=normal,
        normality=normality,
        normality_alpha=level,
        same_variance=same_variance,
        variance_test="bartlett" if normal else "levene",
        variance_p=variance_p,
        sphericity_p=sphericity_p,
        spherical=same_variance and (sphericity_p is None or sphericity_p >= alpha),
    )


def mauchly(values: Floats) -> float | None:
    """Return the p of Mauchly's test that all differences between models vary alike.

    None for two models, and where there are too few tasks or models that agree everywhere.
    """
    models, tasks = values.shape
    contrasts = models - 1
    if contrasts < 2 or tasks <= contrasts + 1:
        return None
    centring = np.eye(models) - 1 / models
    basis = np.linalg.svd(centring)[0][:, :contrasts]
    spread = basis.T @ np.cov(values) @ basis
    sign, log_det = np.linalg.slogdet(spread)
    trace = float(np.trace(spread))
    if sign <= 0 or trace <= 0 or not math.isfinite(log_det):
        return None
    log_w = log_det - contrasts * math.log(trace / contrasts)
    factor = tasks - 1 - (2 * contrasts**2 + contrasts + 2) / (6 * contrasts)
    freedom = contrasts * (contrasts + 1) / 2 - 1
    return float(scipy_stats().chi2.sf(-factor * log_w, freedom))
