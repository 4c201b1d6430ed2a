"""The metric of masked language modelling: the share of masked words that were found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from goldpan.evaluation.metrics.estimate import Evidence, Measure, Totals, mean_of


def masked_word_evidence(
    truths: Sequence[Sequence[str]], answers: Sequence[Sequence[str] | None]
) -> list[Evidence]:
    """Return what accuracy over all masked words follows from (SELU, Equation 4).

    Words are compared as they are, by place; a word without an answer is not found.
    """
    columns = [
        (
            sum(word == answered for word, answered in zip(truth, answer or (), strict=False)),
            len(truth),
        )
        for truth, answer in zip(truths, answers, strict=True)
    ]
    counts = np.array(columns, dtype=np.float64).reshape(-1, 2)
    return [Totals(counts, [Measure("mlm_accuracy", mean_of(0, 1), "no word is masked")])]
