"""The three scores of CrossCodeBench, in percent (section IV-C).

Exact match is for tasks with short, fixed outputs, BLEU and ROUGE-L for the others. The paper does
not say which BLEU and ROUGE-L; these are the corpus BLEU and the mean ROUGE-L of `bleu.py` and
`rouge.py`. Its shortcuts (copy the input, copy an example's output) set the scale: a model that
does no better has learned nothing across tasks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from goldpan.evaluation.metrics.bleu import bleu_of_counts
from goldpan.evaluation.metrics.generation import compare_text


@dataclass(frozen=True, slots=True)
class Percentages:
    """Scores from 0 to 100; None where there is no example."""

    exact_match: float | None
    bleu: float | None
    rouge_l: float | None


def percentages(references: Sequence[str], answers: Sequence[str | None]) -> Percentages:
    """Score answers, where None is one that is not valid."""
    agreements = [compare_text(*pair) for pair in zip(references, answers, strict=True)]
    if not agreements:
        return Percentages(None, None, None)
    counts = np.array([agreement.bleu_counts for agreement in agreements], dtype=np.float64)
    bleu = float(bleu_of_counts(counts.sum(axis=0, keepdims=True))[0])
    exact = math.fsum(agreement.exact_match for agreement in agreements) / len(agreements)
    rouge = math.fsum(agreement.rouge_l for agreement in agreements) / len(agreements)
    return Percentages(100 * exact, 100 * bleu, 100 * rouge)
